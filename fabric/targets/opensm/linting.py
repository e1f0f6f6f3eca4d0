"""Would opensm take these files as they are meant? Each reader's problems, then what only the files together show.

`render` asks this of its own files, so that a fault of ours never reaches a subnet; `apply` and `validate` ask it of what a host holds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from fabric.design.ib.model import Flavour
from fabric.targets.opensm.codes import NEWEST_RATE
from fabric.targets.opensm.conf import Conf, read_conf
from fabric.targets.opensm.keys import file_keys
from fabric.targets.opensm.lint_lists import Known, check_lists
from fabric.targets.opensm.lint_settings import check_settings
from fabric.targets.opensm.partitions import KEYWORDS, Rule, read_rules
from fabric.targets.opensm.paths import CONF, FOLDER
from fabric.targets.opensm.problem import Problem
from fabric.targets.opensm.qos_policy import read_policy

__all__ = ["Known", "lint"]

_IPOIB_MEMBERS = 2
_MANY = 1 << 16


def lint(
    files: Mapping[str, bytes], flavour: Flavour = "opensm", known: Known | None = None, *, conf: str = CONF
) -> list[Problem]:
    """Every problem of a set of files by path; `conf` is the path of opensm.conf among them. With `known`, GUIDs are checked too.

    Never raises for what the files hold.
    """
    if conf not in files:
        return [Problem(_short(conf), 0, "there is no such file")]
    settings = read_conf(files[conf], flavour, _short(conf))
    found = [
        *settings.problems,
        *check_settings(
            settings, _short(conf), tiers=known.tiers if known else 0, fallback=known is not None and known.fallback
        ),
        *_missing(settings, files, _short(conf)),
    ]
    rules: list[Rule] = []
    path = settings.path("partition_config_file")
    if path in files:
        rules, problems = read_rules(files[path], _short(path))
        found += problems
        found += _partitions(rules, settings, known, _short(path))
    found += _policy(files, settings, rules)
    found += check_lists(files, settings, known)
    return found


def _short(path: str) -> str:
    return path.removeprefix(f"{FOLDER}/")


def _missing(conf: Conf, files: Mapping[str, bytes], file: str) -> Iterator[Problem]:
    """Files that are named and are not there. Only named ones: opensm goes on without its default files."""
    for name in sorted(file_keys(conf.flavour) & conf.values.keys()):
        path = conf.values[name]
        if path and path not in files:
            yield Problem(file, conf.lines[name], f"{name} names {path}, which is not among the files")
    if "partition_config_file" not in conf.values and conf.path("partition_config_file") not in files:
        yield Problem(
            file, 0, "there is no partitions.conf: every port would be a full member of the default partition"
        )


def _partitions(rules: list[Rule], conf: Conf, known: Known | None, file: str) -> Iterator[Problem]:
    for rule in rules:
        if "sl" in rule.flags and not conf.true("qos"):
            yield Problem(file, rule.line, f"{rule.name}: sl is ignored unless qos is TRUE", "set qos TRUE")
        rate = rule.flags.get("rate", "")
        if rate.isdigit() and int(rate) > NEWEST_RATE and conf.flavour == "opensm":
            yield Problem(file, rule.line, f"{rule.name}: rate {rate} needs opensm 3.3.24", f"at most {NEWEST_RATE}")
        for who, membership, line in rule.members:
            if membership == "both" and not conf.true("allow_both_pkeys"):
                hint = "set allow_both_pkeys TRUE"
                yield Problem(file, line, f"{rule.name}: {who}=both counts as full", hint)
            if known is not None and who not in KEYWORDS and int(who, 16) not in known.ports:
                yield Problem(
                    file, line, f"{rule.name}: {who} is {known.what(int(who, 16))}, not a port GUID of an HCA"
                )


def _policy(files: Mapping[str, bytes], conf: Conf, rules: list[Rule]) -> Iterator[Problem]:
    path = conf.path("qos_policy_file")
    if path not in files:
        return
    file = _short(path)
    policy = read_policy(files[path], file)
    yield from policy.problems
    if not conf.true("qos"):
        yield Problem(file, 0, "nothing of it works unless opensm.conf says qos TRUE")
    partitions = {rule.pkey for rule in rules}
    for pkey, line in policy.pkeys.items():
        if pkey not in partitions:
            yield Problem(file, line, f"P_Key {pkey:#06x} is of no partition (opensm: ERR AC14)")
    for pkey, line in policy.ipoib.items():
        full = next((_full(rule, conf.number("guid")) for rule in rules if rule.pkey == pkey), None)
        if full is not None and full < _IPOIB_MEMBERS:
            message = f"a rule for IPoIB in P_Key {pkey:#06x}, which has fewer than two full members"
            yield Problem(file, line, f"{message}: opensm throws the whole policy away (ERR AC05)")


def _full(rule: Rule, manager: int | None) -> int:
    """Full members of a partition; a large number where all ports are."""
    full = {who for who, membership, _ in rule.members if membership in ("full", "both")}
    if full & {"ALL", "ALL_CAS"}:
        return _MANY
    guids = {int(who, 16) for who in full if who not in KEYWORDS}
    return len(guids | ({manager or 0} if "SELF" in full else set()))
