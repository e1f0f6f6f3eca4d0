"""What systemd, apt and the shell themselves say of the files of a host."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from configparser import ConfigParser
from pathlib import Path

import pytest

from fabric.design.hosts.model import Mount
from fabric.targets.host import render
from fabric.targets.host.storage import kernel_options, word
from tests.targets.host.host_fleets import CASES, fleet

SYSTEM = Path("/usr/lib/systemd/system")
GENERATOR = Path("/usr/lib/systemd/system-generators/systemd-fstab-generator")
needs_systemd = pytest.mark.skipif(
    shutil.which("systemd-analyze") is None or not GENERATOR.exists(), reason="systemd is not installed"
)
VENDOR = (
    "nvidia-fabricmanager",
    "nvidia-persistenced",
    "nvidia-dcgm",
    "openibd",
    "slurmd",
)  # units that we add drop-ins to
PROGRAMS = (
    "bin/fusermount3",
    "bin/mkdir",
    "bin/true",
    "usr/bin/bindfs",
    "usr/bin/nvidia-smi",
    "opt/tectonic/bin/mount",
)


def root_of(case: str, top: Path) -> Path:
    """The root of a host: its files, systemd's own units, and what packages bring."""
    hosts = fleet(case)
    for file in render(hosts, hosts.hosts[0]):
        path = top / file.path[1:]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(file.content)
        path.chmod(file.mode)
    shutil.copytree(SYSTEM, top / SYSTEM.relative_to("/"), symlinks=True, dirs_exist_ok=True)
    for name in PROGRAMS:
        path = top / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("#!/bin/sh\n")
        path.chmod(0o755)
    for name in VENDOR:
        (top / SYSTEM.relative_to("/") / f"{name}.service").write_text("[Service]\nExecStart=/bin/true\n")
    return top


def verify(top: Path) -> str:
    """What systemd-analyze says of our units and of those with our drop-ins; nothing is right."""
    ours = [path.name.replace("@.", "@beth0.") for path in (top / "etc/systemd/system").iterdir() if path.is_file()]
    dropped = [path.name.removesuffix(".d") for path in (top / "etc/systemd/system").glob("*.d")]
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", "--generators=no", f"--root={top}", *sorted(ours + dropped)],
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    return done.stderr + done.stdout + ("" if done.returncode == 0 else f"return code {done.returncode}")


@pytest.mark.lab
@needs_systemd
@pytest.mark.parametrize("case", CASES)
def test_units(case: str, tmp_path: Path) -> None:
    assert verify(root_of(case, tmp_path)) == ""


@pytest.mark.lab
@needs_systemd
@pytest.mark.parametrize(
    ("unit", "old", "new", "said"),
    [
        ("fabric-pcie.service", "RemainAfterExit", "RemainAfterEnd", "'RemainAfterEnd' in section"),
        ("fabric-pcie.service", "libexec/fabric/pcie", "libexec/fabric/pci", "is not executable"),
        ("nvidia-dcgm.service.d/fabric.conf", "[Unit]", "[Units]", "Unknown section 'Units'"),
        ("mnt-home.mount", "Where=/mnt/home", "Where=/mnt/hom", "doesn't match unit name"),
    ],
)
def test_the_judge_judges(unit: str, old: str, new: str, said: str, tmp_path: Path) -> None:
    top = root_of("debian-12-roce", tmp_path)
    path = top / "etc/systemd/system" / unit
    path.write_text(path.read_text().replace(old, new))
    assert said in verify(top)


def sections(text: str) -> dict[str, dict[str, str]]:
    """A unit's sections; a key that comes twice is joined."""
    parser = ConfigParser(strict=False, interpolation=None, delimiters=("=",), comment_prefixes=("#",))
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read_string(text)
    return {name: dict(parser[name]) for name in parser.sections()}


