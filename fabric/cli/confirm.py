"""The one question before anything is sent. Only the typed word `yes`, at a terminal, is a yes."""

from __future__ import annotations

import select
import sys

import click

from fabric.errors import FabricError

WORD = "yes"


def ask(question: str) -> bool:
    """Asks on standard error; True only for `yes` and a line end typed at a terminal. End of file, Ctrl-C, anything else: False.

    Raises FabricError when there is no terminal to ask at.
    """
    if not sys.stdin.isatty():
        raise FabricError("nothing was sent: there is no terminal to confirm at", hint="--auto-approve")
    try:
        click.echo(f"{question}\nOnly '{WORD}' will be accepted: ", nl=False, err=True)
        # A Ctrl-C just before a blocking read is only acted on after it; a wait that ends now and then sees it.
        while not select.select([sys.stdin], [], [], 0.2)[0]:
            pass
        line = sys.stdin.readline()
    except KeyboardInterrupt:
        line = ""
    if line == f"{WORD}\n":
        return True
    click.echo("nothing was sent", err=True)
    return False
