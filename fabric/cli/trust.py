"""`fabric trust`: the first contact. Shows the host keys of the devices, asks, and records them; nothing is logged in to.

`--json`, version `fabric.trust/1`: {schema, known_hosts, recorded, devices: [{device, host, kind, fingerprint, status, problem}]}.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from fabric.change.hostkeys import HostKey, read_known, record, survey
from fabric.cli.common import json_option, print_json, print_table, spec_argument
from fabric.cli.confirm import ask
from fabric.cli.live import KNOWN_HOSTS, approve_option, live_options, open_live
from fabric.words import counted


def fetch(host: str) -> tuple[str, str, str]:
    """The key that a host shows now; here, so that its library is imported only for this."""
    from fabric.targets.ssh import fetch_host_key

    return fetch_host_key(host)


@click.command("trust")
@spec_argument
@click.option("--device", "devices", multiple=True, metavar="GLOB", help="Only devices of this name; may be repeated.")
@click.option("--replace", is_flag=True, help="Also record keys that have changed. Make sure why they have.")
@live_options
@approve_option
@json_option
@click.pass_context
def trust(
    context: click.Context, /, *, spec: Path, replace: bool, auto_approve: bool, as_json: bool, **options: Any
) -> None:
    """Show the SSH host keys of the devices of SPEC and, after a typed yes, record them as the ones to expect.

    Compare the fingerprints with those on the devices' consoles. Exit codes: 0 all keys are known or recorded, 1 not.
    """
    live = open_live(spec, **options)
    hosts = {ref.name: live.site.address(ref.name) for ref in live.only}
    path = live.state / KNOWN_HOSTS
    found = survey(
        hosts, read_known(path), fetch, parallel=options["max_parallel"], deadline_s=options["timeout_s"] + 10
    )
    wanted = [key for key in found if key.status == "new" or (replace and key.status == "CHANGED")]
    if not as_json:
        _show(found)
    recorded = bool(wanted) and (auto_approve or ask(f"Trust {counted(len(wanted), 'host key')}?"))
    if recorded:
        record(path, wanted)
    _tell(found, wanted if recorded else [], path, as_json=as_json)
    good = {key.device for key in found if key.status == "known"} | {key.device for key in wanted if recorded}
    context.exit(0 if len(good) == len(found) else 1)


def _show(found: list[HostKey]) -> None:
    rows = [(key.device, key.host, key.status, key.kind, key.fingerprint or key.problem) for key in found]
    print_table(("device", "address", "status", "type", "fingerprint"), rows)


def _tell(found: list[HostKey], recorded: list[HostKey], path: Path, *, as_json: bool) -> None:
    if as_json:
        names = ("device", "host", "kind", "fingerprint", "status", "problem")
        rows = [{name: getattr(key, name) for name in names} for key in found]
        print_json("fabric.trust/1", {"known_hosts": str(path), "recorded": len(recorded), "devices": rows})
        return
    changed = [key.device for key in found if key.status == "CHANGED" and key not in recorded]
    if changed:
        click.secho(
            f"the host key has CHANGED at {', '.join(changed)}: a new device, or somebody in between; --replace records it",
            fg="red",
            err=True,
        )
    if recorded:
        click.echo(f"recorded {counted(len(recorded), 'key')} in {path}")
