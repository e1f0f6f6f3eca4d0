"""Reading partitions.conf strictly.

opensm never refuses this file: a syntax error makes every port a full member of the default partition, and a word that it does not
understand makes a member limited or goes away, with a line in the log only at VERBOSE. So all of that is a problem here.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Literal

from fabric.design.ib.model import Membership
from fabric.design.suggest import near
from fabric.errors import FabricError, FabricErrors
from fabric.targets.opensm.codes import MTU_CODES, RATE_CODES
from fabric.targets.opensm.problem import Collector, Problem, decoded, shown

LONGEST = 4093
"""Bytes of a line, the newline not counted: opensm reads 4,094 at a time, and a GUID that is cut is two unknown ones."""
DEFAULT_PKEY = 0x7FFF
KEYWORDS = ("ALL", "ALL_CAS", "ALL_SWITCHES", "ALL_ROUTERS", "SELF")
MEMBERSHIPS: tuple[Membership, ...] = ("full", "limited", "both")

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.-]*").fullmatch
_GUID = re.compile(r"0x[0-9a-fA-F]{1,16}").fullmatch
_NUMBER = re.compile(r"0x[0-9a-fA-F]+|[0-9]+").fullmatch
_NUMBERS: Mapping[str, range] = {
    "mtu": range(1, max(MTU_CODES.values()) + 1),
    "rate": range(min(RATE_CODES.values()), max(RATE_CODES.values()) + 1),
    "sl": range(16), "scope": range(1, 16), "Q_Key": range(1 << 32), "TClass": range(256), "FlowLabel": range(1 << 20),
}  # fmt: skip
_FLAGS = ("indx0", "ipoib", "defmember", *_NUMBERS)
_OF_GROUP = ("mtu", "rate", "scope", "Q_Key", "TClass", "FlowLabel")

Member = tuple[str, Membership, int]
"""A keyword or a GUID as written, its membership, its line."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One definition: `flags` by name (a flag without a value holds ""), `members` in the order of the file, `line` of its name."""

    name: str
    pkey: int
    flags: Mapping[str, str]
    members: tuple[Member, ...]
    line: int


def read_partitions(
    text: str | bytes, *, ports: Collection[int] = (), manager: int | None = None, file: str = "partitions.conf"
) -> dict[int, dict[int, Membership]]:
    """P_Key (15 bits) -> port GUID -> membership, as the file says it: a later word on a port wins, as in opensm.

    `ALL` and `ALL_CAS` stand for `ports`, `SELF` for `manager`; what is no HCA port is left out. The rule that opensm makes by itself
    when the file has none for 0x7fff is not added. Raises FabricError(s) for everything that opensm would take in another sense.
    """
    rules, problems = read_rules(text, file)
    if problems:
        errors = [FabricError(str(problem)) for problem in problems]
        raise errors[0] if len(errors) == 1 else FabricErrors(errors)
    found: dict[int, dict[int, Membership]] = {}
    for rule in rules:
        members: dict[int, Membership] = {}
        for who, membership, _ in rule.members:
            if who in ("ALL", "ALL_CAS"):
                members.update(dict.fromkeys(ports, membership))
            elif who == "SELF":
                members.update({manager: membership} if manager is not None else {})
            elif who not in KEYWORDS:
                members[int(who, 16)] = membership
        found[rule.pkey] = members
    return found


def read_rules(text: str | bytes, file: str = "partitions.conf") -> tuple[list[Rule], list[Problem]]:
    """The definitions of the file, and everything that is wrong with it. Never raises for what the file holds."""
    problem = Collector(file)
    content = text.encode("utf-8", "surrogateescape") if isinstance(text, str) else text
    rules: list[Rule] = []
    for line, statement in _statements(decoded(content, problem), problem):
        rule = _rule(line, statement, problem)
        if rule is not None:
            rules.append(rule)
    _whole(rules, problem)
    return rules, sorted(problem.found, key=lambda found: found.line)


Statement = list[tuple[int, str]]
"""The text of one definition, line by line, without comments."""


def _statements(lines: list[str], problem: Collector) -> list[tuple[int, Statement]]:
    """The definitions up to their `;`, each with the line that it starts on."""
    done: list[tuple[int, Statement]] = []
    current: Statement = []
    for number, line in enumerate(lines, 1):
        if len(line) > LONGEST:
            problem(number, f"a line of {len(line):,} bytes: opensm cuts it in two", "write a few GUIDs a line")
        rest = line.partition("#")[0]
        while ";" in rest:
            part, _, rest = rest.partition(";")
            if current and not part.strip():
                problem(
                    number, "a `;` at the start of a line is a syntax error to opensm", "put it behind the last member"
                )
            current.append((number, part))
            done.append((_start(current), current))
            current = []
        if rest.strip():
            current.append((number, rest))
    if current:
        problem(_start(current), "this definition has no `;` at its end", "every port would get the default partition")
    return done


def _start(statement: Statement) -> int:
    return next((number for number, text in statement if text.strip()), statement[-1][0])


def _rule(line: int, statement: Statement, problem: Collector) -> Rule | None:
    statement = [part for part in statement if part[1].strip()]
    if not statement:
        problem(line, "a `;` without a definition before it")
        return None
    head, colon, after = statement[0][1].partition(":")
    if not colon:
        hint = "every port would get the default partition"
        problem(line, "no `:` on the line of this definition's name", hint)
        return None
    return _read_rule(line, head, [(statement[0][0], after), *statement[1:]], problem)


