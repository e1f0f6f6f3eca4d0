"""The file with the GUIDs of the real boxes: CSV or YAML, as rows with their line numbers. What is in it is not trusted."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import yaml
from yaml.nodes import MappingNode, Node, ScalarNode

from fabric.errors import DesignError, FabricError
from fabric.spec.yaml_build import shown
from fabric.spec.yaml_read import decode, read_bytes
from fabric.spec.yaml_source import raise_all

HEADER = ["name", "node_guid", "port_guid"]
_GUID = re.compile(r"(?:0x)?([0-9a-fA-F]{16})|0x([0-9a-fA-F]{1,16})|((?:[0-9a-fA-F]{4}:){3}[0-9a-fA-F]{4})")
_PATH = ("backend", "guids", "file")


@dataclass(frozen=True, slots=True)
class Row:
    """One device of the file; `node`, `port` are None where nothing stands."""

    name: str
    node: int | None
    port: int | None
    line: int


class Problems:
    """Errors of one file, each with its line. `named` are the devices whose own line is wrong: that they lack a GUID is no second error."""

    def __init__(self, file: str) -> None:
        self.file, self.found, self.named = file, list[FabricError](), set[str]()

    def add(self, line: int | None, message: str, *, hint: str | None = None) -> None:
        """One error; None for what stands nowhere."""
        where = f"{self.file}:{line}" if line is not None else self.file
        self.found.append(FabricError(f"{where}: {message}", hint=hint))

    def stop(self) -> None:
        """Raise what was found."""
        if self.found:
            raise_all(self.found, len(self.found), self.file)


def read_rows(file: str, base_dir: Path) -> tuple[list[Row], Problems]:
    """The rows of the file, and what is wrong with it so far; DesignError when it cannot be read."""
    path = base_dir / file
    try:
        text = decode(read_bytes(path), str(path))
    except FabricError as error:
        raise DesignError(_PATH, error.message.replace("in a YAML file", "here"), hint=error.hint) from None
    problems = Problems(str(path))
    kind = path.suffix.lower()
    if kind not in (".csv", ".yaml", ".yml"):
        raise DesignError(_PATH, f"{file} is neither .csv nor .yaml")
    rows = list((_csv if kind == ".csv" else _yaml)(text, problems))
    return rows, problems


def _csv(text: str, problems: Problems) -> Iterator[Row]:
    reader = csv.reader(io.StringIO(text), strict=True)
    try:
        header = [cell.strip() for cell in next(reader, [])]
        if header != HEADER:
            problems.add(1, f"the first line is {','.join(header)[:60]!r}, not {','.join(HEADER)}")
            return
        for cells in reader:
            if not any(cell.strip() for cell in cells):
                continue
            line = reader.line_num
            if len(cells) != 3:
                problems.named.add(cells[0].strip())
                problems.add(line, f"has {len(cells)} fields, there are 3: {', '.join(HEADER)}")
                continue
            name, node, port = (cell.strip() for cell in cells)
            yield Row(name, _guid(node, name, line, problems), _guid(port, name, line, problems), line)
    except csv.Error as error:
        problems.add(reader.line_num, f"is no CSV: {error}")


def _yaml(text: str, problems: Problems) -> Iterator[Row]:
    try:
        root = yaml.compose(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except (yaml.YAMLError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        problems.add(mark.line + 1 if mark else None, f"is no YAML: {getattr(error, 'problem', None) or 'too deep'}")
        return
    if not isinstance(root, MappingNode):
        problems.add(1, "wants a mapping of names to GUIDs")
        return
    for key, value in root.value:
        line = key.start_mark.line + 1
        if not isinstance(key, ScalarNode):
            problems.add(line, "the name of a device is text")
        elif isinstance(value, ScalarNode):
            yield Row(key.value, _guid(value.value, key.value, line, problems), None, line)
        else:
            yield from _pair(key.value, value, line, problems)


def _pair(name: str, value: Node, line: int, problems: Problems) -> Iterator[Row]:
    """`{node: GUID, port: GUID}`."""
    given: dict[str, str] = {}
    for key, item in value.value if isinstance(value, MappingNode) else [(None, None)]:
        word = key.value if isinstance(key, ScalarNode) else None
        if word not in ("node", "port") or word in given or not isinstance(item, ScalarNode):
            problems.add(line, f"{name}: wants a GUID, or node and port with a GUID each")
            return
        given[word] = item.value
    node, port = (_guid(given.get(word, ""), name, line, problems) for word in ("node", "port"))
    yield Row(name, node, port, line)


def _guid(text: str, name: str, line: int, problems: Problems) -> int | None:
    if not text:
        return None
    match = _GUID.fullmatch(text)
    problems.named.add(name)
    if match is None:
        problems.add(
            line,
            f"{name}: {shown(text, 40)} is no GUID",
            hint="hexadecimal, such as 0x0002c903000e0b72 or 0002:c903:000e:0b72",
        )
        return None
    value = int((match[1] or match[2] or match[3]).replace(":", ""), 16)
    if value in (0, 2**64 - 1):
        problems.add(line, f"{name}: {text} is no device's GUID")
        return None
    problems.named.discard(name)
    return value
