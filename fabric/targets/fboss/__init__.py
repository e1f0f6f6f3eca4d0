"""FBOSS switches: agent.conf, bgpcpp.conf and the small files, by the rules of the FBOSS and BGP++ sources.

`render` gives the files of one switch, `unsupported` what the spec declares and FBOSS cannot be given, `normalise` the form in which
two configurations can be compared.
"""

from __future__ import annotations

from fabric.targets.fboss.rendering import normalise, render
from fabric.targets.fboss.unsupported import unsupported

__all__ = ["normalise", "render", "unsupported"]
