"""`platform.chip.bcm.yamlConfig` of Tomahawk 4 boxes (minipack2, 7388X5): the port maps by rule, edited into a base text.

The text is several YAML documents with mappings as keys. It is edited in place, section by section, so that everything else of the
operator's file stays as it is, byte for byte; what it means is read from its YAML nodes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

import yaml

from fabric.errors import FabricError
from fabric.targets.fboss.box import Box, first_lane

_PORTS_A_CORE = 4
_LANES_A_PORT = 2
_RANGE = re.compile(r"PORT_ID:[ ]*\[[ ]*\[[\d,\s\[\]]*\]")
_THRESHOLD = re.compile(r"^( *)THRESHOLD_MODE:[ ]*\S+[ ]*\n(?: *SKIP_BUFFER_RESERVATION:[^\n]*\n)?", re.MULTILINE)
_QGROUPS = re.compile(r"^( *sai_mmu_qgroups_default:)[^\n]*$", re.MULTILINE)
_PORT_KEY = re.compile(r"(\d{1,9}):\s*$")
Changer = Callable[[str, str], str]
"""(indent of the section, its body) -> the new body."""

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def phys_map(box: Box) -> dict[int, int]:
    """Logical id -> physical port: 4 x core + first lane / 2 + 1 (fboss.md section 3), in order of the ids."""
    rows = {
        port.logical_id: _PORTS_A_CORE * port.core + first_lane(port) // _LANES_A_PORT + 1
        for port in box.ports
        if port.core is not None
    }
    return dict(sorted(rows.items()))


def display_map(box: Box) -> dict[int, int]:
    """Logical id -> rank of the port in front-panel order, from 1, in order of the ids."""
    return dict(sorted((port.logical_id, rank) for rank, port in enumerate(box.ports, start=1)))


def runs(numbers: Mapping[int, int]) -> list[tuple[int, int]]:
    """The runs of consecutive keys, as (first, last)."""
    made: list[tuple[int, int]] = []
    for number in sorted(numbers):
        if made and made[-1][1] == number - 1:
            made[-1] = (made[-1][0], number)
        else:
            made.append((number, number))
    return made


def edit(box: Box, text: str) -> str:
    """The base `text` with the port maps of the whole box and the lossless settings.

    Raises FabricError, with what is wrong, for a text that is not YAML, lacks a section that must be edited, or is of another box.
    """
    text = text if text.endswith("\n") else text + "\n"
    _agrees(box, text)
    ranges = "PORT_ID: [" + ", ".join(f"[{first}, {last}]" for first, last in runs(phys_map(box))) + "]"
    text = _section(text, "PC_PORT_PHYS_MAP", lambda indent, _: _phys_body(box, indent))
    text = _section(text, "PC_PORT", lambda _, body: _one_range("PC_PORT", body, ranges))
    text = _section(text, "PORT", lambda _, body: _one_range("PORT", body, ranges))
    text = _section(text, "port", lambda indent, body: _display_body(box, indent, body))
    return lossless(text)


def lossless(text: str) -> str:
    """The edits of a lossless fabric (FBOSS source: NetworkAITestUtils.cpp, applyBackendAsicConfig, branch for Tomahawk 4)."""
    text, found = _THRESHOLD.subn(r"\1THRESHOLD_MODE: LOSSY_AND_LOSSLESS\n\1SKIP_BUFFER_RESERVATION: 1\n", text)
    if found != 1:
        raise FabricError(f"yamlConfig has {found} lines THRESHOLD_MODE, one is wanted")
    return _QGROUPS.sub(r"\1 0", text)


def _section(text: str, key: str, change: Changer) -> str:
    """`text` with the body of its one section `key` (the lines indented deeper than it) put through `change`."""
    pattern = re.compile(rf"^( *){key}:[ ]*\n((?:\1 [^\n]*\n)+)", re.MULTILINE)
    found = list(pattern.finditer(text))
    if len(found) != 1:
        raise FabricError(f"yamlConfig has {len(found)} sections {key} that are written in block form, one is wanted")
    match = found[0]
    return text[: match.start(2)] + change(match.group(1), match.group(2)) + text[match.end(2) :]


def _phys_body(box: Box, indent: str) -> str:
    pairs = {0: 0, **phys_map(box)}  # port 0 is the CPU's
    deep = indent + "  "
    return "".join(
        f"{deep}?\n{deep}  PORT_ID: {port}\n{deep}:\n{deep}  PC_PHYS_PORT_ID: {phys}\n" for port, phys in pairs.items()
    )


def _one_range(key: str, body: str, ranges: str) -> str:
    changed, found = _RANGE.subn(ranges, body)
    if found != 1:
        raise FabricError(f"yamlConfig has {found} port ranges in {key}, one is wanted")
    return changed


def _display_body(box: Box, indent: str, body: str) -> str:
    """All ports in order of their ids; other settings that the base has for a port stay with it."""
    deep = indent + "  "
    ranks = display_map(box)
    own: dict[int, list[str]] = {port: [] for port in ranks}
    current: list[str] = []
    for line in body.splitlines():
        match = _PORT_KEY.fullmatch(line.strip())
        if match:
            current = own.setdefault(int(match.group(1)), [])
        elif not line.strip().startswith("dport_map_port:"):
            current.append(line)
    made: list[str] = []
    for port, lines in sorted(own.items()):
        rank = ranks.get(port)
        made += [f"{deep}{port}:", *([f"{deep}  dport_map_port: {rank}"] if rank else []), *lines]
    return "\n".join(made) + "\n"


def _agrees(box: Box, text: str) -> None:
    """Refuse a text that is not YAML, or whose physical ports are those of another box."""
    known = {0: 0, **phys_map(box)}
    for port, phys in read_phys_map(text).items():
        if known.get(port) != phys:
            raise FabricError(
                f"yamlConfig puts port {port} at {phys}, {box.model} has it at {known.get(port, 'no')}: another box's file"
            )


def read_phys_map(text: str) -> dict[int, int]:
    """PC_PORT_PHYS_MAP of a text as it stands; raises FabricError when the text is not YAML."""
    made: dict[int, int] = {}
    for key, value in _entries(text, "PC_PORT_PHYS_MAP"):
        port, phys = _scalar(key, "PORT_ID"), _scalar(value, "PC_PHYS_PORT_ID")
        if port is not None and phys is not None:
            made[port] = phys
    return made


def _entries(text: str, section: str) -> Iterator[tuple[yaml.Node, yaml.Node]]:
    try:
        documents = list(yaml.compose_all(text, _LOADER))
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        raise FabricError(f"yamlConfig is not YAML: {reason}") from None
    for document in documents:
        yield from _find(document, section, 0)


def _find(node: yaml.Node | None, section: str, depth: int) -> Iterator[tuple[yaml.Node, yaml.Node]]:
    """The entries of the mapping under the key `section`, at most three levels down (device, unit, section)."""
    if not isinstance(node, yaml.MappingNode) or depth > 3:
        return
    for key, value in node.value:
        if isinstance(key, yaml.ScalarNode) and key.value == section and isinstance(value, yaml.MappingNode):
            yield from value.value
        else:
            yield from _find(value, section, depth + 1)


def _scalar(node: yaml.Node, name: str) -> int | None:
    if not isinstance(node, yaml.MappingNode):
        return None
    for key, value in node.value:
        if isinstance(key, yaml.ScalarNode) and key.value == name and isinstance(value, yaml.ScalarNode):
            return int(value.value) if value.value.isdecimal() else None
    return None
