"""From a designed fabric to the files of one FBOSS switch. Every file passes the strict check and the refusals before it leaves."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from fabric.design.fabric import Fabric
from fabric.design.model import Port, Switch
from fabric.errors import DesignError, FabricError
from fabric.spec.overrides import Settings
from fabric.targets.base import Artifact
from fabric.targets.fboss import refusals_buffers, refusals_switch, services, wire
from fabric.targets.fboss.agent import agent_conf
from fabric.targets.fboss.agent_shared import AgentShared, agent_shared
from fabric.targets.fboss.bgp import BgpShared, bgp_conf, bgp_shared
from fabric.targets.fboss.box import Json
from fabric.targets.fboss.problem import Problem
from fabric.targets.fboss.refusals_agent import agent_refusals
from fabric.targets.fboss.refusals_base import Rule, make_view, run
from fabric.targets.fboss.refusals_bgp import bgp_refusals
from fabric.targets.fboss.strict import Root, compile_validator

AGENT = "/etc/coop/agent.conf"
BGP = "/etc/coop/bgpcpp/bgpcpp.conf"
QSFP = "/etc/coop/qsfp.conf"
FSDB = "/etc/coop/fsdb/current"
LED = "/etc/coop/led.conf"
_FLAGS = "defaultCommandLineArgs"
_REPORT = "this is a fault of fabric: please report it, with the spec"


Shape = tuple[tuple[str, int | None, int | None, bool], ...]
"""Role, logical id, profile and state of each port. Switches of one kind and one shape differ only in names and addresses."""

_ADDRESS_RULES: tuple[Rule, ...] = (refusals_switch.addresses, refusals_switch.routes, refusals_buffers.mirrors)
"""The refusals that look at what differs between two switches of one shape."""


@dataclass(frozen=True, slots=True)
class _Shared:
    """All that switches of one kind share. `shapes`: those whose agent.conf has passed all refusals."""

    agent: AgentShared
    bgp: BgpShared
    services: dict[str, bytes]
    shapes: set[Shape]


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
        return _Shared(agent, bgp_shared(fabric, switch), {path: wire.dumps(conf) for path, _, conf in small}, set())


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
    files = {AGENT: _agent(fabric, switch, shared, ports), BGP: _bgp(fabric, switch, shared, ports), **shared.services}
    return [Artifact(switch.name, switch.role, "fboss", path, content) for path, content in files.items()]


def _agent(fabric: Fabric, switch: Switch, shared: _Shared, ports: Sequence[Port]) -> bytes:
    try:
        conf = agent_conf(fabric, switch, shared.agent, ports)
    except DesignError:
        raise
    except FabricError as error:  # a row that is not the struct it should be
        raise FabricError(f"internal: {switch.name}: {AGENT}: {error.message}", hint=_REPORT) from error
    _must_pass(switch, AGENT, compile_validator("agent")(conf.text))
    made_of = shared.agent.box
    shape = tuple((port.role, port.slot.logical_id, port.slot.profile, port.enabled) for port in ports)
    if shape in shared.shapes:
        _must_pass(switch, AGENT, run(_ADDRESS_RULES, make_view(conf.plain, made_of.inventory, made_of.asic)))
    else:
        _must_pass(switch, AGENT, agent_refusals(conf.plain, made_of.inventory, made_of.asic.name))
        shared.shapes.add(shape)
    return wire.dumps(conf.text)


def _bgp(fabric: Fabric, switch: Switch, shared: _Shared, ports: Sequence[Port]) -> bytes:
    text, plain = bgp_conf(fabric, switch, shared.bgp, ports)
    _must_pass(switch, BGP, compile_validator("bgp")(text))
    _must_pass(switch, BGP, bgp_refusals(plain))
    return wire.dumps(text)


def _must_pass(switch: Switch, path: str, problems: Iterable[Problem]) -> None:
    """A problem in a file that we made is our mistake; flags that FBOSS does not know are the user's, and only warned of."""
    for problem in problems:
        if problem.level != "warning" and not problem.path.startswith(_FLAGS):
            raise FabricError(f"internal: {switch.name}: {path}: {problem}", hint=_REPORT)


def normalise(path: str, content: bytes) -> bytes:
    """A configuration in the form that `render` writes, whoever wrote it: both sides of a diff go through it.

    `path` is the file's name, for the FabricError that a text which is not JSON gives.
    """
    return wire.dumps(wire.loads(content, source=path))
