"""What runs on the hosts themselves. Python's standard library (and mpi4py) only, Python 3.9 (RHEL 9): no slots, no match."""
