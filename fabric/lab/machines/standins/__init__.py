"""What stands in for the vendors' hardware and software on a machine, so that roles and checks run unchanged without a GPU.

Hardware (`hardware`, `tools`) belongs to the machine: it is there before anything is provisioned. Software (`packages`, `repository`) comes as
Debian packages with the real names, versions and dependencies, from a local repository.
"""
