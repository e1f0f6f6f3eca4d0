"""A virtual FBOSS box on a folder of the test's own: files and processes of it, but no namespace and no FRR."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from fabric.lab.fboss import install
from fabric.lab.fboss.node import AGENT_CONF, Node
from fabric.lab.names import linux_name

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "fboss"


def golden_agent(case: str) -> dict[str, Any]:
    """A golden agent.conf; the file holds all but the platform section."""
    text = (GOLDEN / f"{case}.agent.conf").read_text(encoding="utf-8").rstrip()
    conf: dict[str, Any] = json.loads(text + ' "platform": {}}')
    return conf


def make_node(
    folder: Path, conf: dict[str, Any] | None = None, *, name: str = "box", model: str = "minipack2", **more: Any
) -> Node:
    """A box whose disk is `folder`/root, with `conf` as its agent.conf; all its configured ports are cabled."""
    ports = [port["name"] for port in (conf or {}).get("sw", {}).get("ports", [])]
    folder.mkdir(parents=True, exist_ok=True)
    raw = {
        "name": name,
        "kind": "fboss",
        "ports": {port: linux_name(port) for port in ports},
        "root": str(folder / "root"),
        "settings": {"model": model},
        **more,
    }
    (folder / "node.json").write_text(json.dumps(raw), encoding="utf-8")
    install.prepare(folder, model)
    node = Node(folder)
    install.tools(node)
    if conf is not None:
        put(node, AGENT_CONF, conf)
    return node


def put(node: Node, path: str, conf: Any) -> None:
    """Write a configuration, or any text, to the box's disk."""
    place = node.path(path)
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(conf if isinstance(conf, str) else json.dumps(conf), encoding="utf-8")


def tool(node: Node, *words: str, timeout: float = 120) -> subprocess.CompletedProcess[str]:
    """Run a command line of the box, as its shell would find it."""
    program = node.path(f"/usr/local/bin/{words[0]}")
    return subprocess.run(
        [str(program), *words[1:]], capture_output=True, text=True, errors="replace", timeout=timeout, check=False, stdin=subprocess.DEVNULL,
        env={"PATH": f"{program.parent}:/usr/bin:/bin"},
    )  # fmt: skip


def start_agent(node: Node) -> subprocess.Popen[bytes]:
    """The agent as a child of the test."""
    return subprocess.Popen(
        [sys.executable, "-S", "-m", "fabric.lab.fboss.agent", str(node.folder)], stdout=subprocess.DEVNULL
    )
