"""The text of one YAML file: read with bounds, parsed by libyaml, asked for positions only when something is wrong."""

from __future__ import annotations

import gc
import re
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import yaml
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from fabric.errors import FabricError, FabricErrors
from fabric.spec.yaml_build import (
    MAX_ALIAS_VALUES,
    MAX_DEPTH,
    AliasBombError,
    Builder,
    Problem,
    is_secret,
    scalar,
    shown,
)
from fabric.spec.yaml_read import Position

#: Most values (keys, items, scalars) in a file. Our own bound: a cluster needs a few hundred.
MAX_VALUES = 500_000
#: Errors told in one run.
MAX_ERRORS = 20

_SHOWN_PARTS = 12  # of a path in a message: hostile files nest deeper, specs do not

Loc = tuple[str | int, ...]

_WORD = re.compile(r"[A-Za-z0-9_-]+\Z")
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

# libyaml's problem, or its context: what we say instead, and the hint
_SYNTAX: tuple[tuple[str, str, str | None], ...] = (
    ("exceeded maximum nesting depth", f"lists and mappings stand more than {MAX_DEPTH} deep in each other here", None),
    (
        "mapping values are not allowed",
        "a second ': ' on this line, or a wrong indentation",
        "text with ': ' in it needs quotes",
    ),
    ("could not find expected ':'", "a key without a ':' after it", "write 'key: value'"),
    ("did not find expected key", "expected a key here", "check the indentation, and quotes or brackets above"),
    (
        "did not find expected '-' indicator",
        "expected a '- ' item here, as the list started above",
        "check the indentation",
    ),
    ("did not find expected ',' or ']'", "a list in [ ] goes wrong here", "a comma or a ']' is missing"),
    ("did not find expected ',' or '}'", "a mapping in { } goes wrong here", "a comma or a '}' is missing"),
    ("found unexpected end of stream", "the file ends inside a text in quotes", "close the quote"),
    ("found unexpected document indicator", "the file has a '---' or '...' inside a text in quotes", "close the quote"),
    (
        "but found another document",
        "a second YAML document starts here",
        "one file holds one document: remove the '---'",
    ),
    (
        "found undefined alias",
        "an alias (*name) without an anchor (&name) above it",
        "text that starts with '*' needs quotes",
    ),
    ("found duplicate anchor", "this anchor (&name) is already there above", "give it another name"),
    (
        "found unknown escape character",
        "an unknown escape after a backslash",
        "use single quotes, or double the backslash",
    ),
    ("found undefined tag handle", "the YAML tag here is not allowed", "write the value without a tag"),
    (
        "did not find expected node content",
        "a value is missing here, or starts with a character that needs quotes",
        None,
    ),
    ("tab character that violates", "a tab cannot indent YAML", "use spaces"),
    ("expected alphabetic or numeric", "a text cannot start with '*' or '&'", "put it in quotes"),
    ("expected <document start>", "the document has ended before this", "check the indentation, and brackets above"),
    ("while scanning a directive", "a line cannot start with '%'", "put the text in quotes"),
    ("found unexpected ':'", "a ':' cannot stand here", "text with ':' in it needs quotes inside [ ] and { }"),
    ("mapping keys are not allowed", "a '? ' cannot stand here", "put the text in quotes"),
    (
        "while scanning a block scalar",
        "only a comment can follow '|' or '>' on its line",
        "start the text on the next line",
    ),
    ("block sequence entries are not allowed", "a '- ' item cannot start here", "start it on a line of its own"),
)


def path_text(loc: Loc) -> str:
    """`backend.zones[0].racks`; a key that is not a plain word stands in quotes."""
    parts = [
        f"[{part}]" if isinstance(part, int) else "." + (part if _WORD.match(part) else shown(part, 40))
        for part in loc[:_SHOWN_PARTS]
    ]
    return "".join(parts).removeprefix(".") + ("…" if len(loc) > _SHOWN_PARTS else "")


def located(position: Position, loc: Loc, message: str, hint: str | None) -> FabricError:
    """The one form of an error in a file: `FILE:LINE:COLUMN: PATH: MESSAGE`."""
    path = path_text(loc)
    return FabricError(f"{position}: {path}: {message}" if path else f"{position}: {message}", hint=hint)


def raise_all(errors: list[FabricError], total: int, name: str) -> None:
    """Raises the one error, or FabricErrors with the first MAX_ERRORS of them and a line for the rest of `total`."""
    if len(errors) == 1 == total:
        raise errors[0]
    told = errors[:MAX_ERRORS]
    if total > len(told):
        told.append(FabricError(f"{name}: and {total - len(told):,} more errors"))
    raise FabricErrors(told)