def generated(mounts: Mapping[str, Mount], top: Path) -> Iterator[tuple[Mount, dict[str, dict[str, str]], bool]]:
    """What systemd's own generator makes of the same mounts as lines of /etc/fstab; whether there is an automount unit."""
    fstab = top / "fstab"
    fstab.write_text("".join(f"{m.source} {m.path} nfs4 {','.join(m.options)} 0 0\n" for m in mounts.values()))
    folders = [top / name for name in ("normal", "early", "late")]
    for folder in folders:
        folder.mkdir()
    done = subprocess.run(
        [GENERATOR, *folders],
        env={**os.environ, "SYSTEMD_FSTAB": str(fstab)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""
    for unit, mount in mounts.items():
        text = (folders[0] / f"{unit}.mount").read_text()
        yield mount, sections(text), (folders[0] / f"{unit}.automount").exists()


@pytest.mark.lab
@needs_systemd
@pytest.mark.parametrize("case", ["debian-12-roce", "rhel-9-infiniband"])
def test_mounts_mean_what_fstab_means(case: str, tmp_path: Path) -> None:
    hosts = fleet(case)
    files = {file.path: file.content for file in render(hosts, hosts.hosts[1])}
    mounts = {mount.unit: mount for mount in hosts.mounts if mount.kind == "pnfs"}
    assert mounts
    for mount, theirs, automount in generated(mounts, tmp_path):
        ours = sections(files[f"/etc/systemd/system/{mount.unit}.mount"].decode())
        assert (f"/etc/systemd/system/{mount.unit}.automount" in files) == automount
        for key in ("Where", "Type"):
            assert ours["Mount"][key] == theirs["Mount"][key]
        options = [
            o for o in theirs["Mount"]["Options"].split(",") if not o.startswith(("_netdev", "nofail", "x-systemd."))
        ]
        assert ours["Mount"]["Options"].split(",") == options == list(kernel_options(mount))
        assert set(theirs["Unit"]["After"].split()) <= set(ours["Unit"]["After"].split())
        assert theirs["Unit"]["Requires"] == ours["Unit"]["Requires"]
        assert (ours["Mount"]["TimeoutSec"], theirs["Mount"]["TimeoutSec"]) == ("90s", "1min 30s")


@pytest.mark.lab
@pytest.mark.skipif(shutil.which("apt-cache") is None, reason="apt is not installed")
@pytest.mark.parametrize("case", ["debian-12-roce", "ubuntu-22.04-roce", "ubuntu-24.04-infiniband"])
def test_apt_takes_its_files(case: str, tmp_path: Path) -> None:
    top = root_of(case, tmp_path)
    parts = {"sourceparts": "sources.list.d", "preferencesparts": "preferences.d", "parts": "apt.conf.d"}
    options = [f"-oDir::Etc::{key}={top}/etc/apt/{folder}" for key, folder in parts.items()]
    options += [f"-oDir::State::lists={top}", f"-oDir::Cache={top}", "-oDir::Etc::sourcelist=/dev/null"]
    done = subprocess.run(["apt-cache", *options, "policy"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    conf = subprocess.run(
        ["apt-config", "dump"], env={**os.environ, "APT_CONFIG": f"{top}/etc/apt/apt.conf.d/52fabric"},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert 'Unattended-Upgrade::Package-Blacklist:: "nvidia-";' in conf.stdout


@pytest.mark.parametrize("case", CASES)
def test_scripts_are_shell(case: str) -> None:
    hosts = fleet(case)
    scripts = [f for f in render(hosts, hosts.hosts[0]) if f.content.startswith(b"#!/bin/sh")]
    assert {f.path.rpartition("/")[2] for f in scripts} >= {"pcie", "same-version", "tuning"}
    for script in scripts:
        done = subprocess.run(["sh", "-n"], input=script.content, capture_output=True, check=False)
        assert (done.returncode, done.stderr) == (0, b""), script.path


def run(case: str, name: str, tools: Mapping[str, str], top: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs a script of a host with these tools (name -> shell text) in front of all others."""
    hosts = fleet(case)
    script = next(f for f in render(hosts, hosts.hosts[0]) if f.path.endswith(f"/libexec/fabric/{name}"))
    for tool, text in tools.items():
        path = top / tool
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)
    return subprocess.run(
        ["sh", "-s", *arguments], input=script.content.decode(), env={**os.environ, "PATH": f"{top}:{os.environ['PATH']}"},
        capture_output=True, text=True, check=False, timeout=30,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("driver", "manager", "code"),
    [
        ("580.126.16", "580.126.16-1", 0),
        ("580.126.16", "580.126.16", 0),
        ("580.126.16", "1:580.126.16-0ubuntu1", 0),
        ("580.126.16", "580.126.1-1", 1),
        ("530.41.03", "530.30.02-1", 1),
    ],
)
def test_fabric_manager_of_another_version(driver: str, manager: str, code: int, tmp_path: Path) -> None:
    tools = {"nvidia-smi": f"echo {driver}", "dpkg-query": f"printf %s {manager}"}
    done = run("ubuntu-24.04-roce", "same-version", tools, tmp_path)
    assert done.returncode == code
    said = f"the fabric manager is {manager}, the driver in the kernel is {driver}: both must be equal; reboot after an upgrade\n"
    assert done.stderr == (said if code else "")


def test_without_a_driver_the_fabric_manager_says_it_itself(tmp_path: Path) -> None:
    assert run("ubuntu-24.04-roce", "same-version", {"nvidia-smi": "exit 9"}, tmp_path).returncode == 0


def test_pcie(tmp_path: Path) -> None:
    """Two bridges have the services, one cannot be changed; a NIC has none."""
    setpci = (
        f'case "$*" in *=*) echo "$2 $3" >>{tmp_path}/log; case "$2 $3" in *00:01.0*=0000) echo 0000 >{tmp_path}/one;; esac;;\n'
        f'*00:01.0*) cat {tmp_path}/one 2>/dev/null || echo 001d;; *00:02.0*) echo 001f;; *) echo "lacks the capability" >&2; exit 1;; esac'
    )
    lspci = 'printf "%s x\\n" 0000:00:01.0 0000:00:02.0 0000:1b:00.0'
    done = run("ubuntu-24.04-roce", "pcie", {"setpci": setpci, "lspci": lspci}, tmp_path)
    assert (done.returncode, done.stderr) == (1, "pcie: 0000:00:02.0 keeps its access control services\n")
    log = (tmp_path / "log").read_text().splitlines()
    assert log[:2] == ["0000:00:01.0 ECAP_ACS+0x6.w=0000", "0000:00:02.0 ECAP_ACS+0x6.w=0000"]
    assert log[2] == "0000:1b:00.0 CAP_EXP+08.w=5000:F000"
    assert len(log) == 10
    again = run("ubuntu-24.04-roce", "pcie", {"lspci": 'echo "0000:00:01.0 x"'}, tmp_path)
    assert (again.returncode, again.stderr) == (0, "")


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["/proc", "5"], 0, ""),
        (["/proc", "5", "1"], 0, ""),
        (["{top}", "5"], 1, "nothing is mounted on {top} after 5 s"),
        (["{top}", "600", "{ended}"], 1, "the client of {top} has ended"),
        (["{top}/none", "2"], 1, "nothing is mounted on {top}/none after 2 s"),
    ],
)
def test_wait_mount(arguments: list[str], code: int, said: str, tmp_path: Path) -> None:
    ended = subprocess.Popen(["true"])
    ended.wait()
    words = [word.format(top=tmp_path, ended=ended.pid) for word in arguments]
    done = run("debian-12-roce", "wait-mount", {"sleep": ":"}, tmp_path, *words)
    assert (done.returncode, done.stderr) == (code, f"wait-mount: {said.format(top=tmp_path)}\n" if said else "")


@pytest.mark.parametrize("case", [case for case in CASES if case != "debian-12-infiniband"])
def test_slurmd_waits_for_mounts_but_does_not_restart_with_them(case: str) -> None:
    hosts = fleet(case)
    files = {file.path: file.content for file in render(hosts, hosts.hosts[0])}
    lines = files["/etc/systemd/system/slurmd.service.d/fabric.conf"].decode().splitlines()
    needed = [mount for mount in hosts.mounts if mount.before_slurmd]
    assert needed
    for mount in needed:
        unit = f"fabric-fuse-{mount.unit}.service" if mount.kind == "fuse" else f"{mount.unit}.mount"
        for key in ("After=", "Wants="):
            assert any(line.startswith(key) and unit in line.split() for line in lines)
        assert f"ExecStartPre=/usr/libexec/fabric/wait-mount {word(mount.path)} 5" in lines
    assert not {line.partition("=")[0] for line in lines} & {"Requires", "RequiresMountsFor", "BindsTo", "PartOf"}
