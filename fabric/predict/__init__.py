"""What collectives will reach on a declared or a measured fabric: a walk of forwarding tables and a bottleneck model.

The model is an upper bound: head-of-line blocking, congestion control, PCIe and stragglers are not in it, so measured values lie below.
"""