@contextmanager
def collector_off() -> Iterator[None]:
    """No cyclic garbage collection inside: node trees hold no cycles, and collecting while they grow doubles the time."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


class YamlSource:
    """One YAML document: `name` is the path for messages, `text` what it holds.

    Nodes are not kept: they are made again when positions are wanted.
    """

    __slots__ = ("_children", "_root", "name", "text")

    def __init__(self, name: str, text: str) -> None:
        self.name = name
        self.text = text
        self._root: Node | None = None
        self._children: dict[int, dict[str, tuple[Node, Node]]] = {}

    def build(self) -> Any:
        """The value of the document. FabricError or FabricErrors for all that is not YAML, or not allowed in a spec."""
        with collector_off():
            root = self._compose()
            if root is None:
                raise FabricError(f"{self.name}:1:1: the file is empty", hint="`fabric init` writes a starter")
            builder = Builder(shared="*" in self.text and "&" in self.text)
            try:
                value = builder.build(root)
            except AliasBombError as error:
                builder.problems = [Problem(error.node, f"its aliases expand to more than {MAX_ALIAS_VALUES:,} values")]
        if builder.problems:
            self._raise(root, builder.problems)
        if value is None:
            raise FabricError(f"{self.name}:1:1: the file is empty", hint="`fabric init` writes a starter")
        return value

    def _compose(self) -> Node | None:
        try:
            self._refuse_many_values()
            root: Node | None = yaml.compose(self.text, _LOADER)
        except yaml.MarkedYAMLError as error:
            raise self._syntax_error(error) from None
        except yaml.YAMLError as error:
            raise FabricError(f"{self.name}: not YAML: {shown(str(error))[1:-1]}") from None
        return root

    def _refuse_many_values(self) -> None:
        """Counts events (cheap, nothing kept) when the text has enough separators to hold too many values."""
        count = self.text.count
        if sum(map(count, (",", "\n", ":", "-", "[", "{", "?"))) <= MAX_VALUES:
            return
        values = 0
        for event in yaml.parse(self.text, _LOADER):
            values += isinstance(event, yaml.NodeEvent)
            if values > MAX_VALUES:
                at = _position(self.name, event.start_mark)
                raise FabricError(f"{at}: the file holds more than {MAX_VALUES:,} values, the most that is read")

    def _syntax_error(self, error: yaml.MarkedYAMLError) -> FabricError:
        mark = error.problem_mark or error.context_mark
        at = _position(self.name, mark)
        problem = error.problem or ""
        whole = f"{error.context or ''} {problem}"
        if "cannot start any token" in problem:
            lines = self.text.splitlines()
            char = lines[at.line - 1][at.column - 1 : at.column] if at.line <= len(lines) else ""
            if char == "\t":
                return FabricError(f"{at}: a tab cannot indent YAML", hint="use spaces")
            return FabricError(f"{at}: a text cannot start with {char!r}", hint="put it in quotes")
        message, hint = next(((m, h) for key, m, h in _SYNTAX if key in whole), (f"not YAML: {whole.strip()}", None))
        if error.context_mark and error.context_mark.line + 1 != at.line and "expected" in problem:
            message += f" (started on line {error.context_mark.line + 1})"
        return FabricError(f"{at}: {message}", hint=hint)

    def _raise(self, root: Node, problems: list[Problem]) -> None:
        problems.sort(key=lambda problem: problem.node.start_mark.index)
        told = problems[:MAX_ERRORS]
        paths = _paths(root, {id(problem.node) for problem in told})
        errors = []
        for problem in told:
            path, message = paths.get(id(problem.node), ()), problem.message
            if is_secret(path) and isinstance(problem.node, ScalarNode):
                message = message.replace(shown(problem.node.value), "the value")
            errors.append(located(self._at(problem.node), path, message, problem.hint))
        raise_all(errors, len(problems), self.name)

    def _at(self, node: Node) -> Position:
        return _position(self.name, node.start_mark)

    def locate(self, loc: Loc) -> Position:
        """Where `loc` stands: the key of an entry, the start of a list item; or the deepest part of `loc` in the file."""
        return self.find(loc)[0]

    def find(self, loc: Loc) -> tuple[Position, Node | None, Node | None]:
        """Like locate, with the nodes of the key (or list item) and the value; None, None when `loc` is not in the file."""
        if self._root is None:
            with collector_off():
                self._root = self._compose()
        if self._root is None:
            return Position(self.name, 1, 1), None, None
        key = node = self._root
        for part in loc:
            found = self._child(node, part)
            if found is None:
                return self._at(key), None, None
            key, node = found
        return self._at(key), key, node

    def _child(self, node: Node, part: str | int) -> tuple[Node, Node] | None:
        if isinstance(node, SequenceNode):
            inside = isinstance(part, int) and 0 <= part < len(node.value)
            return (node.value[part], node.value[part]) if inside else None
        if not isinstance(node, MappingNode):
            return None
        if id(node) not in self._children:
            self._children[id(node)] = _entries(node)
        return self._children[id(node)].get(str(part))


def _position(name: str, mark: Any) -> Position:
    """Positions count from 1, libyaml's marks from 0."""
    return Position(name, mark.line + 1, mark.column + 1) if mark else Position(name, 1, 1)


def _entries(node: MappingNode) -> dict[str, tuple[Node, Node]]:
    """Key and value node by the key's value as text (`1`, `True`); merged keys after the mapping's own."""
    out: dict[str, tuple[Node, Node]] = {}
    merges: list[MappingNode] = []
    for key, value in node.value:
        if key.tag.endswith(":merge"):
            merges += value.value if isinstance(value, SequenceNode) else [value]
        elif isinstance(key, ScalarNode):
            made = scalar(key)
            for name in {str(made), str(int(made)) if isinstance(made, bool) else str(made)}:
                out.setdefault(name, (key, value))
    for merged in merges:
        for name, entry in _entries(merged).items():
            out.setdefault(name, entry)
    return out


def _paths(root: Node, wanted: set[int]) -> dict[int, Loc]:
    """The shortest path of each wanted node (a key node has the path of its entry); each node is walked once."""
    paths: dict[int, Loc] = {}
    seen: set[int] = set()
    stack: deque[tuple[Node, Loc]] = deque([(root, ())])
    while stack:
        node, loc = stack.popleft()
        if id(node) in wanted:
            paths.setdefault(id(node), loc)
        if id(node) in seen or isinstance(node, ScalarNode):
            continue
        seen.add(id(node))
        if isinstance(node, SequenceNode):
            stack += [(item, (*loc, index)) for index, item in enumerate(node.value)]
        else:
            for key, value in node.value:
                inner = (*loc, key.value) if isinstance(key, ScalarNode) else loc
                stack += [(key, inner), (value, inner)]
    return paths
