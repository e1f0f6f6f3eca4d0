"""The subnet managers and the routing that they make."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, field_validator, model_validator

from fabric.spec.base import Address, HostLabel, Line, Model, SecretName, sourced

_OPENSM = "opensm 3.3.23 (measured)"
_NVIDIA = "NVIDIA documentation and public structure of NVIDIA's OpenSM"
OptionName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{1,63}$")]


def _rendered(engine: object) -> object:
    """`file` is an engine of opensm too, and the only one that wants something that we have not."""
    if engine == "file":
        raise ValueError(
            "the engine 'file' wants a dump of forwarding tables, which is not rendered: opensm would take minhop"
        )
    return engine


Engine = Annotated[
    Literal[
        "minhop", "updn", "dnup", "ftree", "lash", "dor", "torus-2QoS", "nue", "dfsssp", "sssp",
        "ar_updn", "ar_ftree", "dfp", "dfp2", "pqft",
    ],
    BeforeValidator(_rendered),
]  # fmt: skip
NVIDIA_ENGINES = frozenset({"ar_updn", "ar_ftree", "dfp", "dfp2", "pqft"})
"""Engines that only NVIDIA's OpenSM has (NVIDIA documentation)."""


def _one_word(options: dict[str, str]) -> dict[str, str]:
    for key, value in options.items():
        if not value or "#" in value or value != value.strip() or len(value) > 900 or not value.isprintable():
            raise ValueError(
                f"{key}: the value must be printable text of at most 900 characters without '#' or outer blanks"
            )
        if value.lower() in ("true", "false") and value not in ("TRUE", "FALSE"):
            raise ValueError(f"{key}: opensm takes only TRUE and FALSE, {value!r} would be FALSE without a message")
    return options


class Routing(Model):
    """Routing engine and what it is told."""

    engines: list[Engine] = sourced(
        ["ftree"],
        "Routing engines in the order of trying.",
        source="reference: with static routing only ftree loads all links of three tiers alike (measured)",
        status="measured",
        min_length=1,
        max_length=4,
    )
    fallback: bool = sourced(
        False,
        "Whether opensm may fall back to minhop without a word when no engine works.",
        source="our choice: a typo or an impure tree must show",
        status="inferred",
    )
    roots: list[Line] | None = Field(
        None, min_length=1, description="Top switches by name or node GUID, declared by hand; the top tier when null."
    )
    compute_nodes: list[Line] | None = Field(
        None,
        min_length=1,
        description="Compute ports by HCA name or port GUID, declared by hand; all GPU hosts' HCAs when null.",
    )
    options: dict[OptionName, str] = Field(
        default_factory=dict, description="More keys of opensm.conf for routing.", examples=[{"scatter_ports": "8"}]
    )

    _options = field_validator("options")(_one_word)


class SmHost(Model):
    """One subnet manager."""

    host: HostLabel | None = Field(None, description="GPU host or service that it runs on.", examples=["gt0001"])
    switch: HostLabel | None = Field(None, description="Switch that it runs in; refused, with the reason.")
    rail: int = Field(0, ge=0, le=63, description="HCA of the host that it binds to, from 0.")
    priority: int | None = Field(
        None,
        ge=0,
        le=15,
        description="Priority, the highest is master; 14 for the first, one less for each further when null.",
    )
    address: Address | None = Field(
        None, description="Management address, for SSH; without it the host's name is used."
    )

    @model_validator(mode="after")
    def _one(self) -> SmHost:
        if (self.host is None) == (self.switch is None):
            raise ValueError("wants one of host and switch")
        return self


class SmKeys(Model):
    """Keys of the subnet by name of a secret; null = opensm's own default, which is no protection."""

    m_key: SecretName | None = Field(None, description="Management key of all ports.")
    sm_key: SecretName | None = Field(None, description="SM authentication; the same in all SMs.")
    sa_key: SecretName | None = Field(None, description="Trusted SA queries.")
    cc_key: SecretName | None = Field(None, description="Congestion control manager's key.")


class Polling(Model):
    """How a standby watches the master. Detection takes timeout times retries."""

    timeout_ms: int = sourced(
        1000,
        "Time between two polls.",
        source="handover in 5.2 s with these values (measured); opensm's own defaults take about 40 s",
        status="measured",
        unit="ms",
        ge=100,
        le=60_000,
    )
    retries: int = sourced(
        2,
        "Polls without an answer before the standby takes over.",
        source="same (measured)",
        status="measured",
        ge=1,
        le=100,
    )


class AdaptiveRouting(Model):
    """Adaptive routing, SHIELD and pFRN of NVIDIA's OpenSM."""

    sl_mask: int = sourced(
        0xFFFF, "SLs with adaptive routing, as a mask.", source=_NVIDIA, status="secondary", ge=0, le=0xFFFF
    )
    asymmetric_flow: int | None = Field(
        None, ge=0, le=3, description="`ar_tree_asymmetric_flow`; NVIDIA's own default when null."
    )
    shield: Literal["off", "shield", "pfrn"] = sourced(
        "shield",
        "`off`; `shield`: links heal in the switch; `pfrn`: with notification of other switches (ar_updn, ar_ftree).",
        source=_NVIDIA,
        status="secondary",
    )
    pfrn_sl: int | None = Field(None, ge=0, le=15, description="SL of pFRN; NVIDIA's own default when null.")


class SubnetManagement(Model):
    """The subnet managers: where they run, and what they have in common."""

    flavour: Literal["opensm", "nvidia"] = Field(
        "opensm", description="`opensm`: upstream OpenSM; `nvidia`: NVIDIA's OpenSM, alone or inside UFM."
    )
    hosts: list[SmHost] = Field(default_factory=list, max_length=8, description="Master and standbys.")
    keys: SmKeys = Field(default_factory=SmKeys, description="Keys.")
    m_key_protection: int = Field(0, ge=0, le=3, description="M_Key protection level; 0 = none.")
    m_key_lease_s: int = Field(0, ge=0, le=65_535, description="M_Key lease period, in seconds; 0 = for ever.")
    polling: Polling = Field(default_factory=Polling, description="How a standby watches the master.")
    sweep_interval_s: int = sourced(
        10, "Time between sweeps; 0 = none.", source=_OPENSM, status="measured", unit="s", ge=0, le=86_400
    )
    wire_smps: int = sourced(
        64,
        "Management packets in flight.",
        source="reference: safe on a loaded machine (measured)",
        status="measured",
        ge=1,
        le=1024,
    )
    sharp: bool = Field(
        False, description="SHARP: reductions in the switches; wants rail-optimised cabling and `nvidia`."
    )
    congestion_control: bool = Field(False, description="Congestion control.")
    adaptive_routing: AdaptiveRouting | None = Field(
        None, description="Adaptive routing, or null for none; wants `nvidia` and an `ar_` engine."
    )
    options: dict[OptionName, str] = Field(
        default_factory=dict,
        description="More keys of opensm.conf, as the flavour knows them.",
        examples=[{"log_max_size": "4096"}],
    )

    _options = field_validator("options")(_one_word)
