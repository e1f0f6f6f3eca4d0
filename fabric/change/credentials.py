"""How to log in to devices: user and key or password, from the environment, an ssh-agent or an ansible-vault.

FABRIC_USER           user on EOS (netops)
FABRIC_FBOSS_USER     user on FBOSS (root)
FABRIC_SM_USER        user on the hosts of subnet managers (root)
FABRIC_PASSWORD       password; without one, keys
FABRIC_KEY_FILE       private key; without one, the ssh-agent and the user's own keys
FABRIC_VAULT_FILE     ansible-vault with fabric_user, fabric_fboss_user, fabric_sm_user, fabric_password (the environment wins)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from fabric.targets.device import Login

VAULT_FILE = "FABRIC_VAULT_FILE"


@dataclass(frozen=True, slots=True)
class Credentials:
    """For all devices of a cluster. repr leaves the password out."""

    user: str = "netops"
    fboss_user: str = "root"
    sm_user: str = "root"
    password: str | None = field(default=None, repr=False)
    key_file: str | None = None

    @classmethod
    def of(cls, env: Mapping[str, str]) -> Credentials:
        """What the environment says. Raises FabricError when its vault cannot be read."""
        vault: Mapping[str, str] = {}
        if env.get(VAULT_FILE):
            from fabric.change.vault import read_vault

            vault = read_vault(Path(env[VAULT_FILE]), env)
        return cls(
            env.get("FABRIC_USER") or vault.get("fabric_user", "netops"),
            env.get("FABRIC_FBOSS_USER") or vault.get("fabric_fboss_user", "root"),
            env.get("FABRIC_SM_USER") or vault.get("fabric_sm_user", "root"),
            env.get("FABRIC_PASSWORD") or vault.get("fabric_password"),
            env.get("FABRIC_KEY_FILE") or None,
        )

    def login(self, target: str, host: str, known_hosts: Path, timeout_s: float) -> Login:
        """The login of one device at the address `host`; its host key must be in `known_hosts`."""
        return Login(
            host,
            {"fboss": self.fboss_user, "opensm": self.sm_user}.get(target, self.user),
            password=self.password,
            key_file=self.key_file,
            known_hosts=str(known_hosts),
            timeout_s=timeout_s,
        )
