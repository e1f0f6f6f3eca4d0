"""The page of the command line reference, from the click commands themselves."""

from __future__ import annotations

import inspect
from collections.abc import Iterator

import click

from fabric.cli.main import cli
from tools.docs_text import GENERATED, prose, table

_INTRO = """# Command line reference

Exit codes of every command: 0 = fine, nothing to do; 1 = could not do it; 2 = done, and there is something to see
(a plan with changes); 3 = a bug of ours; 130 = interrupted. Every command takes `-h` and `--help`.

"""


def cli_page() -> str:
    """The whole page: the root command, then every visible command, groups before what they hold."""
    sections = [_section(context) for context in _contexts(_context(cli, "fabric", None))]
    return (GENERATED + _INTRO + "".join(sections)).rstrip("\n") + "\n"


def _context(command: click.Command, name: str, parent: click.Context | None) -> click.Context:
    return click.Context(command, info_name=name, parent=parent, **command.context_settings)


def _contexts(context: click.Context) -> Iterator[click.Context]:
    yield context
    if isinstance(context.command, click.Group):
        for name in context.command.list_commands(context):
            command = context.command.get_command(context, name)
            if command is not None and not command.hidden:
                yield from _contexts(_context(command, name, context))
                for word, own in getattr(command, "own_commands", dict)().items():
                    yield _context(own, f"{name} {word}", context)


def _section(context: click.Context) -> str:
    command = context.command
    usage = " ".join([context.command_path, *command.collect_usage_pieces(context)])
    text = f"## {context.command_path}\n\n{_prose(command.help or '')}```text\n{usage}\n```\n\n"
    if isinstance(command, click.Group):
        text += table(("command", "what it does"), _commands(context, command))
    return text + table(("option", "what it does"), _options(context))


def _prose(text: str) -> str:
    # What stands behind a form feed is for readers of the code; click's mark "do not wrap" is nothing for a page.
    paragraphs = inspect.cleandoc(text.partition("\f")[0]).replace("\b\n", "").split("\n\n")
    return "".join(f"{prose(part.strip())}\n\n" for part in paragraphs if part.strip())


def _commands(context: click.Context, group: click.Group) -> Iterator[tuple[str, str]]:
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if command is not None and not command.hidden:
            path = f"{context.command_path} {name}"
            yield f"[{name}](#{path.replace(' ', '-')})", command.get_short_help_str(limit=200)


def _options(context: click.Context) -> Iterator[tuple[str, str]]:
    # Without --help, which click makes on first use and keeps: its names would depend on who asked for it first.
    for parameter in context.command.params:
        record = parameter.get_help_record(context)
        if record is not None and record[1]:  # an argument without a text of its own is explained by the usage line
            yield f"`{record[0]}`", record[1]
