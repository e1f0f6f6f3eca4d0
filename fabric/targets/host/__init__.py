"""GPU hosts: their files, the same whether `fabric render` writes them or Ansible puts them in place."""

from __future__ import annotations

from fabric.targets.host.rendering import CONCERNS, render, render_concern, services
from fabric.targets.host.repositories import keyring_of

__all__ = ["CONCERNS", "keyring_of", "render", "render_concern", "services"]
