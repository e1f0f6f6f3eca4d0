"""Figures of changes on live devices, from a lab that this boots and takes down again. It needs root; it never fails by time.

    python -m tests.scale.bench_live [--large | --chassis-only]

The lab is that of 10 switches; with --large one of 64 (8 zones of 5 racks, 16 CTSWs, 8 ATSWs: see `large`).

The client's CPU is user + system of the fabric process and its children; the switches of the lab run on the same machine, so that wall
times also hold their work: `others` says how many cores everything else used.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import yaml

from fabric.design.ip import fmt4
from fabric.design.load import design_loaded
from fabric.spec.cluster import ClusterSpec
from fabric.spec.loader import load_model
from fabric.targets import render_devices
from fabric.targets.base import Artifact, DeviceRef
from fabric.targets.device import Login
from fabric.targets.open import open_device
from tests.scale.bench_cluster import FABRIC, ROOT
from tests.scale.bench_run import CommandFailedError, Figures, run
from tests.scale.bench_table import machine

LAB = ROOT / "inventories" / "lab" / "cluster.yaml"
LARGE = ROOT / "inventories" / "roce-24k" / "cluster.yaml"
HASH = b"$6$bench$0123456789abcdef"
HEADS = ("what", "devices", "wall s", "client CPU s", "CPU s a device", "others")
_AT_MOST_S = 3600.0


def row(what: str, devices: int, figures: Figures) -> tuple[str, ...]:
    """A row of the table."""
    cpu, wall = f"{figures.cpu:.2f}", f"{figures.wall:.2f}"
    return (what, str(devices), wall, cpu, f"{figures.cpu / devices:.2f}", f"{figures.others:.1f}")


def large(text: str) -> str:
    """The lab's spec with 64 switches and 80 hosts in place of its 10 and 8: 40 RTSWs, half of them FBOSS, 16 CTSWs, 8 ATSWs."""
    spec = yaml.safe_load(text)
    backend, addressing = spec["backend"], spec["addressing"]
    profiles = ("eos-rack", "fboss-rack")
    backend["zones"] = [{"id": zone, "racks": 5, "rack_profile": profiles[zone % 2]} for zone in range(1, 9)]
    backend["growth"] |= {"zones": 8, "atsws": 8}
    backend["ctsw"]["uplinks"] = 4
    backend["atsw"] |= {"count": 4, "planes": 2}
    addressing["ipv4"] = {"host_links": "10.128.0.0/21", "rtsw_links": "10.64.0.0/23", "ctsw_links": "10.32.0.0/24"}
    addressing["ipv6"]["host_links"] = "2001:db8:8000::/54"
    return yaml.safe_dump(spec, sort_keys=False)


def fleet_rows(spec: Path) -> Iterator[tuple[str, ...]]:
    """Plan and apply over all switches of the lab, as at the operator's seat."""
    edited = spec.with_name("edited.yaml")
    edited.write_text(
        spec.read_text().replace("10.0.0.40", "10.0.0.41")
    )  # the sFlow collector: one line of every device
    count = len(design_loaded(load_model(spec, ClusterSpec)).fabric.switches)
    yield row("plan, nothing to do", count, run([FABRIC, "plan", str(spec), "--summary"])[0])
    yield row("plan, all change", count, run([FABRIC, "plan", str(edited), "--summary"], exit_code=2)[0])
    command = [FABRIC, "apply", str(edited), "--auto-approve", "--summary"]
    figures, said = run(command)
    waves = next(line for line in said.splitlines() if line.startswith("waves: "))
    yield row(f"apply, {waves}", count, figures)


def chassis() -> Artifact:
    """The configuration of a CTSW of the large cluster."""
    job = render_devices(load_model(LARGE, ClusterSpec), None)
    return job.render(next(ref.name for ref in job.devices if ref.role == "ctsw"))[0]


def chassis_rows(spec: Path) -> Iterator[tuple[str, ...]]:
    """The same configuration into a session of one switch, never committed: by a file, and line by line."""
    fabric = design_loaded(load_model(spec, ClusterSpec)).fabric
    switch = next(s for s in fabric.switches if s.role == "ctsw" and s.zone == 2)
    login = Login(
        fmt4(switch.management), os.environ["FABRIC_USER"], key_file=os.environ["FABRIC_KEY_FILE"],
        known_hosts=os.environ["FABRIC_STATE"] + "/known_hosts", timeout_s=600,
    )  # fmt: skip
    artifact = chassis()
    content = artifact.content.replace(b"$SECRET{netops-hash}", HASH)
    lines = [line for line in content.decode().splitlines() if line.strip() not in ("", "!", "end")]
    yield row(f"{len(lines):,} lines by file", 1, measured(lambda: by_file(switch.name, login, content, artifact)))
    yield row(f"{len(lines):,} lines one by one", 1, measured(lambda: line_by_line(login, lines)))


