"""The InfiniBand fabric: spec + catalog -> `Subnet` (switches, HCAs, cables, partitions, QoS, subnet managers)."""
