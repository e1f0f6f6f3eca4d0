"""Arista EOS: the startup configuration of 7800R3 chassis (family sand) and 7388X5 boxes (family trident).

`render` makes the artifact, `normalise` removes what EOS hides, `unsupported` says what EOS cannot be given.
"""

from __future__ import annotations

from fabric.targets.eos.defaults import normalise
from fabric.targets.eos.limits import unsupported
from fabric.targets.eos.render import render

__all__ = ["normalise", "render", "unsupported"]
