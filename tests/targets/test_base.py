"""The nouns that all targets share."""

from __future__ import annotations

import dataclasses
import hashlib
import pickle

import pytest

from fabric.targets.base import Artifact, DeviceRef


def test_artifact_hash_is_that_of_its_bytes() -> None:
    artifact = Artifact("rtsw1", "rtsw", "fboss", "/etc/coop/agent.conf", b"{}")
    assert artifact.sha256 == hashlib.sha256(b"{}").hexdigest()
    assert (artifact.mode, artifact.secret) == (0o644, False)


@pytest.mark.parametrize("noun", [Artifact("a", "b", "c", "/d", b"e"), DeviceRef("a", "b", "c")])
def test_nouns_are_frozen_and_travel_between_processes(noun: Artifact | DeviceRef) -> None:
    assert pickle.loads(pickle.dumps(noun)) == noun  # noqa: S301 - our own bytes
    with pytest.raises(dataclasses.FrozenInstanceError):
        noun.role = "x"  # type: ignore[misc]
