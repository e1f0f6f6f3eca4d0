"""From a designed fabric to the files of one FBOSS switch. Every file passes the strict check and the refusals before it leaves."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from fabric.design.fabric import Fabric
from fabric.design.model import Switch
from fabric.errors import FabricError
from fabric.spec.overrides import Settings
from fabric.targets.base import Artifact
from fabric.targets.fboss import services, wire
from fabric.targets.fboss.agent import agent_conf
from fabric.targets.fboss.agent_shared import AgentShared, agent_shared
from fabric.targets.fboss.bgp import BgpShared, bgp_conf, bgp_shared
from fabric.targets.fboss.box import Json
from fabric.targets.fboss.problem import Problem
from fabric.targets.fboss.refusals_agent import agent_refusals
from fabric.targets.fboss.refusals_bgp import bgp_refusals
from fabric.targets.fboss.strict import Root, compile_validator

AGENT = "/etc/coop/agent.conf"
BGP = "/etc/coop/bgpcpp/bgpcpp.conf"
QSFP = "/etc/coop/qsfp.conf"
FSDB = "/etc/coop/fsdb/current"
LED = "/etc/coop/led.conf"
_FLAGS = "defaultCommandLineArgs"


@dataclass(frozen=True, slots=True)
class _Shared:
    """All that switches of one kind share."""

    agent: AgentShared
    bgp: BgpShared
    services: dict[str, bytes]


class _Kinds:
    """The shared parts of one fabric by kind of switch, made when first asked for."""

    def __init__(self, fabric: Fabric, base_dir: Path) -> None:
        self._fabric, self._base_dir = fabric, base_dir
        self._made: dict[tuple[str, str, str, str], _Shared] = {}

    def serves(self, fabric: Fabric, base_dir: Path) -> bool:
        """Whether these are the parts of that very fabric object."""
        return self._fabric is fabric and self._base_dir == base_dir

    def of(self, switch: Switch) -> _Shared:
        """The shared parts of the switch's kind."""
        overridden = bool(self._fabric.spec.overrides)
        settings = self._fabric.settings_of(switch) if overridden else Settings()
        key = (switch.model, switch.role, switch.profile, settings.model_dump_json() if overridden else "")
        if key not in self._made:
            self._made[key] = self._make(switch, settings)
        return self._made[key]

    def _make(self, switch: Switch, settings: Settings) -> _Shared:
        fabric = self._fabric
        agent = agent_shared(fabric, switch, settings, self._base_dir)
        small: tuple[tuple[str, Root, Json], ...] = (
            (QSFP, "qsfp", services.qsfp_conf()),
            (FSDB, "fsdb", services.fsdb_conf(fabric.spec.fboss.trusted_subnets)),
            (LED, "led", services.led_conf()),
        )
        for path, root, conf in small:
            _must_pass(switch, path, compile_validator(root)(conf))
        return _Shared(agent, bgp_shared(fabric, switch), {path: wire.dumps(conf) for path, _, conf in small})


_kinds: list[_Kinds] = []
"""The fabrics that this process rendered last (at most two, so that nothing piles up)."""


def _kinds_of(fabric: Fabric, base_dir: Path) -> _Kinds:
    for kinds in _kinds:
        if kinds.serves(fabric, base_dir):
            return kinds
    _kinds.append(_Kinds(fabric, base_dir))
    del _kinds[:-2]
    return _kinds[-1]


def render(fabric: Fabric, switch: Switch, *, base_dir: Path | None = None) -> list[Artifact]:
    """The files of one FBOSS switch: agent, BGP, qsfp, fsdb and led configurations.

    `base_dir` is the folder that `fboss.platform_base` is relative to (the spec's; default: the current one). Raises FabricError, or
    its kind DesignError with the place in the spec, for what cannot be rendered.
    """
    shared = _kinds_of(fabric, base_dir or Path()).of(switch)
    ports = fabric.ports(switch)
    to_dump, plain = agent_conf(fabric, switch, shared.agent, ports)
    _must_pass(switch, AGENT, compile_validator("agent")(to_dump))
    _must_pass(switch, AGENT, agent_refusals(plain, shared.agent.box.inventory, shared.agent.box.asic.name))
    bgp_text, bgp_plain = bgp_conf(fabric, switch, shared.bgp, ports)
    _must_pass(switch, BGP, compile_validator("bgp")(bgp_text))
    _must_pass(switch, BGP, bgp_refusals(bgp_plain))
    files = {AGENT: wire.dumps(to_dump), BGP: wire.dumps(bgp_text), **shared.services}
    return [Artifact(switch.name, switch.role, "fboss", path, content) for path, content in files.items()]


def _must_pass(switch: Switch, path: str, problems: Iterable[Problem]) -> None:
    """A problem in a file that we made is our mistake; flags that FBOSS does not know are the user's, and only warned of."""
    for problem in problems:
        if problem.level != "warning" and not problem.path.startswith(_FLAGS):
            raise FabricError(f"internal: {switch.name}: {path}: {problem}", hint="please report this, with the spec")


def normalise(path: str, content: bytes) -> bytes:
    """A configuration in the form that `render` writes, whoever wrote it: both sides of a diff go through it.

    `path` is the file's name, for the FabricError that a text which is not JSON gives.
    """
    return wire.dumps(wire.loads(content, source=path))
