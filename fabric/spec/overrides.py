"""Differences of single devices, and the state of parts that are planned or drained."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from fabric.spec.base import Line, Model


class Match(Model):
    """Which devices: by role, by name pattern (`*`, `?`, `[...]`), by zone; all that are given must hold."""

    role: Literal["rtsw", "ctsw", "atsw", "leaf", "spine", "core", "host"] | None = Field(None, description="Role.")
    name: Line | None = Field(None, description="Name or name pattern.", examples=["z01-rtsw*"])
    zone: int | None = Field(None, ge=1, description="Zone number (RoCE).")

    @model_validator(mode="after")
    def _something(self) -> Match:
        if self.role is None and self.name is None and self.zone is None:
            raise ValueError("match needs a role, a name or a zone")
        return self


class Settings(Model):
    """What may differ on single devices; null = as everywhere."""

    hash_seed: int | None = Field(None, ge=0, le=2_147_483_647, description="Hash seed.")
    ecmp_width: int | None = Field(None, ge=1, le=2048, description="Most equal-cost paths.")
    image: Line | None = Field(None, description="Software image that the device must run.")
    sflow_sample_rate: int | None = Field(None, ge=16384, le=16_777_216, description="One packet in so many.")
    agent_args: dict[str, str] = Field(default_factory=dict, description="More gflag defaults (FBOSS).")


class Override(Model):
    """Settings for the devices that match; a later entry wins over an earlier one."""

    match: Match = Field(description="Which devices.")
    set: Settings = Field(description="What differs.")


class State(Model):
    """Deployment state of the devices that match; a later entry wins over an earlier one."""

    match: Match = Field(description="Which devices.")
    state: Literal["planned", "deployed", "drained"] = Field(
        description="`planned`: numbered and cabled on paper, ports towards it are down; `deployed`; `drained`: up, but traffic is moved away."
    )