def by_file(name: str, login: Login, content: bytes, artifact: Artifact) -> None:
    """As the driver does it: copied, loaded, the device's own diff read; then discarded."""
    device = open_device(DeviceRef(name, "ctsw", "eos"), "any", login, bytes)
    try:
        staged = device.stage([Artifact(name, "ctsw", "eos", artifact.path, content)], "bench")
        if not staged.diff:
            raise CommandFailedError("the switch sees no difference")
        device.discard(staged)
    finally:
        device.close()


def line_by_line(login: Login, lines: list[str]) -> None:
    """As netmiko's send_config_set does it, without waiting for each echo (cmd_verify False); then aborted."""
    from netmiko import ConnectHandler

    connection = ConnectHandler(
        device_type="arista_eos", host=login.host, username=login.username, use_keys=True, key_file=login.key_file,
        ssh_strict=True, alt_host_keys=True, alt_key_file=login.known_hosts or "", fast_cli=True,
    )  # fmt: skip
    with connection:
        connection.config_mode(config_command="configure session bench", pattern=r"\(config-s")
        connection.send_config_set(["rollback clean-config"], enter_config_mode=False, exit_config_mode=False)
        said = connection.send_config_set(
            lines, enter_config_mode=False, exit_config_mode=False, cmd_verify=False, read_timeout=_AT_MOST_S
        )
        refused = [line for line in said.splitlines() if line.startswith("% ")]
        connection.write_channel("end\nconfigure session bench abort\n")
        connection.read_until_pattern(r"abort[\s\S]*#")
    if refused:
        raise CommandFailedError(f"the switch refused {len(refused)} lines: {refused[0]}")


def measured(work: Callable[[], None]) -> Figures:
    """What `work` takes in this process."""
    busy, cpu, start = _busy(), time.process_time(), time.monotonic()
    work()
    cpu, wall = time.process_time() - cpu, time.monotonic() - start
    return Figures(wall, cpu, 0, 0, max(0.0, (_busy() - busy - cpu) / wall))


def _busy() -> float:
    fields = Path("/proc/stat").read_text(encoding="ascii").split("\n", 1)[0].split()[1:]
    return sum(int(fields[place]) for place in (0, 1, 2, 5, 6)) / os.sysconf("SC_CLK_TCK")


def at_the_seat(spec: Path, *, fleet: bool, single: bool) -> int:
    """Measures in the lab; prints the table."""
    print("load before: " + " ".join(f"{load:.1f}" for load in os.getloadavg()) + f"; {machine()}\n")
    print("| " + " | ".join(HEADS) + " |\n|" + "---|" * len(HEADS), flush=True)
    try:
        for part in (fleet_rows(spec),) * fleet + (chassis_rows(spec),) * single:
            for cells in part:
                print("| " + " | ".join(cells) + " |", flush=True)
    except CommandFailedError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


def main() -> int:
    """Boots the lab, measures at its seat, takes it down; the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.scale.bench_live", description=__doc__.partition("\n")[0])
    parser.add_argument("--chassis-only", action="store_true", help="only one switch: by file against line by line")
    parser.add_argument("--large", action="store_true", help="64 switches; not the chassis")
    parser.add_argument("--seat", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.seat is not None:
        return at_the_seat(options.seat, fleet=not options.chassis_only, single=not options.large)
    with tempfile.TemporaryDirectory(prefix="fabric-bench-") as folder:
        spec = Path(folder) / "cluster.yaml"
        text = LAB.read_text(encoding="utf-8")
        spec.write_text(large(text) if options.large else text, encoding="utf-8")
        subset = ["--subset", "z02-rtsw001", "--subset", "z02-ctsw01"] if options.chassis_only else []
        up = [FABRIC, "lab", "up", str(spec), "--timeout", "600", *subset]
        seat = [sys.executable, "-m", "tests.scale.bench_live", "--seat", str(spec)]
        try:
            if subprocess.run(up, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode:
                print(f"error: {' '.join(up)} failed: run it to see why", file=sys.stderr)
                return 1
            seat += ["--large"] * options.large + ["--chassis-only"] * options.chassis_only
            return subprocess.run([FABRIC, "lab", "exec", str(spec), "--", *seat], cwd=ROOT, check=False).returncode
        finally:
            subprocess.run([FABRIC, "lab", "down", str(spec)], stdout=subprocess.DEVNULL, check=False)


if __name__ == "__main__":
    sys.exit(main())
