"""The virtual EOS switch: its own command line, grammar, configuration sessions and shows, over FRR and the kernel.

A daemon per switch holds the state (`python -m fabric.lab.eos.daemon NODE_DIR`); the login shell of its users is a thin client
(`python -m fabric.lab.eos.cli NODE_DIR`). Only the standard library is imported here: a lab starts dozens of these.
"""
