"""What a run knows of one host while it is in its hands, and how that is written into the journal and read back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from fabric.change.hosts.health import HostHealth


@dataclass(slots=True)
class Held:
    """What a run knows of one host: its health before, whether we have drained it, the reboots that it waits for."""

    before: HostHealth | None = None
    drained: bool = False
    configured: bool = False
    reboot: Mapping[str, str] = field(default_factory=dict)
    why_not: str = ""

    def facts(self) -> dict[str, object]:
        """For the journal; `of` is the inverse."""
        seen = self.before is not None and not self.before.unseen
        problems = dict(self.before.problems) if self.before is not None and seen else {}
        return {"drained": self.drained, "configured": self.configured, "seen": seen, "problems": problems}

    @classmethod
    def of(cls, facts: Mapping[str, object]) -> Held:
        """What an earlier part of the run has written down."""
        problems = facts.get("problems")
        known = {str(k): str(v) for k, v in problems.items()} if isinstance(problems, dict) else {}
        before = HostHealth(known) if facts.get("seen") else None
        return cls(before, facts.get("drained") is True, facts.get("configured") is True)
