"""What opensm takes in silence, each with the line that we say of it: one golden file a kind of file."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest

from fabric.errors import FabricError, FabricErrors
from fabric.targets.opensm.conf import read_conf
from fabric.targets.opensm.lint_lists import Known
from fabric.targets.opensm.linting import lint
from fabric.targets.opensm.lists import read_guids, read_names
from fabric.targets.opensm.partitions import read_partitions, read_rules
from fabric.targets.opensm.paths import CONF
from fabric.targets.opensm.problem import Problem
from fabric.targets.opensm.qos_policy import read_policy

DEFAULT = "Default=0x7fff : ALL=limited, SELF=full ;\n"

CONFS: Mapping[str, str] = {
    "unknown key, the typo of NVIDIA's own recipe": "max_operational_vls 2\n",
    "unknown key, nothing near": "frobnicate 1\n",
    "NVIDIA's key upstream": "ar_sl_mask 0xffff\n",
    "duplicate key": "lmc 0\nlmc 0\n",
    "boolean in small letters": "qos true\n",
    "boolean yes": "qos yes\n",
    "priority above 15": "sm_priority 16\n",
    "stall count beyond its 3 bits": "vl_stall_count 8\n",
    "stall count of leaves, 0 undefined": "leaf_vl_stall_count 0\n",
    "word for a number": "sweep_interval ten\n",
    "octal number": "sweep_interval 010\n",
    "no value": "sm_priority\n",
    "hash in a value": "log_prefix rack#7\n",
    "comment after a value": "sm_priority 3 # high\n",
    "long line": "log_prefix " + "x" * 1100 + "\n",
    "engine with a typo": "routing_engine fattree\n",
    "NVIDIA's engine upstream": "routing_engine ar_updn,no_fallback\n",
    "no_fallback first": "routing_engine no_fallback,ftree\n",
    "no engine": "routing_engine no_fallback\n",
    "part_enforce with a typo": "part_enforce bth\n",
    "sl2vl too short": "qos_sl2vl 0,1,2\n",
    "sl2vl beyond VL 15": "qos_sl2vl 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,16\n",
    "vlarb weight": "qos_vlarb_high 0:300,1:4\n",
    "link width code": "force_link_width 77\n",
    "congestion setting without SL": "cc_ca_cong_setting_ccti_timer 10\n",
    "the same SL twice": "cc_ca_cong_setting_ccti_timer 1 10\ncc_ca_cong_setting_ccti_timer 1 20\n",
    "Windows line ends": "sm_priority 3\r\n",
    "no last newline": "sm_priority 3",
    "not ASCII": "log_prefix ä\n",
}
PARTITIONS: Mapping[str, str] = {
    "no colon": DEFAULT + "a=0x1001\n 0x1=full ;\n",
    "no semicolon": DEFAULT + "a=0x1001 : 0x1=full\n",
    "semicolon on a line of its own": DEFAULT + "a=0x1001 :\n 0x1=full\n ;\n",
    "name and members apart": DEFAULT + "a=0x1001,\n ipoib, mtu=5, rate=21 : 0x1=full ;\n",
    "second colon": DEFAULT + "a=0x1001 : 0x1=full\nb=0x1002 : 0x2=full ;\n",
    "no P_Key": DEFAULT + "a : 0x1=full ;\n",
    "P_Key with the membership bit": DEFAULT + "a=0x9001 : 0x1=full ;\n",
    "P_Key no number": DEFAULT + "a=1001h : 0x1=full ;\n",
    "duplicate P_Key": DEFAULT + "a=0x1001 : 0x1=full ;\nb=0x1001 : 0x2=full ;\n",
    "capital Full": DEFAULT + "a=0x1001 : 0x1=Full ;\n",
    "no membership": DEFAULT + "a=0x1001 : 0x1 ;\n",
    "prefix of a membership": DEFAULT + "a=0x1001 : 0x1=fu ;\n",
    "unknown flag": DEFAULT + "a=0x1001, ipiob : 0x1=full ;\n",
    "flag with a value": DEFAULT + "a=0x1001, indx0=1 : 0x1=full ;\n",
    "ipoib without mtu and rate": DEFAULT + "a=0x1001, ipoib : 0x1=full ;\n",
    "mtu without ipoib": DEFAULT + "a=0x1001, mtu=5 : 0x1=full ;\n",
    "rate out of range": DEFAULT + "a=0x1001, ipoib, mtu=5, rate=99 : 0x1=full ;\n",
    "defmember with a typo": DEFAULT + "a=0x1001, defmember=Full : 0x1=full ;\n",
    "keyword by prefix": DEFAULT + "a=0x1001 : A=full ;\n",
    "name in place of a GUID": DEFAULT + "a=0x1001 : gt0001=full ;\n",
    "decimal GUID": DEFAULT + "a=0x1001 : 4711=full ;\n",
    "member twice": DEFAULT + "a=0x1001 : 0x1=full, 0x01=limited ;\n",
    "long line": DEFAULT + "a=0x1001 : " + ", ".join(f"{n:#018x}=full" for n in range(1, 200)) + " ;\n",
    "no default partition": "a=0x1001 : 0x1=full ;\n",
    "no comma": DEFAULT + "a=0x1001 : 0x1=full 0x2=full ;\n",
    "empty definition": DEFAULT + ";\n",
}
POLICIES: Mapping[str, str] = {
    "section with a typo": "qos-ulp\n",
    "not closed": "qos-ulps\n default : 0\n",
    "closes nothing": "end-qos-ulps\n",
    "no SL": "qos-ulps\n any, pkey 0x1001\n default : 0\nend-qos-ulps\n",
    "SL 16": "qos-ulps\n default : 16\nend-qos-ulps\n",
    "unknown protocol": "qos-ulps\n mpi : 1\n default : 0\nend-qos-ulps\n",
    "after default": "qos-ulps\n default : 0\n ipoib : 1\nend-qos-ulps\n",
    "no default": "qos-ulps\n ipoib : 1\nend-qos-ulps\n",
    "target rule not last": "qos-ulps\n any, target-port-guid 0x1 : 1\n ipoib : 1\n default : 0\nend-qos-ulps\n",
    "qos-setup": "qos-setup\n",
    "level field": "qos-levels\nqos-level\nname: DEFAULT\nsll: 0\nend-qos-level\nend-qos-levels\n",
    "field without colon": "qos-levels\nqos-level\nname: DEFAULT\nsl 0\nend-qos-level\nend-qos-levels\n",
    "no DEFAULT level": "qos-levels\nqos-level\nname: x\nsl: 0\nend-qos-level\nend-qos-levels\n",
}
GUIDS: Mapping[str, str] = {
    "no 0x": "a00000000001\n",
    "twice": "0x1\n0x01\n",
    "two on a line": "0x1 0x2\n",
    "empty": "# nothing\n",
}
NAMES: Mapping[str, str] = {
    "no quotes": "0x1 leaf0001\n",
    "GUID twice": '0x1 "a"\n0x1 "b"\n',
    "name twice": '0x1 "a"\n0x2 "a"\n',
}
READERS: Mapping[str, tuple[Mapping[str, str], Callable[[str], list[Problem] | tuple[Problem, ...]]]] = {
    "conf": (CONFS, lambda text: read_conf(text).problems),
    "partitions": (PARTITIONS, lambda text: read_rules(text)[1]),
    "qos-policy": (POLICIES, lambda text: read_policy(text).problems),
    "guids": (GUIDS, lambda text: read_guids(text, "root_guids").problems),
    "names": (NAMES, lambda text: read_names(text).problems),
}


@pytest.mark.parametrize("kind", READERS)
def test_refusals(kind: str, golden: Callable[[str, str], None]) -> None:
    cases, read = READERS[kind]
    lines = []
    for case, text in cases.items():
        problems = read(text)
        assert problems, f"{case}: nothing was said"
        lines += [f"# {case}", *map(str, problems)]
    golden(f"opensm/refusals/{kind}.txt", "\n".join(lines) + "\n")


GOOD_CONF = """\
lmc 0
routing_engine "ftree,no_fallback"
qos_policy_file (null)
cc_ca_cong_setting_ccti_min 0 1
cc_ca_cong_setting_ccti_min 1 1
"""
GOOD_FULL = """\
port-groups
  port-group
    name: st
    port-guid: 0x1-0x9
  end-port-group
