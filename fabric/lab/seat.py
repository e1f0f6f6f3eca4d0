"""The environment of the operator's seat, without reading the spec again while it stays as it is: that is most of a second."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from pathlib import Path

from fabric.lab import agent
from fabric.lab.state import Lab

OPERATOR = "netops"
"""The account that every virtual switch has, beside root."""

KEY = "id_ed25519"
"""File of the operator's key pair in the state folder."""

_KEPT = "stand-ins.json"


def environment(lab: Lab, spec: Path) -> dict[str, str]:
    """What `fabric lab exec` adds to the environment, so that the tool reaches the virtual switches.

    Raises FabricError for a spec that cannot be read or is wrong.
    """
    found = {
        "FABRIC_USER": OPERATOR,
        "FABRIC_KEY_FILE": str(lab.folder / KEY),
        "FABRIC_STATE": str(lab.folder / "fabric"),
        "ANSIBLE_PRIVATE_KEY_FILE": str(lab.folder / KEY),
        "ANSIBLE_SSH_COMMON_ARGS": f"-o UserKnownHostsFile={lab.folder / 'fabric' / 'known_hosts'}",
        # Ansible keeps connections open, by name and port: a host of the same name in another lab must not be taken for ours.
        "ANSIBLE_SSH_CONTROL_PATH_DIR": str(lab.folder / "connections"),
    }
    found |= agent.environment(lab.folder)
    return found | {name: value for name, value in _stand_ins(lab, spec).items() if name not in os.environ}


def _stand_ins(lab: Lab, spec: Path) -> dict[str, str]:
    """Environment variable -> stand-in, of the secrets that the spec declares: as kept, when it was kept of the same text."""
    try:
        digest = hashlib.sha256(spec.read_bytes()).hexdigest()
        kept = json.loads((lab.folder / _KEPT).read_text(encoding="utf-8"))
        if kept["spec"] == digest:
            return {str(name): str(value) for name, value in kept["stand_ins"].items()}
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        pass  # nothing is kept yet, or nothing to rely on; what is wrong with the spec, its loader says
    from fabric.design.load import load_cluster
    from fabric.lab.secrets import stand_ins

    cluster = load_cluster(spec)
    found = stand_ins(cluster.spec)
    _keep(lab.folder / _KEPT, json.dumps({"spec": cluster.loaded.text_sha256, "stand_ins": found}))
    return found


def _keep(path: Path, text: str) -> None:
    """Whole or not at all, as two commands may begin at once."""
    with tempfile.NamedTemporaryFile("w", dir=path.parent, prefix=f"{path.name}.", delete=False) as file:
        file.write(text)
    Path(file.name).replace(path)
