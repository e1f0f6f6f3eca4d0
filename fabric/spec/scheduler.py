"""The scheduler that runs jobs on the hosts."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, Field, model_validator

from fabric.spec.base import DomainName, Model, distinct

Parameter = Literal["SwitchAsNodeRank", "BlockAsNodeRank", "RouteTree", "TopoOptional"]
_SLURM_VERSION = r"^(2[0-9])\.(02|05|08|11)$"


class Slurm(Model):
    """Slurm: topology by rack and zone, drain before a change."""

    kind: Literal["slurm"]
    version: str | None = Field(
        None,
        pattern=_SLURM_VERSION,
        description="Version; block topology needs 23.11, topology.yaml 25.05.",
        examples=["25.05"],
    )
    topology: Literal["tree", "block"] = Field("tree", description="Topology plugin.")
    block_sizes: list[Annotated[int, Field(ge=1, le=65536)]] | None = Field(
        None,
        min_length=1,
        max_length=16,
        description="Block sizes in hosts; from the fabric when null.",
        examples=[[2, 4, 8]],
    )
    parameters: Annotated[list[Parameter], AfterValidator(distinct)] = Field(
        default=["SwitchAsNodeRank"],
        description="TopologyParam; SwitchAsNodeRank makes ranks follow the topology, so that rings stay inside a zone.",
    )
    controller: DomainName | None = Field(
        None, description="Host with scontrol, reached by SSH for drain and undrain; null = this machine."
    )
    yaml: bool = Field(False, description="Write topology.yaml (from 25.05) instead of topology.conf.")

    @model_validator(mode="after")
    def _fits(self) -> Slurm:
        wanted = {"block": (23, 11), "yaml": (25, 5)}
        used = [name for name, on in (("block", self.topology == "block"), ("yaml", self.yaml)) if on]
        if self.version is not None:
            major, minor = (int(part) for part in self.version.split("."))
            for name in used:
                if (major, minor) < wanted[name]:
                    need = ".".join(f"{part:02d}" for part in wanted[name])
                    thing = "topology block" if name == "block" else "topology.yaml"
                    raise ValueError(f"{thing} needs Slurm {need}, version is {self.version}")
        if self.block_sizes is not None and self.topology != "block":
            raise ValueError("block_sizes are given, but topology is tree")
        for first, second in zip(self.block_sizes or [], (self.block_sizes or [])[1:], strict=False):
            ratio, rest = divmod(second, first)
            if rest or ratio < 2 or ratio & (ratio - 1):
                raise ValueError(f"block size {second} is not 2, 4, 8, ... times {first}")
        return self
