"""How collective checks are run: by what, with which sizes, how often, and what is expected of them."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, Field, model_validator

from fabric.spec.base import Model, distinct, sourced
from fabric.spec.storage import AbsolutePath

_TESTS = "NVIDIA/nccl-tests a0b82b2: src/common.cu"
_REPEATS = "Google's cluster-health-scanner averages 5 runs, OCI's ncclscout tests again with other nodes; 3 and their median are ours"

Engine = Literal["nccl-tests", "mpi"]
LauncherName = Literal["slurm", "mpirun", "ansible"]
StageName = Literal["node", "pairs", "rails", "retest", "paths", "groups", "zone", "zones", "diag"]
Collective = Literal["all_gather", "all_reduce", "reduce_scatter", "alltoall", "sendrecv"]
TestedStage = Literal["node", "pairs", "rails", "groups", "zone", "zones"]
TestName = Literal[Collective, "ib_write_bw"]

_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
_WORD = r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$"
Word = Annotated[str, Field(pattern=_WORD)]
Size = Annotated[str, Field(pattern=r"^[1-9][0-9]{0,8}[KMG]?$")]


def size_bytes(text: str) -> int:
    """Bytes of a size as nccl-tests takes it: `8M` is 8 x 2^20."""
    unit = text[-1] if text[-1] in "KMG" else ""
    return int(text.removesuffix(unit)) * _UNITS[unit]


class Sizes(Model):
    """Sizes of the messages: from the smallest, each so many times the one before, to the largest."""

    smallest: Size = Field(description="First size, bytes or with K, M, G (powers of 1024).", examples=["1G"])
    largest: Size = Field(description="Last size; what counts is the bandwidth at this one.", examples=["16G"])
    factor: int = Field(4, ge=2, le=1024, description="Step between sizes.")

    @model_validator(mode="after")
    def _grow(self) -> Sizes:
        if size_bytes(self.largest) > 1 << 40:
            raise ValueError(f"largest is {self.largest}, above 1024G")
        if size_bytes(self.smallest) > size_bytes(self.largest):
            raise ValueError(f"smallest is {self.smallest}, above largest {self.largest}")
        return self

    @property
    def bytes(self) -> tuple[int, ...]:
        """Every size in bytes, as nccl-tests steps: the last may stay below `largest`."""
        found, size = [], size_bytes(self.smallest)
        while size <= size_bytes(self.largest):
            found.append(size)
            size *= self.factor
        return tuple(found) or (size_bytes(self.smallest),)


class SlurmRuns(Model):
    """Where Slurm runs the tests."""

    partition: Word | None = Field(None, description="Partition; Slurm's default when null.")
    account: Word | None = Field(None, description="Account.")
    qos: Word | None = Field(None, description="Quality of service.")
    reservation: Word | None = Field(None, description="Reservation, for example of a burn-in.")
    mpi: Word = sourced(
        "pmix",
        "srun's --mpi; `none` where the tests are built without MPI.",
        source="common launch line of nccl-tests under Slurm",
        status="secondary",
    )
    wait_s: int = Field(
        120, ge=1, le=86_400, description="Seconds that a run may wait for its hosts; then it could not be made."
    )


class MpiRuns(Model):
    """How Open MPI reaches the hosts; it is told the front-end interfaces of `hosts.network`."""

    program: str = Field("mpirun", pattern=r"^(/[A-Za-z0-9._/-]+|[A-Za-z0-9._-]+)$", description="Open MPI's mpirun.")
    rsh_agent: AbsolutePath | None = Field(
        None, description="Program that runs a command on a host (plm_rsh_agent); ssh when null."
    )
    concurrent: int = sourced(
        512, "Logins at once (plm_rsh_num_concurrent).", source="our choice for 3,072 hosts", status="inferred",
        ge=1, le=4096,
    )  # fmt: skip


class Perftest(Model):
    """ib_write_bw."""

    gid_index: int | None = sourced(
        3,
        "GID index (-x) on RoCE: that of RoCE v2 with IPv4 or global IPv6; null lets perftest choose. InfiniBand needs none.",
        source="IB_GID_INDEX of the OCI H100 and GCP A3U/A4 templates",
        status="secondary",
        ge=0,
        le=255,
    )
    size: Size = sourced("8M", "Message size.", source="Azure/azurehpc-health-checks: azure_ib_write_bw_gdr.nhc", status="code")  # fmt: skip
    seconds: int = Field(5, ge=1, le=3600, description="Duration of one run.")
    port: int = Field(
        18_515, ge=1024, le=65_000, description="First TCP port for the exchange; each rail takes its own."
    )
    cuda: bool = Field(True, description="From and to GPU memory (engine nccl-tests only).")


class Diag(Model):
    """DCGM's diagnosis."""

    level: Literal[1, 2, 3, 4] = Field(
        1, description="dcgmi diag -r: 1 seconds, 2 about 2 minutes, 3 about 15, 4 longer."
    )


