"""The network as the switches forward now, for predictions: ECMP sets over the devices' drivers, LFTs over the subnet."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from fabric.errors import FabricError
from fabric.words import counted, printable

if TYPE_CHECKING:
    from fabric.cli.live import Live
    from fabric.design.load import Cluster, SubnetCluster
    from fabric.predict.net import Net


def live_net(spec: Path, cluster: Cluster | SubnetCluster, state: Path | None = None) -> Net:
    """Reads the forwarding tables of all switches that are not planned. Changes nothing.

    FabricError when a switch cannot be read: a prediction from some of the tables would be one of another network.
    """
    from fabric.design.load import SubnetCluster

    return _subnet(cluster) if isinstance(cluster, SubnetCluster) else _ethernet(spec, cluster, state)


def _ethernet(spec: Path, cluster: Cluster, state: Path | None) -> Net:
    from fabric.cli.live import open_live
    from fabric.design.seats import Seating
    from fabric.predict.from_fibs import fib_net

    return fib_net(Seating(cluster), read_fibs(open_live(spec, state=state)))


def read_fibs(live: Live) -> dict[str, dict[str, list[str]]]:
    """The table of each switch: prefix -> equal-cost next hops."""
    from fabric.change.fan import fan_out
    from fabric.change.secrets import Secrets
    from fabric.cli.rendering import progress
    from fabric.predict.from_fibs import fib_of
    from fabric.targets.base import DeviceRef
    from fabric.verify.runner import DEADLINE_S

    by_name, connect = live.fabric.by_name, live.connect(Secrets({}))
    refs = [ref for ref in live.only if ref.name in by_name and by_name[ref.name].state != "planned"]

    def one(ref: DeviceRef) -> dict[str, list[str]]:
        device = connect(ref)
        try:
            return fib_of(device.routes())
        finally:
            device.close()

    found: dict[str, dict[str, list[str]]] = {}
    failed: dict[str, str] = {}
    told = progress("read")
    for done, (ref, answer) in enumerate(fan_out(one, refs, parallel=live.parallel, deadline_s=DEADLINE_S), start=1):
        if isinstance(answer, FabricError):
            failed[ref.name] = printable(answer.message)
        elif isinstance(answer, BaseException):
            raise answer
        else:
            found[ref.name] = answer
        if told is not None:
            told(done, len(refs))
    if failed:
        name = min(failed)
        raise FabricError(
            f"the forwarding tables of {counted(len(failed), 'switch', 'switches')} could not be read, e.g. {name}: {failed[name]}",
            hint="without --live the design's own tables are walked",
        )
    return found


def _subnet(cluster: SubnetCluster) -> Net:
    from fabric.forwarding.tables import routes
    from fabric.predict.from_lfts import lft_net
    from fabric.verify.ib.lids import lids_of
    from fabric.verify.ib.live import live_reads
    from fabric.verify.ib.live_wiring import live_wiring

    with live_reads(None) as reads:
        topology = reads.topology()
        lfts = reads.lfts(topology)
    if lfts.unread:
        raise FabricError(f"{counted(len(lfts.unread), 'block')} of forwarding tables could not be read; try again")
    return lft_net(routes(live_wiring(cluster.subnet, topology), lfts, lids_of(topology)))
