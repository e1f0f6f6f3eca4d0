"""`python -m fabric` is the command `fabric`."""

from fabric.cli.main import main

main()
