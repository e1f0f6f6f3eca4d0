"""The one error boundary: what a user caused is one line and exit 1, a bug of ours is one line, a log file and exit 3.

Exit codes are a contract: 0 nothing to do, 1 could not do it, 2 done and there is something to see, 3 a bug, 130 interrupted.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import select
import sys
from pathlib import Path

import click

from fabric.errors import FabricError, FabricErrors

FAILED = 1
BUG = 3
INTERRUPTED = 130

# What a disk, a file system or a network refuses; every other errno means that we called the system wrongly.
_REFUSED = frozenset(
    getattr(errno, name)
    for name in (
        *(
            "EACCES",
            "EPERM",
            "EROFS",
            "ENOSPC",
            "EDQUOT",
            "EFBIG",
            "EIO",
            "EMFILE",
            "ENFILE",
            "EBUSY",
            "ETXTBSY",
            "ESTALE",
        ),
        *("ENOENT", "ENOTDIR", "EISDIR", "EEXIST", "ENOTEMPTY", "ENAMETOOLONG", "ELOOP", "ENOMEM", "ENODEV", "ENXIO"),
        *("ECONNREFUSED", "ECONNRESET", "ECONNABORTED", "ETIMEDOUT", "EHOSTUNREACH", "ENETUNREACH", "EADDRINUSE"),
    )
)
_HELP: tuple[type[Exception], ...] = tuple(
    found for found in (getattr(click.exceptions, "NoArgsIsHelpError", None),) if found is not None
)
"""How click, from 8.2, tells that a group was called without a command: as an error whose message is the help."""
_MASKED_NAME = r"(?:password|passwd|passphrase|secret|token|community|psk|api[_-]?key|private[_-]?key)[\w-]{0,40}"
_SECRET_OPTION = re.compile(rf"--?[\w-]*{_MASKED_NAME}\Z", re.IGNORECASE)
_SECRET_VALUE = re.compile(rf"({_MASKED_NAME}[\"']?\s*[=:]\s*)(\"[^\"]*\"|'[^']*'|[^\s,;&]+)", re.IGNORECASE)
_URL_PASSWORD = re.compile(r"(://[^\s/:@]*:)[^\s/@]+@")


def run(cli: click.Command, argv: list[str] | None = None) -> int:
    """Runs the command with `argv` (default: sys.argv) and returns the exit code. Nothing but the code leaves: no exception."""
    args = list(sys.argv[1:] if argv is None else argv)
    _open_streams()
    try:
        code = _invoke(cli, args)
        return _flush(code)
    except BrokenPipeError as error:
        return _broken_pipe(error)
    except KeyboardInterrupt:
        return _interrupted()
    except Exception as error:
        try:
            _flush(FAILED)
        except OSError:  # the first error is the one to tell
            _drop_stdout()
        return _failed(error, args)


def mask_argv(argv: list[str]) -> list[str]:
    """The arguments with the values of secret options, `name=secret` pairs and passwords in URLs replaced by `***`."""
    out: list[str] = []
    for arg in argv:
        follows = bool(out) and _SECRET_OPTION.match(out[-1]) is not None and not arg.startswith("-")
        out.append("***" if follows else mask(arg))
    return out


def mask(text: str) -> str:
    """The text with what looks like a secret replaced by `***`: `password=...`, `token: ...`, `https://user:...@host`."""
    return _URL_PASSWORD.sub(r"\1***@", _SECRET_VALUE.sub(r"\1***", text))


def _open_streams() -> None:
    """A standard stream that we were started without leads to the null device.

    Else the next file that is opened (a journal, a lock) takes its number, and what a library or a child writes goes into that file.
    """
    for number, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        try:
            os.fstat(number)
        except OSError:
            os.dup2(os.open(os.devnull, os.O_RDWR), number)  # it has that number already: the lowest free one
            os.set_inheritable(number, True)
        if getattr(sys, name) is None:
            setattr(sys, name, open(number, mode, encoding="utf-8", closefd=False))  # noqa: SIM115 - as long as the process


def _invoke(cli: click.Command, args: list[str]) -> int:
    streams = sys.stdout, sys.stderr
    try:
        result = cli.main(args=args, prog_name="fabric", standalone_mode=False)
    except click.UsageError as error:
        if isinstance(error, _HELP):
            error.show()
            return FAILED
        # click exits 2, which in our contract means "there is something to see", and says it on three lines and more
        from fabric.cli.usage import usage_error  # only a mistake pays for its imports

        return _say_error(*usage_error(error))
    except click.ClickException as error:
        return _say_error(error.format_message(), None)
    except click.Abort as error:
        if isinstance(error.__cause__ or error.__context__, KeyboardInterrupt):
            return _interrupted()
        return _say("aborted", FAILED)
    except SystemExit as error:
        if sys.stdout is not streams[0]:  # click makes of every EPIPE a quiet exit 1, with muted streams
            sys.stdout, sys.stderr = streams
            return _broken_pipe(BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE)))
        return error.code if isinstance(error.code, int) else FAILED if error.code else 0
    return result if isinstance(result, int) and not isinstance(result, bool) else 0


def _failed(error: Exception, args: list[str]) -> int:
    if isinstance(error, FabricErrors):
        for one in error.errors:
            _say_error(one.message, one.hint)
        return FAILED
    if isinstance(error, FabricError):
        return _say_error(error.message, error.hint)
    if isinstance(error, RecursionError):
        return _say_error("the input is nested too deep to be worked on", None)
    if isinstance(error, MemoryError):
        return _say_error("there is not enough memory", "a smaller input, or a machine with more memory")
    if isinstance(error, OSError) and error.errno in _REFUSED:
        return _say_error(_system(error), None)
    return _bug(error, args)


def _system(error: OSError) -> str:
    """`/mnt/out: No space left on device`, from the names and the reason in the error."""
    names = [os.fsdecode(name) for name in (error.filename, error.filename2) if isinstance(name, str | bytes)]
    reason = error.strerror or str(error)
    return f"{' -> '.join(names)}: {reason}" if names else f"the system refused: {reason}"


def _bug(error: Exception, args: list[str]) -> int:
    from fabric.cli.bug_log import write_log  # only a bug pays for its imports

    what = f"{type(error).__name__}: {mask(str(error))}"[:200]
    log = write_log(error, mask_argv(args), mask)
    details = f"details in {log}" if log else "and no log file could be written"
    return _say(f"error: internal error: {what} ({details})", BUG)


def _flush(code: int) -> int:
    """What is still buffered may meet a full disk or a closed pipe: that is our error, not one at interpreter shutdown."""
    if sys.stdout is not None and not sys.stdout.closed:
        sys.stdout.flush()
    return code


def _broken_pipe(error: BrokenPipeError) -> int:
    """Quiet when the reader of our output has gone (`fabric ... | head`); a pipe or socket to something else gets its line."""
    if not _reader_gone():
        return _say_error(_system(error), None)
    _drop_stdout()
    return FAILED


def _reader_gone() -> bool:
    try:
        poll = select.poll()
        poll.register(sys.stdout.fileno(), 0)
        return any(event & (select.POLLERR | select.POLLHUP) for _, event in poll.poll(0))
    except (OSError, ValueError, AttributeError):  # no standard output, or none with a descriptor
        return False


def _drop_stdout() -> None:
    """Points standard output at the null device, so that the flush at interpreter shutdown has nothing to complain about."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, sys.stdout.fileno())
        os.close(null)


def _interrupted() -> int:
    return _say("interrupted", INTERRUPTED)


def _say_error(message: str, hint: str | None) -> int:
    return _say(f"error: {message} (hint: {hint})" if hint else f"error: {message}", FAILED)


def _say(line: str, code: int) -> int:
    """One line on stderr: what a message took from outside cannot break the line or move the cursor."""
    clean = "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in line)
    with contextlib.suppress(OSError, ValueError):  # nobody listens on stderr: the exit code still tells
        click.echo(clean, err=True)
    return code


def state_folder() -> Path:
    """`$XDG_STATE_HOME/fabric`, by default `~/.local/state/fabric` (XDG base directory specification 0.8)."""
    base = os.environ.get("XDG_STATE_HOME", "")
    return (Path(base) if Path(base).is_absolute() else Path.home() / ".local" / "state") / "fabric"
