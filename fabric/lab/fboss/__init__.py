"""The virtual FBOSS switch: a Linux box with FBOSS's files, daemons and command lines, over the kernel and FRR.

`install.prepare` lays what a new box must know, `python -m fabric.lab.fboss.boot NODE_DIR` starts its daemons from the files on its disk.
Small processes: nothing here imports the spec, the catalog, pydantic or click where a daemon or command starts.

What is not imitated (taken, checked, and without effect): queues, PFC, ECN, buffers, ACLs, DLB, UDF hashing and sFlow (the kernel's veth has
none; ECMP hashes addresses, or addresses and L4 ports); VLANs of several ports (the first port has the interface); graceful restart, end-of-RIB
timers, link bandwidth, next_hop4/6, minimum_supporting_routes and install_to_fib of BGP; what `drain_state` does by itself (it is reported). A
received BGP count equals the accepted one. fsdb, led_service and the board's services are only on record; sw_agent and hw_agent are one process.
Refused instead of passed over: confederations, and policy matches and actions other than prefix lists, ALWAYS, PERMIT, DENY, CONTINUE, GOTO,
AS-path prepending, local preference, MED, and communities added or set.
Not there: `fboss2-dev config session`, `bounce`, `clear`, `show port queue`, `show interface traffic`, `show route details|summary`, thrift.
"""
