"""Secrets are masked wherever a configuration may hold one, and nothing else is."""

from __future__ import annotations

import pytest

from fabric.change.diff import diff_file
from fabric.change.mask import mask_json, mask_line, mask_lines, same_secrets
from fabric.targets.base import Artifact


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("username a privilege 15 role network-admin secret sha512 $6$x$y", "username a privilege 15 role network-admin secret sha512 <secret>"),
        ("enable secret 5 $1$x", "enable secret 5 <secret>"),
        ("enable password hunter2", "enable password <secret>"),
        ("tacacs-server host 10.0.0.1 vrf MGMT key 7 0822", "tacacs-server host 10.0.0.1 vrf MGMT key 7 <secret>"),
        ("tacacs-server key 8a $x", "tacacs-server key 8a <secret>"),
        ("radius-server host 10.0.0.1 key hunter2", "radius-server host 10.0.0.1 key <secret>"),
        ("   neighbor 10.0.0.1 password 7 0822", "   neighbor 10.0.0.1 password 7 <secret>"),
        ("snmp-server community public ro", "snmp-server community <secret> ro"),
        ("ntp authentication-key 1 md5 7 0822", "ntp authentication-key 1 md5 7 <secret>"),
        ("snmp-server user u g v3 auth sha hunter2 priv aes hunter3", "snmp-server user u g v3 auth sha <secret> priv aes <secret>"),
        ("snmp-server host 10.0.0.9 vrf MGMT version 2c public", "snmp-server host 10.0.0.9 vrf MGMT version 2c <secret>"),
        ("ip tacacs vrf MGMT source-interface Management0", "ip tacacs vrf MGMT source-interface Management0"),
        ("   ip ospf message-digest-key 1 md5 7 0822", "   ip ospf message-digest-key 1 md5 7 <secret>"),
        ("   ip ospf authentication-key 7 0822", "   ip ospf authentication-key 7 <secret>"),
        ("   authentication-key hunter2", "   authentication-key <secret>"),
        ("      key 0abc 7 0822", "      key 0abc 7 <secret>"),
        ("   key hunter2", "   key <secret>"),
        ("   shared-key 7 0822", "   shared-key 7 <secret>"),
        ("   bfd authentication mode sha1 key-id 1 hunter2", "   bfd authentication mode sha1 key-id 1 <secret>"),
        ("db_password = hunter2", "db_password = <secret>"),
        ("password = hunter2 and more", "password = <secret>"),
        ("password hunter2", "password <secret>"),
        ("machine apt.example.net login a password hunter2", "machine apt.example.net login a password <secret>"),
        ("deb https://a:hunter2@apt.example.net/ ./", "deb https://a:<secret>@apt.example.net/ ./"),
        ("deb https://apt.example.net:8443/a@b ./", "deb https://apt.example.net:8443/a@b ./"),
        ('api_key: "abc"', "api_key: <secret>"),
        ("   set community 65000:100 additive", "   set community 65000:100 additive"),
        ("   neighbor RTSW send-community", "   neighbor RTSW send-community"),
        ("   authentication protocol password public-key", "   authentication protocol password public-key"),
        ("username a ssh-key ecdsa-sha2-nistp256 AAAA a@b", "username a ssh-key ecdsa-sha2-nistp256 AAAA a@b"),
        ("hostname secret-keeper", "hostname secret-keeper"),
    ],
)  # fmt: skip
def test_lines(line: str, shown: str) -> None:
    assert mask_line(line) == shown


def test_private_key() -> None:
    pem = ["a", "-----BEGIN RSA PRIVATE KEY-----", "MIIE", "vQIB", "-----END RSA PRIVATE KEY-----", "b"]
    assert mask_lines(pem) == ["a", pem[1], "<secret>", "<secret>", pem[4], "b"]


@pytest.mark.parametrize(
    ("key", "value", "shown"),
    [
        ("password", "x", "<secret>"), ("tacacsSecret", "x", "<secret>"), ("auth_key", "x", "<secret>"), ("psk", 5, "<secret>"),
        ("community", "public", "<secret>"), ("community", "65000:1", "65000:1"), ("communities", ["a"], ["a"]),
        ("key", "x1Y/z", "<secret>"), ("key", "AES_128", "AES_128"), ("key", 5, 5), ("key", "17", "17"), ("key", "", ""),
        ("key", ["aB3"], ["<secret>"]), ("key", "A" * 32, "<secret>"), ("cak", "0a1b", "<secret>"),
        ("keys", "x", "x"), ("secretKey", "x", "<secret>"),
        ("shared_key", "x", "<secret>"), ("password", "", ""), ("passwords", ["a", "b"], ["<secret>", "<secret>"]),
        ("x", {"token": "t", "n": [{"secret": "s"}]}, {"token": "<secret>", "n": [{"secret": "<secret>"}]}),
        ("pem", "-----BEGIN PRIVATE KEY-----\nx", "<secret>"), ("any", "a $SECRET{x}", "<secret>"),
    ],
)  # fmt: skip
def test_json(key: str, value: object, shown: object) -> None:
    assert mask_json(key, value) == shown


def test_placeholders_equal_what_is_set() -> None:
    running, desired = same_secrets("a\nx key 7 01\nenable secret 5 old", "a\nx key 8a $SECRET{k}\nenable secret 5 new")
    assert running.split("\n")[:2] == desired.split("\n")[:2]
    assert running.split("\n")[2] != desired.split("\n")[2]


def test_a_plain_key_is_masked_in_the_diff_of_a_json_file() -> None:
    old, new = (
        b'{"macsec": {"key": "hunter2hunter2", "cipher": "GCM"}}',
        b'{"macsec": {"key": "other3other3", "cipher": "GCM"}}',
    )
    diff = diff_file(Artifact("a", "rtsw", "fboss", "/etc/coop/agent.conf", new), old, lambda _target, text: text)
    shown = str(diff.changes)
    assert (diff.kind, "macsec" in shown, "hunter2" in shown, "other3" in shown) == ("changed", True, False, False)


@pytest.mark.parametrize("name", ["m_key", "sm_key", "sa_key", "cc_key"])
def test_the_keys_of_a_subnet_are_masked_and_compared_by_is_set(name: str) -> None:
    line, ours = f"{name} 0x00000000deadbeef", f"{name} $SECRET{{ib}}"
    assert mask_line(line) == f"{name} <secret>"
    assert len(set(same_secrets(f"lmc 0\n{line}\n", f"lmc 0\n{ours}\n"))) == 1
    assert mask_line("m_key_protection_level 2") == "m_key_protection_level 2"