end-port-groups
qos-levels
  qos-level
    name: DEFAULT  # must be there
    sl: 0
  end-qos-level
end-qos-levels
qos-match-rules
  qos-match-rule
    destination: st
    pkey: 0x1002
    qos-level-name: DEFAULT
  end-qos-match-rule
end-qos-match-rules
"""
GOOD_ULPS = """\
qos-ulps
  any, pkey 0x1001 : 1
  any, service-id 0x10000-0x1ffff : 2
  ipoib : 3
  ipoib, pkey 0x1001: 1
  sdp, port-num 1-9 : 1
  srp, target-port-guid 0x1 : 2
  default : 0
end-qos-ulps
"""


def test_good_files_have_no_problems() -> None:
    conf = read_conf(GOOD_CONF)
    assert conf.problems == ()
    assert conf.values["routing_engine"] == "ftree,no_fallback"
    assert conf.text("qos_policy_file") is None
    assert read_conf("ar_sl_mask 0xffff\n", "nvidia").problems == ()
    assert read_policy(GOOD_FULL).problems == ()
    assert set(read_policy(GOOD_FULL).pkeys) == {0x1002}
    assert read_policy(GOOD_ULPS).problems == ()
    assert set(read_policy(GOOD_ULPS).pkeys) == {0x1001}


def test_partitions_read() -> None:
    text = (
        DEFAULT
        + "a=0x1001, ipoib, mtu=5, rate=21, sl=1 : 0xA=full,\n 0xb=limited ; # b\n b=0x2, defmember=both : 0xc, mgid=ff12::1, scope=2 ;\n"
    )
    assert read_partitions(text, ports=[0xA, 0xB], manager=0xB) == {
        0x7FFF: {0xA: "limited", 0xB: "full"},
        0x1001: {0xA: "full", 0xB: "limited"},
        0x2: {0xC: "both"},
    }
    with pytest.raises(FabricError, match=r"partitions\.conf:2: 0x1=Full"):
        read_partitions(DEFAULT + "a=0x1001 : 0x1=Full ;\n")
    with pytest.raises(FabricErrors):
        read_partitions("a : 0x1=Full ;\n")


GOOD: Mapping[str, str] = {
    "opensm.conf": "guid 0x11\nhonor_guid2lid_file TRUE\nrouting_engine ftree,no_fallback\nroot_guid_file /etc/opensm/root_guids\n"
    "cn_guid_file /etc/opensm/cn_guids\nlog_flags 0x07\nnode_name_map_name /etc/opensm/node-name-map\n",
    "partitions.conf": DEFAULT,
    "root_guids": "0x91\n0x92\n",
    "cn_guids": "0x11\n0x21\n",
    "node-name-map": '0x91 "spine1"\n0x92 "spine2"\n0x93 "leaf1"\n',
}
KNOWN = Known(
    3,
    {0x91: "spine1", 0x92: "spine2", 0x93: "leaf1"},
    {0x10: "gt0001 mlx5_0", 0x20: "gt0002 mlx5_0", 0x30: "st1 mlx5_0"},
    {0x11: "gt0001 mlx5_0", 0x21: "gt0002 mlx5_0", 0x31: "st1 mlx5_0"},
    frozenset({0x91, 0x92}),
    frozenset({0x11, 0x21}),
    frozenset({0x31}),
)
TOGETHER: Mapping[str, Mapping[str, str]] = {
    "a root is missing": {"root_guids": "0x91\n"},
    "a leaf among the roots": {"root_guids": "0x91\n0x92\n0x93\n"},
    "node GUIDs in the CN file": {"cn_guids": "0x10\n0x20\n"},
    "storage in the CN file": {"cn_guids": "0x11\n0x21\n0x31\n"},
    "a switch without a name": {"node-name-map": '0x91 "spine1"\n0x92 "spine2"\n'},
    "a name of nothing, and a wrong one": {"node-name-map": '0x91 "spine1"\n0x92 "spine9"\n0x93 "leaf1"\n0x99 "x"\n'},
    "an unknown GUID in a partition": {"partitions.conf": DEFAULT + "a=0x1001 : 0x77=full ;\n"},
    "a node GUID in a partition": {"partitions.conf": DEFAULT + "a=0x1001 : 0x10=full ;\n"},
    "both without allow_both_pkeys": {"partitions.conf": DEFAULT + "a=0x1001 : 0x11=both ;\n"},
    "sl without qos": {"partitions.conf": DEFAULT + "a=0x1001, sl=1 : 0x11=full ;\n"},
    "800 Gb/s": {"partitions.conf": DEFAULT + "a=0x1001, ipoib, mtu=5, rate=23 : 0x11=full ;\n"},
    "a file that is not there": {"+": "io_guid_file /etc/opensm/io_guids\nmax_reverse_hops 1\n"},
    "io file without reverse hops": {"+": "io_guid_file /etc/opensm/cn_guids\n"},
    "policy without qos": {"qos-policy.conf": "qos-ulps\n default : 0\nend-qos-ulps\n"},
    "a P_Key of no partition": {
        "+": "qos TRUE\n",
        "qos-policy.conf": "qos-ulps\n any, pkey 0x1001 : 1\n default : 0\nend-qos-ulps\n",
    },
    "IPoIB rule for one full member": {
        "+": "qos TRUE\n",
        "partitions.conf": DEFAULT + "a=0x1001 : 0x11=full, 0x21=limited ;\n",
        "qos-policy.conf": "qos-ulps\n ipoib, pkey 0x1001 : 1\n ipoib : 1\n default : 0\nend-qos-ulps\n",
    },
    "lmc": {"+": "lmc 1\n"},
    "ftree without CN file, fallback": {
        "opensm.conf": "guid 0x11\nhonor_guid2lid_file TRUE\nrouting_engine ftree\nlog_flags 0x07\n"
    },
    "updn over three tiers": {
        "opensm.conf": "guid 0x11\nhonor_guid2lid_file TRUE\nrouting_engine updn,no_fallback\nlog_flags 0x07\n"
    },
    "nothing at all": {"opensm.conf": "\n"},
    "timers": {
        "+": "transaction_timeout 5000\nsm_inactive TRUE\nm_key_protection_level 2\nm_key_lease_period 60\nsweep_interval 0\n"
    },
}


def test_refusals_together(golden: Callable[[str, str], None]) -> None:
    assert lint({f"/etc/opensm/{name}": text.encode() for name, text in GOOD.items()}, known=KNOWN) == []
    lines = []
    for case, change in TOGETHER.items():
        files = {**GOOD, **{name: text for name, text in change.items() if name != "+"}}
        files["opensm.conf"] += change.get("+", "")
        problems = lint({f"/etc/opensm/{name}": text.encode() for name, text in files.items()}, known=KNOWN)
        assert problems, f"{case}: nothing was said"
        lines += [f"# {case}", *map(str, problems)]
    lines += ["# no opensm.conf", *map(str, lint({}))]
    lines += ["# no partitions.conf", *map(str, lint({CONF: GOOD["opensm.conf"].encode()}, known=KNOWN))]
    golden("opensm/refusals/together.txt", "\n".join(lines) + "\n")


@pytest.mark.parametrize("kind", READERS)
def test_readers_survive_anything(kind: str) -> None:
    read = READERS[kind][1]
    for text in ("", "\0", "\xff" * 5000, ":;=,#\n" * 50, "a" * 10_000, ",,,;;;\n::\n", "any,pkey 0x1-:\n"):
        read(text)
