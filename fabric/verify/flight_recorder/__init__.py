"""PyTorch's flight recorder: which rank did all others wait for, and where does that rank sit?

`find` lists the dump files, `pickled` and `jsoned` read one safely, `dump` keeps of it what the analysis needs, `load` does so for all
ranks in parallel, `waits`, `p2p` and `mismatch` judge, `analyse` puts it together, `ranks` and `place` turn a rank into GPU, host, NIC
and switch port, `report` tells it.
"""
