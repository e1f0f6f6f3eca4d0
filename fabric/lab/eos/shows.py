"""The show commands: what answers each."""

from __future__ import annotations

from fabric.lab.eos.shell import Handler
from fabric.lab.eos.shows_config import configurations
from fabric.lab.eos.shows_live import live
from fabric.lab.eos.shows_system import system
from fabric.lab.eos.sources import Sources


def handlers(sources: Sources) -> dict[str, Handler]:
    """The answers to all show commands, with live data from `sources`."""
    return {**system(sources), **live(sources), **configurations(sources)}
