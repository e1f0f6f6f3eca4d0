"""The subnet managers: master and standbys as declared."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from fabric.design.ib.model import Subnet, SubnetManager
from fabric.targets.opensm.mad_model import SmInfo
from fabric.verify.finding import Finding
from fabric.verify.ib.names import Matched, match
from fabric.verify.ib.reads import Observed, Unread


def judge_managers(subnet: Subnet, seen: Observed) -> list[Finding]:
    """Who is master, who is standby, with which priority, and who should not be there."""
    hosts = tuple(manager.host for manager in subnet.managers)
    if isinstance(seen.sms, Unread):
        return [Finding("sm.master", "subnet", "unknown", seen.sms.why, _master(subnet), "", (), hosts)]
    guids = port_guids(subnet, seen)
    found = {guids[sm.guid]: sm for sm in seen.sms if sm.guid in guids}
    unseen = _unseen(subnet, seen)
    return [
        *_masters(subnet, seen.sms, found, guids, unseen),
        *_standbys(subnet, found, unseen),
        *_priorities(subnet, found),
        *(_unexpected(sm, seen) for sm in seen.sms if sm.guid not in guids),
    ]


def _unseen(subnet: Subnet, seen: Observed) -> frozenset[str]:
    """SM hosts whose HCA is not there, so that nothing can be asked of their SM."""
    if isinstance(seen.topology, Unread):
        return frozenset()
    there = match(subnet, seen.topology).guid
    return frozenset(manager.host for manager in subnet.managers if manager.hca.name not in there)


def port_guids(subnet: Subnet, seen: Observed) -> dict[int, str]:
    """Port GUID of each declared SM, as it really is -> its host."""
    found = {manager.hca.port_guid: manager.host for manager in subnet.managers}
    if isinstance(seen.topology, Unread):
        return found
    matched: Matched = match(subnet, seen.topology)
    for manager in subnet.managers:
        guid = matched.guid.get(manager.hca.name)
        real = None if guid is None else seen.topology.port_guid.get((guid, 1))
        if real is not None:
            found[real] = manager.host
    return found


def master_host(subnet: Subnet, seen: Observed) -> str | None:
    """The declared host whose SM is master now; None when there is none, or it is not known."""
    if isinstance(seen.sms, Unread):
        return None
    guids = port_guids(subnet, seen)
    return next((guids[sm.guid] for sm in seen.sms if sm.state == "master" and sm.guid in guids), None)


def _master(subnet: Subnet) -> str:
    first = subnet.managers[0]
    return f"{first.host} is master, priority {first.priority}"


def _masters(
    subnet: Subnet, sms: Sequence[SmInfo], found: Mapping[str, SmInfo], guids: Mapping[int, str], unseen: frozenset[str]
) -> Iterator[Finding]:
    first = subnet.managers[0]
    masters = [sm for sm in sms if sm.state == "master"]
    names = [_called(sm, guids) for sm in masters]
    mine = found.get(first.host)
    if len(masters) == 1 and mine is masters[0]:
        yield Finding("sm.master", first.host, "pass", "is master", _master(subnet), "", (), (first.host,))
        return
    state = (
        "is not seen in the subnet"
        if first.host in unseen
        else "has no SM that answers"
        if mine is None
        else f"is {mine.state}"
    )
    if not masters and first.host in unseen:
        text = f"no master is seen; {first.hca.name} {state}"
        yield Finding(
            "sm.master",
            first.host,
            "unknown",
            text,
            _master(subnet),
            "see `fabric validate cabling`",
            (),
            (first.host,),
        )
        return
    if not masters:
        who, do = f"nobody is master; {first.host} {state}", f"start opensm on {first.host}, and read its log"
    elif len(masters) > 1:
        who, do = (
            f"{len(masters)} are master: {', '.join(names)}",
            "two subnets that cannot hear each other, or a wrong sm_key",
        )
    else:
        who = f"{names[0]} is master; {first.host} {state}"
        do = (
            f"start opensm on {first.host}, and read its log"
            if mine is None
            else "compare the priorities of both, and their sm_key"
        )
    yield Finding("sm.master", first.host, "fail", who, _master(subnet), do, (), (first.host,))


def _standbys(subnet: Subnet, found: Mapping[str, SmInfo], unseen: frozenset[str]) -> Iterator[Finding]:
    for manager in subnet.managers[1:]:
        sm = found.get(manager.host)
        expected = f"it is standby, priority {manager.priority}"
        if sm is not None and sm.state == "standby":
            yield Finding("sm.standby", manager.host, "pass", "is standby", expected, "", (), (manager.host,))
        elif manager.host in unseen:
            text = f"{manager.hca.name} is not seen in the subnet"
            yield Finding(
                "sm.standby",
                manager.host,
                "unknown",
                text,
                expected,
                "see `fabric validate cabling`",
                (),
                (manager.host,),
            )
        elif sm is None or sm.state != "master":  # a standby that is master is told with the master
            text = "has no SM that answers" if sm is None else f"is {sm.state}"
            action = f"start opensm on {manager.host}, and read its log"
            yield Finding("sm.standby", manager.host, "fail", text, expected, action, (), (manager.host,))


def _priorities(subnet: Subnet, found: Mapping[str, SmInfo]) -> Iterator[Finding]:
    for manager in subnet.managers:
        sm = found.get(manager.host)
        if sm is not None:
            right = sm.priority == manager.priority
            yield Finding(
                "sm.priority", manager.host, "pass" if right else "fail", f"priority {sm.priority}",
                f"priority {manager.priority}", "" if right else f"see `fabric plan` for opensm.conf of {manager.host}", (),
                (manager.host,),
            )  # fmt: skip


def _unexpected(sm: SmInfo, seen: Observed) -> Finding:
    where = f"port 0x{sm.guid:016x}"
    if not isinstance(seen.topology, Unread):
        end = next((end for end, guid in seen.topology.port_guid.items() if guid == sm.guid), None)
        node = seen.topology.nodes.get(sm.guid if end is None else end[0])
        if node is not None:
            where += f" ({node.description})"
    return Finding(
        "sm.unexpected", where, "fail", f"an SM, {sm.state}, priority {sm.priority}", "no SM is declared here",
        "stop it, or declare it",
    )  # fmt: skip


def _called(sm: SmInfo, guids: Mapping[int, str]) -> str:
    return guids.get(sm.guid, f"port 0x{sm.guid:016x}")


def manager_of(subnet: Subnet, host: str) -> SubnetManager:
    """The declared SM of a host; KeyError when there is none."""
    return {manager.host: manager for manager in subnet.managers}[host]