class Expectation(Model):
    """What a test must reach here, instead of the catalog's value."""

    test: TestName = Field(description="Test.")
    stages: Annotated[list[StageName], AfterValidator(distinct)] = Field(min_length=1, description="In these stages.")
    least: float = Field(
        gt=0, le=100_000, allow_inf_nan=False, description="GB/s of bus bandwidth at the largest size."
    )


class Collectives(Model):
    """Collective checks: `fabric validate collectives`."""

    engine: Engine = Field(
        "nccl-tests",
        description="`nccl-tests`: GPUs; `mpi`: the same collectives by mpi4py over Open MPI, for hosts without GPUs.",
    )
    launcher: LauncherName | None = Field(
        None, description="What starts the tests; null: slurm where `scheduler` is Slurm, else mpirun."
    )
    stages: Annotated[list[StageName], AfterValidator(distinct), Field(min_length=1)] | None = Field(
        None,
        description="Stages that are made, in their own order; null: all but `diag`, and without GPUs not `node` either.",
    )
    tests: dict[TestedStage, Annotated[list[TestName], AfterValidator(distinct), Field(min_length=1)]] = Field(
        default_factory=dict,
        description="Tests of a stage, instead of the default ones.",
        examples=[{"pairs": ["all_gather", "sendrecv"]}],
    )
    sizes: Sizes | None = Field(
        None,
        description="Sizes; null: 1G to 16G for nccl-tests (at which Azure and OCI gate), 1M to 16M for mpi, each 4 times the one before.",
    )
    iterations: int = sourced(20, "Iterations of each size.", source=_TESTS, status="code", ge=1, le=100_000)
    warmup: int = sourced(
        5, "Iterations before those that count.", source="-w 5 of published launch lines", status="secondary", ge=0, le=10_000
    )  # fmt: skip
    repeats: int = sourced(
        3, "Runs of each test; their median counts.", source=_REPEATS, status="inferred", ge=1, le=100
    )
    limit_s: int = Field(600, ge=5, le=86_400, description="Seconds that one run may take; then it is ended.")
    parallel: int = Field(256, ge=1, le=4096, description="Runs at once, those on hosts apart from each other.")
    programs: AbsolutePath | None = Field(
        None, description="Folder of nccl-tests on the hosts; found by PATH when null.", examples=["/opt/nccl-tests/build"]
    )  # fmt: skip
    python: str = Field(
        "python3", pattern=r"^(/[A-Za-z0-9._/-]+|[A-Za-z0-9._-]+)$", description="Python with mpi4py on the hosts (engine mpi)."
    )  # fmt: skip
    slurm: SlurmRuns = Field(default_factory=SlurmRuns, description="Slurm.")
    mpirun: MpiRuns = Field(default_factory=MpiRuns, description="Open MPI.")
    perftest: Perftest = Field(default_factory=Perftest, description="ib_write_bw.")
    diag: Diag = Field(default_factory=Diag, description="DCGM.")
    expected: list[Expectation] = Field(
        default_factory=list, max_length=64, description="What tests must reach here, instead of the catalog's values."
    )

    @model_validator(mode="after")
    def _point_to_point(self) -> Collectives:
        for stage, tests in self.tests.items():
            if "ib_write_bw" in tests and stage not in ("pairs", "rails"):
                raise ValueError(f"ib_write_bw is between two hosts: in pairs and rails, not in {stage}")
        return self

    @model_validator(mode="after")
    def _once(self) -> Collectives:
        seen: set[tuple[str, str]] = set()
        for one in self.expected:
            for stage in one.stages:
                if (one.test, stage) in seen:
                    raise ValueError(f"expected says {one.test} in stage {stage} twice")
                seen.add((one.test, stage))
        return self

    @property
    def of_sizes(self) -> Sizes:
        """The declared sizes, or those of the engine."""
        if self.sizes is not None:
            return self.sizes
        first, last = ("1G", "16G") if self.engine == "nccl-tests" else ("1M", "16M")
        return Sizes(smallest=first, largest=last)

    @property
    def of_stages(self) -> tuple[StageName, ...]:
        """The declared stages, or those of the engine."""
        if self.stages is not None:
            return tuple(self.stages)
        rest: tuple[StageName, ...] = ("pairs", "rails", "retest", "paths", "groups", "zone", "zones")
        return rest if self.engine == "mpi" else ("node", *rest)
