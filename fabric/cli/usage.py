"""A mistake on the command line as one line with a hint, like every other error."""

from __future__ import annotations

import difflib
import re

import click


def usage_error(error: click.UsageError) -> tuple[str, str | None]:
    """Message and hint of click's error: the message on one line; in the hint what was meant, or how the command is called."""
    message = re.sub(r"\s+", " ", error.format_message()).strip().rstrip(".")
    message = message[:1].lower() + message[1:]
    context = error.ctx
    if context is None:
        return message, None
    return f"{context.command_path}: {message}", _hint(error, context)


def _hint(error: click.UsageError, context: click.Context) -> str:
    command = context.command
    if isinstance(command, click.Group):
        return _near_command(error, command, context) or f"{context.command_path} --help lists the commands"
    if "unexpected extra argument" in error.message and _has_spec_option(command):
        return f"here the spec is an option: {context.command_path} --spec SPEC"
    usage = " ".join([context.command_path, *command.collect_usage_pieces(context)])
    return f"{usage}; {context.command_path} --help says more"


def _near_command(error: click.UsageError, group: click.Group, context: click.Context) -> str:
    said = re.match(r"No such command '(.*)'", error.message)
    near = difflib.get_close_matches(said[1], group.list_commands(context), n=1, cutoff=0.65) if said else []
    return f"did you mean {context.command_path} {near[0]}?" if near else ""


def _has_spec_option(command: click.Command) -> bool:
    return any(isinstance(param, click.Option) and param.name == "spec" for param in command.params)
