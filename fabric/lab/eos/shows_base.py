"""What the groups of show commands have in common."""

from __future__ import annotations

from typing import Any

from fabric.lab.eos.shell import Handler
from fabric.lab.eos.sources import Sources

Json = dict[str, Any]


class Shows:
    """A group of show commands: each method `show_NAME(shell, call)` answers the command that the table calls NAME."""

    def __init__(self, sources: Sources) -> None:
        self.sources = sources

    def table(self) -> dict[str, Handler]:
        """By the names of the command table."""
        names = [name.removeprefix("show_") for name in dir(self) if name.startswith("show_")]
        return {name: getattr(self, f"show_{name}") for name in names}


def joined(lines: list[str]) -> str:
    """Lines as text, each with its end."""
    return "".join(f"{line}\n" for line in lines)
