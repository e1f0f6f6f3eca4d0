"""Package rules by version, and NCCL's table against what was published of it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from fabric.catalog import catalog
from fabric.catalog.distribution import Range, version_of


@pytest.mark.parametrize(
    ("text", "numbers"),
    [("580.126.16", (580, 126, 16)), ("2.27.7-1+cuda12.9", (2, 27, 7)), ("580", (580,)), ("2.9.1", (2, 9, 1))],
)
def test_versions_are_numbers(text: str, numbers: tuple[int, ...]) -> None:
    assert version_of(text) == numbers


@pytest.mark.parametrize(
    ("pinned", "holds"), [("579.99", False), ("580.00.1", True), ("610.1", False), ("", False), ("1000.1", False)]
)
def test_ranges(pinned: str, holds: bool) -> None:
    assert Range(of="driver", since="580", below="600").holds({"driver": pinned}) is holds


def test_a_range_of_what_is_not_used() -> None:
    assert not Range(of="doca", since="3").holds({"driver": "580.1"})


@pytest.mark.parametrize("name", catalog().names("distribution"))
def test_one_package_of_each_kind_for_every_version(name: str) -> None:
    """No version falls between two rules, and none gets two drivers or fabric managers."""
    model = catalog().distribution(name)
    for driver in ("535.129.03", "550.54.15", "560.35.03", "570.86.10", "580.126.16", "610.10.01"):
        versions = {"driver": driver, "doca": "3.2.1", "dcgm": "4.5.2", "cuda": "13.0", "nccl": "2.28.9"}
        names = [rule.name for rule in model.packages if rule.when is None or rule.when.holds(versions)]
        assert sum("abric" in one for one in names) == 1
        assert sum(one in ("nvidia-open", "nvidia-driver-{branch}-open") for one in names) == 1
    for doca in ("2.9.1", "3.1.0", "3.2.0"):
        repos = [rule for rule in model.repositories if rule.when is None or rule.when.holds({"doca": doca})]
        assert sorted(rule.name for rule in repos) == ["cuda", "doca"]


def test_names_and_addresses_are_those_of_the_reference(reference_dir: Path) -> None:
    text = (reference_dir / "hosts.md").read_text()
    for name in (
        "nvidia-fabricmanager",
        "nvidia-fabric-manager",
        "datacenter-gpu-manager-4-cuda",
        "libnccl2",
        "doca-ofed",
        "nvidia-open",
    ):
        assert name in text
        assert any(
            rule.name.startswith(name)
            for one in catalog().names("distribution")
            for rule in catalog().distribution(one).packages
        )
    for distribution in ("ubuntu-22.04", "ubuntu-24.04", "rhel-9"):
        for rule in catalog().distribution(distribution).repositories:
            assert rule.base in text


def test_nccl_settings_that_the_reference_names(reference_dir: Path) -> None:
    """Each setting that the section on nccl.conf names, in full or in the table of published values, is known."""
    text = (reference_dir / "hosts.md").read_text()
    section = text[text.index("### 2.7") : text.index("### 2.8")]
    known = catalog().nccl().settings
    named = set(re.findall(r"`?(NCCL_[A-Z0-9_]+[A-Z0-9])\b", section)) - {"NCCL_PARAM", "NCCL_CONF_FILE"}
    named |= {
        f"NCCL_{key}" for row in re.findall(r"^\| ([A-Z0-9_ /]+) \|", section, re.MULTILINE) for key in row.split(" / ")
    }
    named = {"NCCL_IB_FIFO_TC" if key == "NCCL_FIFO_TC" else key for key in named}
    assert len(named) > 20
    assert named <= set(known)
    assert [key for key, one in known.items() if one.forbidden] == ["NCCL_IB_DISABLE", "NCCL_ALGO", "NCCL_PROTO"]
