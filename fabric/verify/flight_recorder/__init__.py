"""PyTorch's flight recorder: which rank did all others wait for, and where does that rank sit?

`find` lists the dump files, `pickled` and `jsoned` read one safely, `thin` leaves out and `dump` keeps what the analysis needs, `load`
does so for all ranks in parallel, `worlds` keeps to one job, `waits`, `p2p` and `mismatch` judge, `analyse` puts it together, `ranks` and
`place` turn a rank into GPU, host, NIC and switch port, `report` tells it, `kept` is for the history and the HTML report.
"""
