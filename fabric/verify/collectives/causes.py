"""What the failures that people reported in public look like, what caused them, and what to do.

Data, as in a catalog: `report` is the row of the reference's hosts.md section 4 (0: section 2.7 or flight-recorder.md section 5), and
REPORTS has the public reports by that number. A clue says that a thing was seen; its cause is looked up here by kind and words.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from fabric.verify.collectives.model import Clue, ClueKind

End = Literal["local", "remote"]


@dataclass(frozen=True, slots=True)
class Status:
    """One ibv_wc_status. `kind` of the clue; `end`: which end of the connection it speaks of."""

    name: str
    kind: ClueKind
    end: End = "local"


STATUSES: Mapping[int, Status] = MappingProxyType(
    {
        1: Status("IBV_WC_LOC_LEN_ERR", "mtu"),
        2: Status("IBV_WC_LOC_QP_OP_ERR", "local-error"),
        3: Status("IBV_WC_LOC_EEC_OP_ERR", "local-error"),
        4: Status("IBV_WC_LOC_PROT_ERR", "local-error"),
        5: Status("IBV_WC_WR_FLUSH_ERR", "flushed"),
        6: Status("IBV_WC_MW_BIND_ERR", "local-error"),
        7: Status("IBV_WC_BAD_RESP_ERR", "remote-error", "remote"),
        8: Status("IBV_WC_LOC_ACCESS_ERR", "local-error"),
        9: Status("IBV_WC_REM_INV_REQ_ERR", "mtu", "remote"),
        10: Status("IBV_WC_REM_ACCESS_ERR", "remote-error", "remote"),
        11: Status("IBV_WC_REM_OP_ERR", "remote-error", "remote"),
        12: Status("IBV_WC_RETRY_EXC_ERR", "retry-exceeded", "remote"),
        13: Status("IBV_WC_RNR_RETRY_EXC_ERR", "remote-error", "remote"),
        14: Status("IBV_WC_LOC_RDD_VIOL_ERR", "local-error"),
        15: Status("IBV_WC_REM_INV_RD_REQ_ERR", "remote-error", "remote"),
        16: Status("IBV_WC_REM_ABORT_ERR", "remote-error", "remote"),
        17: Status("IBV_WC_INV_EECN_ERR", "local-error"),
        18: Status("IBV_WC_INV_EEC_STATE_ERR", "local-error"),
        19: Status("IBV_WC_FATAL_ERR", "local-error"),
        20: Status("IBV_WC_RESP_TIMEOUT_ERR", "retry-exceeded", "remote"),
        21: Status("IBV_WC_GENERAL_ERR", "local-error"),
    }
)
"""By number. Meanings: flight-recorder.md section 5 (NCCL src/include/ibvcore.h); numbers and names: libibverbs verbs.h."""

BY_NAME: Mapping[str, int] = MappingProxyType({status.name: number for number, status in STATUSES.items()})


@dataclass(frozen=True, slots=True)
class Cause:
    """Why a clue of `kind` whose text matches `said` (empty: any) is there, and what to do about it."""

    report: int
    kind: ClueKind
    said: str
    cause: str
    do: str


CAUSES: tuple[Cause, ...] = (
    Cause(
        1, "gid-index", "", "the GID used is link-local or empty: the index in use is not that of the IPv4 RoCE v2 GID",
        "unset NCCL_IB_GID_INDEX from NCCL 2.21 on, else set it to the index of the IPv4 RoCE v2 GID (show_gids)",
    ),
    Cause(
        2, "gid-changed", "", "the GID table changed in the run: a link flapped or an address was set anew, and the pinned index moved",
        "look for lost carriers and for what sets addresses; do not pin NCCL_IB_GID_INDEX from NCCL 2.21 on",
    ),
    Cause(
        2, "setting", "GID_INDEX", "the GID index is pinned although NCCL chooses it by itself from 2.21 on: it goes wrong when it moves",
        "remove NCCL_IB_GID_INDEX; where it must stay, it must be equal on all NICs and hosts",
    ),
    Cause(
        3, "mtu", "", "a message was longer than the other end takes: the MTU differs between hosts or on the way",
        "compare active_mtu over all hosts and the MTU of every port on the way (`fabric validate routing`, `fabric validate hosts`)",
    ),
    Cause(
        4, "acs", "", "ACS is on: PCIe sends traffic between GPU and NIC to the root complex, where it fails or is slow",
        "turn ACS off on every bridge at each boot: setpci -s BDF ECAP_ACS+0x6.w=0000",
    ),
    Cause(
        5, "gdr-disabled", "", "GPUDirect RDMA is off: nvidia_peermem is not loaded, was built before OFED, or NCCL before 2.23 did not find it",
        "load nvidia_peermem (build the GPU driver after OFED); it must be alike for all NICs",
    ),
    Cause(
        6, "fabric-manager", "", "the fabric manager does not run: its version must be equal to that of the driver (CUDA error 802)",
        "install the fabric manager of exactly the driver's version, start it, hold both packages",
    ),
    Cause(
        7, "driver-mismatch", "", "the NVIDIA driver that runs and the library on disk differ: upgraded without a reboot",
        "reboot the host; hold or black-list the packages in unattended upgrades",
    ),
    Cause(
        8, "port-error", "", "the link went down in the run: it flaps",
        "look at the port's lost carriers and error counters; reseat or swap the cable, then the transceivers",
    ),
    Cause(
        9, "setting", "bus bandwidth", "RoCE without a lossless class on the way: every loss costs a timeout",
        "check QoS end to end: `fabric validate qos`, and the hosts' trust, PFC and NCCL_IB_TC",
    ),
    Cause(
        12, "topology", "rail", "connections between different rails fail: rails are not joined, and NCCL was let cross them",
        "set NCCL_CROSS_NIC=0 where rails are not joined; else look at the tier that joins them",
    ),
    Cause(
        14, "topology", "", "NCCL sees GPU and NIC far apart: wrong NUMA order, wrong topology file, or a virtual PCI tree",
        "compare NCCL's topology dump with that of a good host; remove NCCL_TOPO_FILE on bare metal",
    ),
    Cause(
        14, "pcie", "", "a PCIe link came up slower or narrower than it is",
        "reseat the card; compare lspci's LnkSta with LnkCap and with a good host",
    ),
    Cause(
        16, "wrong-data", "", "data arrived wrong: never go on with it",
        "take the hosts out; look for Xid 31, memory errors and an NCCL *_CHUNKSIZE of 1 MiB or more",
    ),
    Cause(
        16, "setting", "CHUNKSIZE", "an NCCL chunk size above 512K: 1 MiB and more gave wrong data and Xid 31 on 8x400 RoCE",
        "remove the *_CHUNKSIZE setting; the documentation calls it a debug setting",
    ),
    Cause(
        16, "setting", "perftest", "cables and switches carry their rate, NCCL does not use it: perftest alone is not enough",
        "look at GPUDirect RDMA, PCIe and NCCL's settings of these hosts, not at their cables",
    ),
    Cause(
        0, "retry-exceeded", "", "the other end did not answer until the retries were used up: its port, cable or process, or the way to it",
        "look at the port of the other end, then at the way between both; if many say it of one end, it is that end",
    ),
    Cause(
        4, "local-error", r"illegal memory access|status=4|error 4|LOC_PROT", "a local protection error: GPU memory that the NIC may not reach",
        "look for ACS (lspci -vvv shows `SrcValid+`) and at nvidia_peermem",
    ),
    Cause(0, "local-error", "", "the NIC refused a request of its own host", "look at the host's driver, firmware and memory registration"),
    Cause(0, "remote-error", "", "the other end refused the request", "look at the log of the other end: it tells the first error"),
    Cause(0, "flushed", "", "follows from an earlier error of the same connection; never the cause", "look for the first error before it"),
    Cause(0, "xid", "", "the GPU driver reported an error of the GPU", "look up the Xid; drain the host when it comes again"),
    Cause(0, "ecc", "", "the GPU's memory reported an error that was not corrected", "reset the GPU; replace it when it comes again"),
    Cause(0, "diag-failed", "", "DCGM's diagnosis failed", "take the host out and run dcgmi diag -r 3 again"),
    Cause(0, "hang", "", "a process does not answer", "look at this process first: stack, GPU, memory, signals"),
    Cause(0, "counter", "", "some ranks are behind the others; once, this may be chance", "ask again: counts that stand still mean a hang"),
    Cause(0, "async-event", "", "the NIC reported an event of its own", "look at the host's kernel log at that time"),
)  # fmt: skip
"""In order: the first whose kind and words are those of a clue is its cause."""

REPORTS: Mapping[int, str] = MappingProxyType(
    {
        1: "NVIDIA/nccl#426, #769", 2: "NVIDIA/nccl#1819, PR#2183, #394", 3: "NVIDIA/nccl#1524, PR#2135, #709, #1957",
        4: "NVIDIA/nccl#304, #606, #2079, #523", 5: "NVIDIA/nccl#1412, #897, #1676, #1939",
        6: "NVIDIA/gpu-operator#544, nvtrust#55, gpu-burn#92, aws dl-ami#33", 7: "shine-cluster#30, canonical#78, #79, homelab#4110",
        8: "NVIDIA/nccl#905, lit-llama#380", 9: "NVIDIA/nccl#378, #306", 10: "NVIDIA/nccl-tests#106", 11: "NVIDIA/nccl#325",
        12: "NVIDIA/nccl#2013, #2345, #836, #1591", 13: "scitix/sichek PR#133, nv-config-manager#207",
        14: "NVIDIA/nccl#1464, nccl-tests#256, #749", 15: "azurehpc-health-checks#142, #152, #162", 16: "NVIDIA/nccl#2409, #2408",
    }
)  # fmt: skip
"""Where each was reported in public, by its row in hosts.md section 4."""

ELSEWHERE: Mapping[int, str] = MappingProxyType(
    {
        10: "one host slow with every partner: `fabric locate`, from the measurements",
        11: "a pair slow, each of it fast with others: a path, nobody's fault: `fabric locate`",
        13: "a cable in the wrong rail or port: `fabric validate cabling`, from LLDP",
        15: "a check that could not run: the state `unmade`, which blames nobody",
    }
)
"""The reports that no log tells: where they are seen."""


def explain(clue: Clue) -> Cause | None:
    """The cause of a clue; None for a kind without an entry."""
    for cause in CAUSES:
        if cause.kind == clue.kind and (not cause.said or re.search(cause.said, clue.text, re.IGNORECASE)):
            return cause
    return None


@dataclass(frozen=True, slots=True)
class Saying:
    """Words of any log that are a clue by themselves. `of`: what they are of; a group `gpu` or `bus` in the pattern names it."""

    kind: ClueKind
    pattern: re.Pattern[str]
    of: Literal["host", "gpu"] = "host"


SAYINGS: tuple[Saying, ...] = (
    Saying("xid", re.compile(r"Xid \(PCI:(?P<bus>[0-9a-fA-F:.]{5,20})\): \d+"), "gpu"),
    Saying("ecc", re.compile(r"uncorrectable ECC|uncorrectable memory|double.bit ECC", re.IGNORECASE), "gpu"),
    Saying("driver-mismatch", re.compile(r"Driver/library version mismatch", re.IGNORECASE)),
    Saying(
        "fabric-manager",
        re.compile(
            r"system not yet initialized|CUDA(?: driver)? error:? ?802\b|error code 802\b|SystemNotReady|"
            r"fabric ?manager.{0,80}(?:don't match|does not match|mismatch|not running|failed to start)",
            re.IGNORECASE,
        ),
    ),
    Saying("acs", re.compile(r"ACSCtl:[^\n]*SrcValid\+")),
    Saying("local-error", re.compile(r"illegal memory access", re.IGNORECASE), "gpu"),
    Saying("pcie", re.compile(r"link_speed=\"2\.5 ?GT/s[^\n]*link_width=\"1\"|LnkSta:[^\n]*2\.5GT/s[^\n]*Width x1\b")),
)
"""Reports 4, 6, 7, 14 and 16 of hosts.md section 4, and the GPU's own errors, in the words of kernel, driver, CUDA and lspci."""
