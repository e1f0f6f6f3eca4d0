"""The GPU hosts of a cluster, as a design: what each host's NICs, software, storage and checks follow from."""