def _read_rule(line: int, head: str, body: Statement, problem: Collector) -> Rule | None:
    words = [word.strip() for word in head.split(",")]
    name, _, pkey_text = (part.strip() for part in words[0].partition("="))
    if not _NAME(name):
        problem(
            line, f"{shown(name)} is no partition name", "a letter, then letters, digits, dots, dashes or underscores"
        )
    flags = _flags(line, words[1:], problem)
    pkey = _pkey(line, name, pkey_text, problem)
    members = _members(body, flags, problem)
    return None if pkey is None else Rule(name, pkey, flags, members, line)


def _pkey(line: int, name: str, text: str, problem: Collector) -> int | None:
    if not text:
        problem(line, f"partition {name} has no P_Key: opensm would make one up", "write name=0xPKEY")
        return None
    pkey = int(text, 0) if _NUMBER(text) and (text.startswith("0x") or text == str(int(text))) else -1
    if not 0 < pkey <= DEFAULT_PKEY:
        problem(
            line,
            f"partition {name}: {shown(text)} is no P_Key",
            f"0x1 to {DEFAULT_PKEY:#x}, without the membership bit",
        )
        return None
    return pkey


def _flags(line: int, words: list[str], problem: Collector) -> dict[str, str]:
    flags: dict[str, str] = {}
    for word in words:
        name, equals, value = (part.strip() for part in word.partition("="))
        if name not in _FLAGS:
            problem(line, f"unknown partition flag {shown(name)}: opensm would ignore or guess it", near(name, _FLAGS))
        elif name in flags:
            problem(line, f"{name} is given twice")
        elif wrong := _flag_problem(name, equals, value):
            problem(line, wrong)
        flags[name] = value
    _group(line, flags, problem)
    return flags


def _flag_problem(name: str, equals: str, value: str) -> str | None:
    if name in ("indx0", "ipoib"):
        return f"{name} takes no value" if equals else None
    if name == "defmember":
        return None if value in MEMBERSHIPS else f"defmember {shown(value)} counts as limited; full, limited or both"
    allowed = _NUMBERS[name]
    if not _NUMBER(value) or int(value, 16 if value.startswith("0x") else 10) not in allowed:
        return f"{name}={value[:20]} is out of range: {allowed[0]} to {allowed[-1]}"
    return None


def _group(line: int, flags: Mapping[str, str], problem: Collector) -> None:
    """An IPoIB group without a rate runs at 10 Gb/s; group flags without `ipoib` make no group."""
    if "ipoib" in flags:
        for name, default in (("mtu", "2,048 bytes"), ("rate", "10 Gb/s")):
            if name not in flags:
                problem(line, f"ipoib without {name}: the group would get {default}", f"always write {name}=")
        return
    for name in _OF_GROUP:
        if name in flags:
            problem(line, f"{name} without ipoib makes no group", "write ipoib before it")


def _members(body: Statement, flags: Mapping[str, str], problem: Collector) -> tuple[Member, ...]:
    found: list[Member] = []
    default: Membership | Literal[""] = next((known for known in MEMBERSHIPS if known == flags.get("defmember")), "")
    seen: dict[str, int] = {}
    in_group = False
    for line, text in body:
        for raw in text.split(","):
            word = raw.strip()
            if not word:
                continue
            who, equals, value = (part.strip() for part in word.partition("="))
            in_group = who == "mgid" or (in_group and not _GUID(who) and who not in KEYWORDS)
            if in_group:
                continue  # a multicast group and its flags: not a member
            member = _member(line, who, value if equals else default, problem)
            if member is None:
                continue
            key = who if who in KEYWORDS else hex(int(who, 16))
            if key in seen:
                problem(line, f"{who} is a member on line {seen[key]} already; the last one wins")
            seen[key] = line
            found.append(member)
    return tuple(found)


def _member(line: int, who: str, membership: str, problem: Collector) -> Member | None:
    if ":" in who or ":" in membership:
        problem(line, f"{shown(who)}: a second `:` in one definition", "did a `;` go missing?")
        return None
    if not _GUID(who) and who not in KEYWORDS:
        hint = "a port GUID with 0x, or one of " + ", ".join(KEYWORDS)
        problem(line, f"{shown(who)} is neither a port GUID nor a keyword (names match by prefix in opensm)", hint)
        return None
    if not membership:
        problem(line, f"{who} has no membership: opensm takes limited", f"write {who}=full or {who}=limited")
        return None
    for known in MEMBERSHIPS:
        if membership == known:
            return who, known, line
    problem(line, f"{who}={membership[:20]}: opensm would make it limited", "full, limited or both, in small letters")
    return None


def _whole(rules: list[Rule], problem: Collector) -> None:
    """What only the whole file shows: P_Keys that stand twice, the missing rule for the default partition."""
    seen: dict[int, Rule] = {}
    for rule in rules:
        if rule.pkey in seen:
            other = seen[rule.pkey]
            problem(
                rule.line, f"P_Key {rule.pkey:#x} of {rule.name} is that of {other.name} on line {other.line} already"
            )
        seen.setdefault(rule.pkey, rule)
    if DEFAULT_PKEY not in seen:
        hint = "write Default=0x7fff : ALL=limited, SELF=full ;"
        problem(0, "no rule for the default partition: opensm makes its own (ALL=limited, SELF=full)", hint)
