"""The image that machines boot: a small Debian made by debootstrap, kept in a cache, and made anew when its recipe changes.

It is what an installed but unprovisioned host is: systemd, networkd, SSH, Python for Ansible, and the packages of Debian that the
roles ask for, since no lab reaches a Debian mirror. Nothing in it is from a vendor.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from fabric.errors import FabricError
from fabric.lab.proc import run

SUITE = "bookworm"
"""Debian 12: what `hosts.os: debian-12` stands for."""

PROGRAMS = {"debootstrap": "debootstrap", "systemd-nspawn": "systemd-container"}
"""What building and booting need -> the Debian package that has it."""

PACKAGES = (
    "systemd", "systemd-sysv", "udev", "dbus", "openssh-server", "sudo", "python3", "python3-apt", "iproute2", "iputils-ping",
    "procps", "kmod", "fuse3", "bindfs", "ethtool", "pciutils", "ca-certificates", "chrony", "nfs-common", "unattended-upgrades",
)  # fmt: skip
"""Packages of Debian in the image, without what they recommend."""

USER = "netops"
"""The account beside root; it may use sudo without a password."""

# What belongs to every host is left out, so that two of them differ; what a container cannot have, or would wake it up, is off.
_FINISH = f"""
useradd --create-home --shell /bin/bash {USER}
echo '{USER} ALL=(ALL) NOPASSWD: ALL' >/etc/sudoers.d/{USER}
rm -f /etc/ssh/ssh_host_* /etc/machine-id /etc/resolv.conf /etc/apt/sources.list
systemctl enable systemd-networkd.service ssh.service
systemctl disable chrony.service
systemctl mask getty.target console-getty.service apt-daily.timer apt-daily-upgrade.timer e2scrub_all.timer \\
  dpkg-db-backup.timer fstrim.timer rpcbind.service rpcbind.socket systemd-networkd-wait-online.service
apt-get clean
rm -rf /var/lib/apt/lists/* /usr/share/doc/* /usr/share/man/* /usr/share/locale/* /var/cache/debconf/*-old
"""
_FILES = {
    "etc/ssh/sshd_config.d/lab.conf": (
        "PermitRootLogin prohibit-password\nAuthorizedKeysFile .ssh/authorized_keys /etc/ssh/lab_keys\nUseDNS no\nMaxSessions 100\n"
        "MaxStartups 100\nPrintMotd no\nPrintLastLog no\n"
    ),
    "etc/systemd/journald.conf.d/lab.conf": "[Journal]\nStorage=volatile\nRuntimeMaxUse=16M\n",
    "etc/dpkg/dpkg.cfg.d/lab": "force-unsafe-io\n",
}

Say = Callable[[str], None]


def cache() -> Path:
    """Folder of images: $FABRIC_IMAGE_DIR, else `fabric/machines` in $XDG_CACHE_HOME or ~/.cache."""
    if os.environ.get("FABRIC_IMAGE_DIR"):
        return Path(os.environ["FABRIC_IMAGE_DIR"]).absolute()
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return home / "fabric" / "machines"


def recipe() -> str:
    """What an image is made of, as a short digest: another recipe is another image."""
    parts = [SUITE, *PACKAGES, _FINISH, *(f"{path}={text}" for path, text in _FILES.items())]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:12]


def mirror() -> str:
    """The mirror of Debian that this machine's apt uses; "" when it uses none, and debootstrap's own default counts."""
    try:
        lines = run(["apt-get", "indextargets", "--format", "$(ORIGIN) $(RELEASE) $(REPO_URI)", "Created-By: Packages"])
    except (FabricError, OSError):
        return ""
    found = [line.split()[2] for line in lines.splitlines() if line.split()[:2] == ["Debian", SUITE]]
    return found[0].rstrip("/") if found else ""


def check_machine() -> None:
    """Raises FabricError that says in one line what this machine lacks for booting hosts."""
    missing = sorted({package for program, package in PROGRAMS.items() if shutil.which(program) is None})
    if missing:
        raise FabricError(
            f"--boot needs the packages {', '.join(missing)}", hint=f"apt-get install {' '.join(missing)}"
        )


def ensure(say: Say) -> Path:
    """The image's folder; it is built when it is not there. Only one process builds; others wait for it. FabricError with what failed."""
    folder = cache()
    image = folder / recipe()
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not image.is_dir():
            _forget_unused(folder)
            say(f"building the image of booted hosts from {mirror() or 'Debian'}: once, takes minutes")
            _build(image)
    return image


def hold(image: Path) -> int:
    """Keep an image from being removed for as long as the descriptor that is returned is open."""
    descriptor = os.open(image, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    fcntl.flock(descriptor, fcntl.LOCK_SH)
    return descriptor


def _forget_unused(folder: Path) -> None:
    """Images of other recipes that no lab runs on, and what a build that was killed has left."""
    for path in folder.iterdir():
        if path.is_dir():
            descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(path, ignore_errors=True)
            except BlockingIOError:
                continue
            finally:
                os.close(descriptor)


def _build(image: Path) -> None:
    part = Path(tempfile.mkdtemp(prefix="part-", dir=image.parent))
    root = part / "root"
    try:
        options = ["--force-check-gpg", "--variant=minbase", "--include=ca-certificates"]
        _run(["debootstrap", *options, SUITE, str(root), *([mirror()] if mirror() else [])])
        for path, text in _FILES.items():
            place = root / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text, encoding="utf-8")
        shutil.copyfile("/etc/resolv.conf", root / "etc" / "resolv.conf")
        policy = root / "usr" / "sbin" / "policy-rc.d"  # nothing starts while the image is made
        policy.write_text("#!/bin/sh\nexit 101\n", encoding="ascii")
        policy.chmod(0o755)
        _inside(root, ["apt-get", "-q", "update"])
        _inside(root, ["apt-get", "-q", "-y", "--no-install-recommends", "install", *PACKAGES])
        _inside(root, ["sh", "-e", "-c", _FINISH])
        policy.unlink()
        root.chmod(0o755)
        root.rename(image)
    finally:
        shutil.rmtree(part, ignore_errors=True)


def _inside(root: Path, argv: Sequence[str]) -> None:
    _run(["chroot", str(root), "env", "DEBIAN_FRONTEND=noninteractive", "LC_ALL=C", *argv])


def _run(argv: Sequence[str]) -> None:
    """A step of the build. FabricError with its last words."""
    done = subprocess.run(  # noqa: S603 - our own argument lists
        list(argv), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    if done.returncode != 0:
        said = done.stdout.strip().splitlines()
        raise FabricError(
            f"the image of booted hosts could not be made: {' '.join(argv[:2])}: {said[-1] if said else done.returncode}"
        )
