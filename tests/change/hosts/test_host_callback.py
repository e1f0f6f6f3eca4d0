"""The callback with the real ansible-playbook: what changed, failed and was not reached, no secret, and the reasons of reboots."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from fabric.change.hosts.ansible import run_work
from fabric.change.hosts.work import FileRow, HostOutcome, Work, dump_outcomes, load_outcomes
from fabric.resources import resource
from fabric.targets.host.playbook import folder_of_playbooks

SITE = """
- name: Site
  hosts: gpu_hosts
  gather_facts: false
  tasks:
    - name: Write a file
      ansible.builtin.copy:
        content: "host {{ inventory_hostname }}\\npassword = Zebra4711\\n"
        dest: "{{ folder }}/{{ inventory_hostname }}.conf"
        mode: "0600"
    - name: Fail with a secret
      ansible.builtin.fail:
        msg: "the server said token=Zebra4711"
      when: inventory_hostname == 'b'
    - name: Fail in silence
      ansible.builtin.command: sh -c "echo Zebra4711; exit 3"
      no_log: true
      changed_when: false
      when: inventory_hostname == 'd' and not ansible_check_mode
"""
INVENTORY = """
gpu_hosts:
  hosts:
    a:
    b:
    c: {{ansible_connection: ssh, ansible_ssh_executable: {folder}/no-ssh}}
    d:
  vars: {{ansible_connection: local, ansible_become: false, folder: {folder}, fabric_reboot_folder: {folder}/reboot,
    ansible_python_interpreter: "{{{{ ansible_playbook_python }}}}"}}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("hosts_apply.yml", "hosts_pending.yml"):
        shutil.copy(resource("playbooks") / name, tmp_path)
    (tmp_path / "site.yml").write_text(SITE)
    (tmp_path / "no-ssh").write_text("#!/bin/sh\nexit 255\n")
    (tmp_path / "no-ssh").chmod(0o755)
    (tmp_path / "reboot").mkdir()
    (tmp_path / "reboot" / "rdma").write_text("LINK_TYPE_P1 changes\n")
    monkeypatch.setenv("FABRIC_PLAYBOOKS", str(tmp_path))
    monkeypatch.setenv("ANSIBLE_INVENTORY_ENABLED", "ansible.builtin.yaml")
    monkeypatch.setenv("ANSIBLE_SSH_RETRIES", "0")
    assert folder_of_playbooks() == tmp_path
    return tmp_path


def run(folder: Path, *, check: bool) -> dict[str, HostOutcome]:
    text = INVENTORY.format(folder=folder)
    found = run_work(Work(text, "", "hosts_apply.yml", ("a", "b", "c", "d"), check, 4, 300))
    assert load_outcomes(dump_outcomes(found)) == found
    assert "Zebra" not in str(found)
    return found


def test_what_a_playbook_does_is_told(folder: Path) -> None:
    asked = run(folder, check=True)
    assert {host: one.outcome for host, one in asked.items()} == {
        "a": "changed", "b": "failed", "c": "unreachable", "d": "changed",
    }  # fmt: skip
    new = FileRow(f"{folder}/a.conf", "new", "", (("+ host a", "+ password = <secret>"),))
    assert asked["a"].tasks[0].files == (new,)
    assert asked["a"].reboot == {"rdma": "LINK_TYPE_P1 changes"}
    assert asked["b"].detail == "Fail with a secret: the server said token=<secret>"
    assert not (folder / "a.conf").exists()
    done = run(folder, check=False)
    assert {host: one.outcome for host, one in done.items()} == {
        "a": "changed", "b": "failed", "c": "unreachable", "d": "failed",
    }  # fmt: skip
    assert done["d"].detail == "Fail in silence: hidden by no_log"
    assert (folder / "a.conf").read_text().startswith("host a\n")
