"""The platform section: our rules against the published sections, our edits against the reference examples, bad base files."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from fabric.errors import DesignError
from fabric.spec.management import FbossSettings
from fabric.targets.fboss import platform_th3, platform_th4, wire
from fabric.targets.fboss.box import box
from fabric.targets.fboss.platform_section import platform_section
from fabric.targets.fboss.strict import compile_struct

SAMPLES = {
    "wedge400": "wedge400.hw_test.agent.conf",
    "minipack2": "fuji.hw_test.agent.conf",
    "arista-7388x5": "elbert.hw_test.agent.conf",
}
EXAMPLES = {"wedge400": "example-rtsw001.wedge400.agent.conf", "minipack2": "example-ctsw001.minipack2.agent.conf"}
TH4 = ["minipack2", "arista-7388x5"]


def bcm_of(path: Path) -> dict[str, Any]:
    platform = json.loads(path.read_text(), strict=False)["platform"]
    bcm: dict[str, Any] = platform["chip"]["bcm"]
    return bcm


def plain(node: yaml.Node) -> Any:
    """YAML nodes as tuples; the documents have mappings as keys, which a dict cannot hold."""
    if isinstance(node, yaml.MappingNode):
        return tuple((plain(key), plain(value)) for key, value in node.value)
    if isinstance(node, yaml.SequenceNode):
        return [plain(item) for item in node.value]
    return node.value


def documents(text: str) -> list[Any]:
    return [plain(node) for node in yaml.compose_all(text, yaml.SafeLoader)]


def built(model: str, *, base: str | None = None, base_dir: Path = Path(), qgroup: bool = False) -> dict[str, Any]:
    settings = FbossSettings(platform_base={model: base} if base else {})
    made = platform_section(box(model), settings, base_dir, qgroup=qgroup)
    assert compile_struct("PlatformConfig")(made) == []
    bcm: dict[str, Any] = made["chip"]["bcm"]
    return bcm


# --- rules -----------------------------------------------------------------------------------------------------------------------
def test_wedge400_port_map_is_that_of_the_published_section(reference_dir: Path) -> None:
    config = bcm_of(reference_dir / "fboss" / "samples" / SAMPLES["wedge400"])["config"]
    published = {key: value for key, value in config.items() if key.startswith(("portmap_", "dport_map_port_"))}
    assert platform_th3.port_map(box("wedge400")) == published
    assert len(published) == 2 * 48


@pytest.mark.parametrize("model", TH4)
def test_port_maps_agree_with_the_published_section(model: str, reference_dir: Path) -> None:
    text = bcm_of(reference_dir / "fboss" / "samples" / SAMPLES[model])["yamlConfig"]
    published = platform_th4.read_phys_map(text)
    ours = {0: 0, **platform_th4.phys_map(box(model))}
    assert published.items() <= ours.items()
    assert len(ours) == 129
    theirs = {
        int(port): int(rank) for port, rank in _display(text)
    }  # fuji's counts the 80 ports of its five cards only
    rank = platform_th4.display_map(box(model))
    assert sorted(theirs, key=theirs.__getitem__) == sorted(theirs, key=rank.__getitem__)
    assert len(theirs) == len(published) - 1
    assert theirs == rank or len(theirs) < len(rank)


def _display(text: str) -> list[tuple[str, str]]:
    for document in documents(text):
        (kind, ((_, sections),)), *_ = document
        for name, body in sections:
            if kind == "bcm_device" and name == "port":
                return [(port, dict(settings)["dport_map_port"]) for port, settings in body]
    raise AssertionError("no display map")


def test_ranges_are_runs_of_ids() -> None:
    assert platform_th4.runs(dict.fromkeys([1, 2, 3, 8, 10, 11], 0)) == [(1, 3), (8, 8), (10, 11)]


# --- edits -----------------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("model", EXAMPLES)
def test_edits_on_the_published_section_give_the_reference_example(model: str, reference_dir: Path) -> None:
    folder = reference_dir / "fboss"
    made, wanted = built(model, base=f"samples/{SAMPLES[model]}", base_dir=folder), bcm_of(folder / EXAMPLES[model])
    assert made["config"] == wanted["config"]
    assert documents(made.get("yamlConfig", "")) == documents(wanted.get("yamlConfig", ""))


def test_elbert_section_keeps_everything_but_the_lossless_settings(reference_dir: Path) -> None:
    folder = reference_dir / "fboss"
    base = f"samples/{SAMPLES['arista-7388x5']}"
    made = built("arista-7388x5", base=base, base_dir=folder)["yamlConfig"]
    text = bcm_of(folder / base)["yamlConfig"]
    assert documents(made) == documents(platform_th4.lossless(text))
    assert documents(made) != documents(text)


def test_queue_group_guarantees_are_taken_back_where_they_are_on() -> None:
    assert "buf.qgroup.guarantee" not in built("wedge400")["config"]
    on = built("wedge400", qgroup=True)["config"]
    assert [on["buf.qgroup.guarantee"], on["buf.qgroup.guarantee_mc"]] == ["0", "0"]


def test_edit_twice_is_edit_once() -> None:
    text = built("minipack2")["yamlConfig"]
    assert platform_th4.edit(box("minipack2"), text) == text


# --- our own base ----------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("model", TH4)
def test_own_base_of_tomahawk4(model: str, golden: Callable[[str, str], None]) -> None:
    made = built(model)
    assert made["config"] == {}
    golden(f"fboss/platform-{model}.txt", made["yamlConfig"])


def test_own_base_of_tomahawk3(golden: Callable[[str, str], None]) -> None:
    config = built("wedge400")["config"]
    golden("fboss/platform-wedge400.txt", json.dumps(config, indent=0) + "\n")


# --- bad base files --------------------------------------------------------------------------------------------------------------
def _agent(bcm: object) -> str:
    return json.dumps({"platform": {"chip": {"bcm": bcm}}})


def _yaml(text: str) -> str:
    return _agent({"config": {}, "yamlConfig": text})


def _own() -> str:
    text: str = built("minipack2")["yamlConfig"]
    return text


BOMB = "---\na: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]\n"

BAD: dict[str, tuple[str, str | bytes | None, str]] = {
    "absent": ("minipack2", None, "minipack2: cannot read the base file base.json: No such file or directory"),
    "binary": ("minipack2", b"\xff\xfe\x00", "minipack2: cannot read the base file base.json: not UTF-8 text"),
    "empty": ("minipack2", "", "minipack2: base file base.json:1:1: not JSON: Expecting value"),
    "not an object": ("minipack2", "[1]", "minipack2: base file base.json: it has no `platform` section, so it is not an agent.conf"),
    "no platform": ("minipack2", '{"sw": {}}', "minipack2: base file base.json: it has no `platform` section, so it is not an agent.conf"),
    "duplicate key": ("minipack2", '{"a": 1, "a": 2}', 'minipack2: base file base.json: the key "a" stands twice in one object'),
    "deep": ("minipack2", "[" * 100_000, "minipack2: base file base.json: nested too deeply"),
    "misspelt key": (
        "wedge400", '{"platform": {"chp": {}}}',
        'minipack2: base file base.json: platform: chp: PlatformConfig has no such key (did you mean "chip"?)',
    ),
    "other chip": (
        "minipack2", '{"platform": {"chip": {"asic": {"config": "x"}}}}',
        "minipack2: base file base.json: platform.chip.bcm is missing, and minipack2 is configured there",
    ),
    "no yaml": (
        "minipack2", _agent({"config": {}}),
        "minipack2: base file base.json: platform.chip.bcm.yamlConfig is missing, and minipack2 is configured there",
    ),
    "not yaml": ("minipack2", _yaml("a: ["), "minipack2: base file base.json: yamlConfig is not YAML: "),
    "aliases": (
        "minipack2", _yaml(BOMB),
        "minipack2: base file base.json: yamlConfig has 0 sections PC_PORT_PHYS_MAP that are written in block form, one is wanted",
    ),
    "wedge400 lanes": (
        "wedge400", _agent({"config": {"portmap_36": "41:100:4"}}),
        "wedge400: base file base.json: portmap_36 is '41:100:4', but on wedge400 it is at 33: the file is of another box",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_bad_base_file_gives_one_clear_line(case: str, tmp_path: Path) -> None:
    model, content, message = BAD[case]
    if isinstance(content, str):
        content = content.encode()
    if content is not None:
        (tmp_path / "base.json").write_bytes(content)
    with pytest.raises(DesignError) as caught:
        built(model, base="base.json", base_dir=tmp_path)
    assert caught.value.path == ("fboss", "platform_base", model)
    assert caught.value.message.startswith(message.replace("minipack2:", f"{model}:", 1))
    assert "\n" not in str(caught.value)


def test_only_regular_files_of_a_sane_size_are_read(tmp_path: Path) -> None:
    with (tmp_path / "huge.json").open("wb") as file:
        file.truncate(wire.MAX_BYTES + 1)  # sparse
    for name, message in (
        ("/dev/zero", "wedge400: base file /dev/zero: is not a regular file"),
        (".", "wedge400: base file .: is not a regular file"),
        ("huge.json", "wedge400: base file huge.json: 67108865 bytes, more than the 67108864 that are read"),
    ):
        with pytest.raises(DesignError) as caught:
            built("wedge400", base=name, base_dir=tmp_path)
        assert caught.value.message == message


CUTS: dict[str, tuple[str, str, str]] = {
    "other box": ("PC_PHYS_PORT_ID: 5\n", "PC_PHYS_PORT_ID: 77\n", "yamlConfig puts port 3 at 77, minipack2 has it at 5: another box's file"),
    "no threshold": ("      THRESHOLD_MODE: LOSSY_AND_LOSSLESS\n", "", "yamlConfig has 0 lines THRESHOLD_MODE, one is wanted"),
    "no display map": ("    port:\n", "    porto:\n", "yamlConfig has 0 sections port that are written in block form, one is wanted"),
    "flow form": (
        "    PC_PORT:\n", "    PC_PORT: {}\n    X:\n",
        "yamlConfig has 0 sections PC_PORT that are written in block form, one is wanted",
    ),
    "single ports": ("        PORT_ID: [[", "        PORT_NO: [[", "yamlConfig has 0 port ranges in PC_PORT, one is wanted"),
}  # fmt: skip


@pytest.mark.parametrize("case", CUTS)
def test_a_base_that_cannot_be_edited_is_refused(case: str, tmp_path: Path) -> None:
    old, new, message = CUTS[case]
    text = _own()
    assert old in text
    (tmp_path / "base.json").write_text(_yaml(text.replace(old, new)))
    with pytest.raises(DesignError) as caught:
        built("minipack2", base="base.json", base_dir=tmp_path)
    assert caught.value.message == f"minipack2: base file base.json: {message}"


def test_operators_own_port_settings_stay(tmp_path: Path) -> None:
    text = _own().replace(
        "      3:\n        dport_map_port: 1\n", "      3:\n        serdes_x: 7\n      300:\n        y: 1\n"
    )
    (tmp_path / "base.json").write_text(_yaml(text.replace("sai_mmu_qgroups_default: 0", "sai_mmu_qgroups_default: 1")))
    made = built("minipack2", base="base.json", base_dir=tmp_path)["yamlConfig"]
    assert "      3:\n        dport_map_port: 1\n        serdes_x: 7\n" in made
    assert "      300:\n        y: 1\n" in made
    assert "sai_mmu_qgroups_default: 0" in made


def test_grand_teton_needs_the_operators_file(tmp_path: Path) -> None:
    with pytest.raises(DesignError) as caught:
        built("wedge400-grandteton")
    assert caught.value.message == (
        "wedge400-grandteton needs fboss.platform_base[wedge400-grandteton]: no SDK configuration of its port map is public"
    )
    (tmp_path / "gt.json").write_text(_agent({"config": {"portmap_28": "33:100:4", "own": "1"}}))
    config = built("wedge400-grandteton", base="gt.json", base_dir=tmp_path)["config"]
    assert config == {"portmap_28": "33:100:4", "own": "1", **platform_th3.LOSSLESS}


def test_generic_section_does_not_pass_for_grand_teton(reference_dir: Path) -> None:
    with pytest.raises(DesignError, match=r"but on wedge400-grandteton it is at \d+: the file is of another box"):
        built("wedge400-grandteton", base=f"samples/{SAMPLES['wedge400']}", base_dir=reference_dir / "fboss")
