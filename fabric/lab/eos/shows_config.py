"""The show commands about configurations: running, startup, sessions, checkpoints."""

from __future__ import annotations

import difflib
import re
import time
from typing import Any

from fabric.lab.eos import config
from fabric.lab.eos.grammar import Refused
from fabric.lab.eos.shell import Answer, Call, Handler, Shell, section
from fabric.lab.eos.shows_base import Json, Shows, joined
from fabric.lab.eos.sources import Sources
from fabric.lab.eos.tree import Node, render


def configurations(sources: Sources) -> dict[str, Handler]:
    """The answers to the commands about configurations, by the names of the command table."""
    return _ConfigShows(sources).table()


class _ConfigShows(Shows):
    def show_running(self, shell: Shell, call: Call) -> Answer:
        switch = shell.switch
        command = " ".join(call.words)
        lines = config.shown(switch.sessions.running, switch.hostname, switch.hardware, command)
        if not call.as_json:
            return joined(lines)
        return {"header": lines[:3], "comments": [], "cmds": _commands(switch.sessions.running)}

    def show_running_section(self, shell: Shell, call: Call) -> Answer:
        try:
            found = re.compile(call.words[3], re.IGNORECASE)
        except re.error:
            raise Refused(f"% Invalid regular expression: {call.words[3]}") from None
        return joined(section(render(shell.switch.sessions.running), found))

    def show_running_diffs(self, shell: Shell, _: Call) -> Answer:
        switch = shell.switch
        new = config.text_of(switch.sessions.running).splitlines()
        lines = difflib.unified_diff(
            switch.startup_lines() or [], new, "flash:/startup-config", "system:/running-config", lineterm=""
        )
        return joined(list(lines))

    def show_startup(self, shell: Shell, _: Call) -> Answer:
        switch = shell.switch
        lines = switch.startup_lines()
        if lines is None:
            return ""
        stamp = time.strftime("%a %b %e %H:%M:%S %Y", time.gmtime(switch.startup_path.stat().st_mtime))
        head = [
            "! Command: show startup-config",
            f"! Startup-config last modified at  {stamp} by root",
            f"! device: {switch.hostname} ({switch.hardware.model}, EOS-{switch.hardware.version})",
            "!",
            f"! boot system flash:/EOS64-{switch.hardware.version}.swi",
            "!",
        ]
        return joined([*head, *lines])

    def _session_tree(self, shell: Shell, call: Call) -> tuple[str, Node]:
        if "named" in call.words:
            name = call.words[3]
            session = shell.switch.sessions.by_name.get(name)
            if session is None:
                raise Refused(f"% Session {name} does not exist")
            return name, session.tree
        if shell.session is None or shell.editor is None:
            raise Refused("% Not in a configuration session")
        return shell.session.name, shell.editor.seen

    def show_session_config(self, shell: Shell, call: Call) -> Answer:
        _, tree = self._session_tree(shell, call)
        switch = shell.switch
        return joined(config.shown(tree, switch.hostname, switch.hardware, " ".join(call.words)))

    def show_session_diffs(self, shell: Shell, call: Call) -> Answer:
        name, tree = self._session_tree(shell, call)
        return joined(config.diffs(shell.switch.sessions.running, tree, name))

    def show_config_sessions(self, shell: Shell, call: Call) -> Answer:
        sessions = shell.switch.sessions
        data = sessions.as_json(shell.switch.node.settings.release)
        if call.as_json:
            return data
        out = [
            "Maximum number of completed sessions: 1",
            f"Maximum number of pending sessions: {sessions.limit}",
            "Merge on commit is disabled",
            "Autosave to startup-config on commit is disabled",
        ]
        if sessions.armed is not None and shell.switch.node.settings.release >= (4, 32):
            left = time.strftime("%H:%M:%S", time.gmtime(max(0.0, sessions.armed.deadline - sessions.clock())))
            out += [
                f"Session with pending commit timer: {sessions.armed.name}",
                f"Time left until commit timer expiry: in {left.lstrip('0') or '0'}",
            ]
        out += [
            "",
            "  Name                State                 User       Terminal",
            "  ------------------- --------------------- ---------- --------",
        ]
        shown: Any = data["sessions"]
        for name, one in shown.items():
            users = [f"{user['user']:<10} {user['terminal']}" for user in one["instances"].values()] or [""]
            out.append(f"  {name:<19} {one['state']:<21} {users[0]}".rstrip())
        return joined(out)

    def show_config_checkpoints(self, shell: Shell, call: Call) -> Answer:
        found = shell.switch.sessions.checkpoints.values()
        if call.as_json:
            entries = {one.name: {"fileDate": one.taken, "fileUser": one.user} for one in found}
            return {"checkpoints": entries, "maxCheckpoints": 20}
        out = [
            "Maximum number of checkpoints: 20",
            "  Filename                     Date                 User",
            "  ----------------- ------------------- ----------",
        ]
        for one in found:
            stamp = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(one.taken))
            out.append(f"  {one.name:<17} {stamp:<19} {one.user}")
        return joined(out)


def _commands(node: Node) -> Json:
    return {child.line: {"comments": [], "cmds": _commands(child)} if child.opens else None for child in node.sorted()}
