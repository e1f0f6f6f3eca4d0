"""The command `fabric`, which `python -m fabric` is too."""

from __future__ import annotations

import sys


def main() -> None:
    """Entry point of the console script. Ctrl-C while the command is still being imported is no traceback either."""
    try:
        from fabric.cli.main import main as command
    except KeyboardInterrupt:
        sys.stderr.write("interrupted\n")
        sys.exit(130)
    command()


if __name__ == "__main__":
    main()
