"""The virtual lab: the declared cluster booted on one Linux machine, with namespaces, veth pairs, FRR, lldpd and OpenSSH.

Everything that runs inside a lab (supervisor, node daemons) imports the standard library only, since hundreds of processes start on
few cores; what turns a spec into a lab (`topology`, `prepare`, `up`) may import the rest of the package.
"""
