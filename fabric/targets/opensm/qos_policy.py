"""Reading a QoS policy file strictly: the short form `qos-ulps` rule by rule, the full form section by section (manual of opensm)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from fabric.design.suggest import near
from fabric.targets.opensm.problem import Collector, Problem, decoded, shown

_N = r"(?:0x[0-9a-fA-F]+|0|[1-9][0-9]*)"
_SPAN = rf"{_N}(?:-{_N})?"
_LIST = rf"{_SPAN}(?:,{_SPAN})*"
_MATCHES = tuple(
    re.compile(pattern).fullmatch
    for pattern in (
        "default",
        rf"any, ?(?:pkey|service-id|target-port-guid|source-port-guid|source-target-port-guid) {_LIST}",
        rf"ipoib(?:, ?pkey {_LIST})?",
        rf"sdp(?:, ?port-num {_LIST})?",
        "rds",
        rf"iser(?:, ?port-num {_LIST})?",
        rf"srp, ?target-port-guid {_LIST}",
    )
)
_PKEYS = re.compile(rf"pkey:?\s*({_LIST})").search
_SECTIONS: Mapping[str, tuple[str, frozenset[str]]] = {
    "port-groups": (
        "port-group",
        frozenset({"name", "use", "port-guid", "port-name", "pkey", "partition", "node-type"}),
    ),
    "qos-levels": ("qos-level", frozenset({"name", "use", "sl", "mtu-limit", "rate-limit", "pkey", "packet-life"})),
    "qos-match-rules": (
        "qos-match-rule",
        frozenset({"use", "qos-class", "source", "destination", "service-id", "pkey", "qos-level-name"}),
    ),
}
_SLS = 16
_DEFAULT_PKEY = 0x7FFF
_TARGET = ("any, target-port-guid", "any,target-port-guid")  # these match all ULPs, so they go last (manual)


@dataclass(frozen=True, slots=True)
class QosPolicy:
    """`rules`: (what it matches, SL) of the short form. `pkeys`: each P_Key that is named, with its line. `ipoib`: those of rules for IPoIB."""

    rules: tuple[tuple[str, int], ...]
    pkeys: Mapping[int, int]
    ipoib: Mapping[int, int]
    problems: tuple[Problem, ...]


class _Reader:
    """The state of one reading: which sections are open, what was seen."""

    def __init__(self, file: str) -> None:
        self.problem = Collector(file)
        self.open: list[tuple[str, int]] = []
        self.rules: list[tuple[str, int]] = []
        self.pkeys: dict[int, int] = {}
        self.ipoib: dict[int, int] = {}
        self.levels: dict[str, int] = {}
        self.default_at = 0
        self.target_at = 0

    def line(self, number: int, text: str) -> None:
        """One line without its comment."""
        if text.startswith("end-"):
            self._close(number, text[4:])
        elif self.open and self.open[-1][0] == "qos-ulps":
            self._rule(number, text)
        elif self.open and self.open[-1][0] not in _SECTIONS:
            self._field(number, text)
        else:
            self._begin(number, text)

    def _begin(self, number: int, text: str) -> None:
        inside = self.open[-1][0] if self.open else ""
        allowed = (_SECTIONS[inside][0],) if inside else ("qos-ulps", *_SECTIONS)
        if text not in allowed:
            if text == "qos-setup":
                hint = "SL2VL and VL arbitration belong into opensm.conf"
                self.problem(number, "opensm parses qos-setup and ignores it", hint)
            else:
                self.problem(number, f"{shown(text)} opens no section here", near(text, allowed))
            return
        self.open.append((text, number))

    def _close(self, number: int, name: str) -> None:
        if not self.open or self.open[-1][0] != name:
            expected = f"end-{self.open[-1][0]}" if self.open else "no end"
            self.problem(number, f"end-{name[:40]} closes nothing", f"{expected} is due here")
            return
        self.open.pop()

    def _rule(self, number: int, text: str) -> None:
        match, colon, value = (part.strip() for part in text.rpartition(":"))
        if not colon or not value.isdigit() or int(value) >= _SLS:
            self.problem(number, f"{shown(text)} ends in no SL", "for example `any, pkey 0x1001 : 3`; SL 0 to 15")
            return
        if not any(known(match) for known in _MATCHES):
            self.problem(number, f"{shown(match)} is no rule of qos-ulps", "default, any, ipoib, sdp, rds, iser or srp")
            return
        if self.default_at:
            self.problem(
                number, f"this rule is never reached: default stands on line {self.default_at}", "default goes last"
            )
        if match == "default":
            self.default_at = number
        elif match.startswith(_TARGET):
            self.target_at = number
        elif self.target_at:
            self.problem(number, f"the rule by target port GUID on line {self.target_at} must stand behind this one")
        pkeys = self._pkey(number, match)
        if match.startswith("ipoib"):
            self.ipoib.update({pkey: number for pkey in pkeys or (_DEFAULT_PKEY,) if pkey not in self.ipoib})
        self.rules.append((match, int(value)))

    def _field(self, number: int, text: str) -> None:
        section = next(fields for inner, fields in _SECTIONS.values() if inner == self.open[-1][0])
        name, colon, value = (part.strip() for part in text.partition(":"))
        if not colon or not value:
            self.problem(number, f"{shown(text)} is not of the form `name: value`")
        elif name not in section:
            self.problem(number, f"{self.open[-1][0]} has no field {shown(name)}", near(name, sorted(section)))
        elif name == "name" and self.open[-1][0] == "qos-level":
            self.levels[value] = number
        else:
            self._pkey(number, text)

    def _pkey(self, number: int, text: str) -> list[int]:
        """The P_Keys that a line names, without the membership bit."""
        match = _PKEYS(text)
        found = [pkey & _DEFAULT_PKEY for span in _spans(match[1]) for pkey in span] if match else []
        for pkey in found:
            self.pkeys.setdefault(pkey, number)
        return found

    def end(self, levels_seen: bool) -> None:
        """After the last line."""
        for name, number in self.open:
            self.problem(number, f"{name} is never closed", f"write end-{name}")
        if levels_seen and "DEFAULT" not in self.levels:
            self.problem(0, "there is no qos-level named DEFAULT, which opensm requires")
        if self.rules and not self.default_at:
            self.problem(0, "qos-ulps has no default rule", "write `default : 0` as its last line")


def _spans(text: str) -> Iterator[tuple[int, int]]:
    for part in text.split(","):
        first, _, last = part.partition("-")
        yield int(first, 0), int(last or first, 0)


def read_policy(text: str | bytes, file: str = "qos-policy.conf") -> QosPolicy:
    """The rules of a QoS policy file and everything that is wrong with it. Never raises for what the file holds."""
    reader = _Reader(file)
    content = text.encode("utf-8", "surrogateescape") if isinstance(text, str) else text
    levels = False
    for number, line in enumerate(decoded(content, reader.problem), 1):
        words = line.partition("#")[0].strip()
        levels = levels or words == "qos-levels"
        if words:
            reader.line(number, words)
    reader.end(levels)
    problems = sorted(reader.problem.found, key=lambda found: found.line)
    return QosPolicy(tuple(reader.rules), reader.pkeys, reader.ipoib, tuple(problems))
