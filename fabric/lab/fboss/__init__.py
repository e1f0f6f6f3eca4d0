"""The virtual FBOSS switch: a Linux box with FBOSS's files, daemons and command lines, over the kernel and FRR.

`install.install` lays the files of a new box, `python -m fabric.lab.fboss.boot NODE_DIR` starts its daemons from the files on its disk.
Small processes: nothing here imports the spec, the catalog, pydantic or click where a daemon or command starts.
"""
