"""One login on the virtual switch: its prompt, its mode, and how a typed line finds what answers it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from fabric.lab.eos import grammar
from fabric.lab.eos.device import Switch
from fabric.lab.eos.editor import Editor
from fabric.lab.eos.grammar import Refused
from fabric.lab.eos.sessions import Session, SessionError

GARBAGE = "".join(chr(33 + (place * 7919) % 90) for place in range(4000)) + "\n{ \x00 }]\n"
"""What a switch answers whose `garbage` fault is on: bytes that are neither text of EOS nor JSON."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What the terminal is to do: print `text`, then `action`: "" (prompt again), "ask" (print `argument` as prompt), "paste" (collect
    lines to Ctrl-D), "bash" (run `argument`, "" = a shell), "flood" (`argument` megabytes), "hang", "reload", "close".
    """

    text: str = ""
    action: str = ""
    argument: str = ""


Answer = str | dict[str, Any] | Reply
"""What a command gives: text, an object that has a JSON form, or something for the terminal to do."""


@dataclass(frozen=True, slots=True)
class Call:
    """A command as it was read: its full words, and whether `| json` follows."""

    words: tuple[str, ...]
    as_json: bool


Handler = Callable[["Shell", Call], Answer]

_EXEC_IN_CONFIG = (
    "show",
    "copy",
    "commit",
    "abort",
    "rollback",
    "end",
    "write",
    "bash",
    "dir",
    "verify",
    "configure",
    "terminal",
    "diff",
)
_UNPRIVILEGED = ("show", "enable", "exit", "logout", "quit", "terminal", "ping", "disable")


class Shell:
    """One CLI. `handlers` maps the names in the command table to functions."""

    def __init__(self, switch: Switch, user: str, terminal: str, number: int, handlers: dict[str, Handler]) -> None:
        self.switch = switch
        self.user, self.terminal, self.number = user, terminal, number
        self.editor: Editor | None = None
        self.session: Session | None = None
        self.privileged = self._lands_privileged()
        self.generation = switch.generation
        self._handlers = handlers
        self._question: Callable[[str], Reply] | None = None
        self._on_paste: Callable[[str], str] | None = None

    @property
    def prompt(self) -> str:
        """`name>`, `name#`, `name(config-if-Et3/1/1)#`, `name(s1)(config-s-abcdef)#`."""
        settings = self.switch.node.settings
        head = self.switch.hostname + ("(s1)" if settings.supervisor_prompt else "")
        if self.editor is None:
            return head + ("#" if self.privileged else ">")
        cut = f"-s-{self.session.name[: settings.session_name_cut]}" if self.session else ""
        return f"{head}(config{cut}{self.editor.prompt})#"

    def execute(self, line: str) -> Reply:
        """Answer one line."""
        if self._question is not None:
            question, self._question = self._question, None
            return question(line.strip())
        command = line.strip()
        if not command or command.startswith("!"):
            return Reply()
        foreign = self.switch.faults.foreign_session()
        if foreign and foreign not in self.switch.sessions.by_name:
            self.switch.sessions.open(foreign)
        try:
            return self._dispatch(command)
        except (Refused, SessionError) as error:
            return Reply(f"{error}\n")

    def pasted(self, text: str) -> Reply:
        """The lines that were pasted after a reply "paste"."""
        take, self._on_paste = self._on_paste, None
        return Reply(take(text) if take else "")

    def ask(self, prompt: str, then: Callable[[str], Reply]) -> Reply:
        """A question; `then` gets what is typed."""
        self._question = then
        return Reply("", "ask", prompt)

    def paste(self, notice: str, then: Callable[[str], str]) -> Reply:
        """Collect lines up to Ctrl-D; `then` gets them."""
        self._on_paste = then
        return Reply(notice, "paste")

    def enter(self, session: Session | None) -> None:
        """Go into a configuration session, or with None into the running-config itself."""
        self.leave()
        self.session, self.editor = session, self.switch.editor(session)
        if session:
            session.users[self.number] = (self.user, self.terminal)

    def leave(self) -> None:
        """Back to exec mode; a session stays pending."""
        if self.session:
            self.session.users.pop(self.number, None)
        self.session = self.editor = None

    def _lands_privileged(self) -> bool:
        running = self.switch.sessions.running
        account = running.value("username", self.user, "privilege") or ""
        return account.startswith("15") and bool(running.find("aaa", "authorization", "exec", "default"))

    def _dispatch(self, command: str) -> Reply:
        first = command.split(maxsplit=1)[0]
        if self.editor is not None:
            if command == "exit" and self.editor.depth == 0:
                self.leave()
                return Reply()
            if not _is_exec(first):
                return self._configure(command)
        elif not self.privileged and not any(word.startswith(first) for word in _UNPRIVILEGED):
            raise grammar.invalid(0, first)
        head, filters = _pipes(command) if "show".startswith(first) and len(first) > 1 else (command, [])
        fault = self.switch.faults.answer(command)
        if fault is not None:
            return _misbehave(fault)
        match = grammar.read("exec", head)
        as_json = bool(filters) and filters[0].split()[0] == "json"
        answer = self._handlers[match.row.opens](self, Call(match.words, as_json))
        if isinstance(answer, Reply):
            return answer
        return Reply(_filtered(_written(answer), filters))

    def _configure(self, line: str) -> Reply:
        editor = self.editor
        if editor is None:
            raise Refused("% Invalid input")
        editor.feed(line)
        if self.session is None and line != "exit":
            self.switch.sessions.edited()
        return Reply()


def _is_exec(first: str) -> bool:
    return any(word == first or (len(first) > 2 and word.startswith(first)) for word in _EXEC_IN_CONFIG) or (
        first in ("sh", "wr") and first != "shut"
    )


def _misbehave(fault: str | int) -> Reply:
    if isinstance(fault, int):
        return Reply("", "flood", str(fault))
    return Reply(GARBAGE) if fault == "garbage" else Reply("", "hang")


def _pipes(command: str) -> tuple[str, list[str]]:
    head, *filters = [part.strip() for part in re.split(r"\s\|\s", command)]
    return head, [part for part in filters if part]


def _written(answer: str | dict[str, Any]) -> str:
    return answer if isinstance(answer, str) else json.dumps(answer, indent=4) + "\n"


def _filtered(text: str, filters: list[str]) -> str:
    for entry in filters:
        word, _, pattern = entry.partition(" ")
        if word == "json" or "no-more".startswith(word):
            continue
        text = _filter(word, pattern.strip(), text)
    return text


def _filter(word: str, pattern: str, text: str) -> str:
    names = [name for name in ("include", "exclude", "begin", "section", "count") if name.startswith(word)]
    if not names or (not pattern and names != ["count"]):
        raise grammar.invalid(0, word)
    try:
        found = re.compile(pattern, re.IGNORECASE)
    except re.error:
        raise Refused(f"% Invalid regular expression: {pattern}") from None
    lines = text.splitlines()
    if names[0] == "include":
        lines = [line for line in lines if found.search(line)]
    elif names[0] == "exclude":
        lines = [line for line in lines if not found.search(line)]
    elif names[0] == "begin":
        start = next((place for place, line in enumerate(lines) if found.search(line)), len(lines))
        lines = lines[start:]
    elif names[0] == "section":
        lines = section(lines, found)
    else:
        lines = [str(len(lines))]
    return "".join(f"{line}\n" for line in lines)


def section(lines: list[str], found: re.Pattern[str]) -> list[str]:
    """The top-level blocks with a line that matches, whole."""
    out: list[str] = []
    block: list[str] = []
    for line in [*lines, "."]:
        if block and not line.startswith(" "):
            if any(found.search(one) for one in block):
                out += block
            block = []
        if line != "!":
            block.append(line)
    return out
