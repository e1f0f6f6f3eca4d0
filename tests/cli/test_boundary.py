"""The error boundary: exit code and the one line for every way in which a command can end."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import types
from collections.abc import Callable
from pathlib import Path

import click
import pytest

from fabric.__main__ import main as start
from fabric.cli import boundary
from fabric.errors import DesignError, FabricError, FabricErrors


def _ending(end: Callable[[], object]) -> click.Command:
    return click.Command("go", callback=end)


def _throw(error: BaseException) -> Callable[[], object]:
    def end() -> None:
        raise error

    return end


def _abort_at_prompt() -> None:
    try:
        raise KeyboardInterrupt
    except KeyboardInterrupt:
        raise click.Abort from None


def _exit(code: int) -> Callable[[], object]:
    return lambda: click.get_current_context().exit(code)


ENDS: list[tuple[Callable[[], object], int, str]] = [
    (lambda: None, 0, ""),
    (lambda: 2, 2, ""),
    (lambda: True, 0, ""),
    (_exit(2), 2, ""),
    (_throw(SystemExit(2)), 2, ""),
    (_throw(FabricError("no such zone")), 1, "error: no such zone\n"),
    (_throw(FabricError("no such zone", hint="look")), 1, "error: no such zone (hint: look)\n"),
    (_throw(DesignError(("a", 0), "too many")), 1, "error: too many\n"),
    (_throw(FabricErrors([FabricError("one"), FabricError("two", hint="h")])), 1, "error: one\nerror: two (hint: h)\n"),
    (_throw(FabricError("two\nlines \x1b[2J")), 1, "error: two\\nlines \\x1b[2J\n"),
    (_throw(KeyboardInterrupt()), 130, "interrupted\n"),
    (_abort_at_prompt, 130, "interrupted\n"),
    (_throw(EOFError()), 1, "aborted\n"),
    (_throw(click.Abort()), 1, "aborted\n"),
    (_throw(click.ClickException("odd")), 1, "error: odd\n"),
    (_throw(OSError(errno.ENOSPC, "No space left on device", "/mnt/x")), 1, "error: /mnt/x: No space left on device\n"),
    (_throw(OSError(errno.EROFS, "Read-only file system")), 1, "error: the system refused: Read-only file system\n"),
    (_throw(OSError(errno.EACCES, "Permission denied", b"a", None, "b")), 1, "error: a -> b: Permission denied\n"),
    (_throw(RecursionError()), 1, "error: the input is nested too deep to be worked on\n"),
    (_throw(BrokenPipeError(errno.EPIPE, "Broken pipe")), 1, "error: the system refused: Broken pipe\n"),
]


@pytest.mark.parametrize(("end", "code", "stderr"), ENDS)
def test_every_end(end: Callable[[], object], code: int, stderr: str, capsys: pytest.CaptureFixture[str]) -> None:
    said = boundary.run(_ending(end), [])
    err = capsys.readouterr().err
    assert (said, err.lstrip("\n")) == (code, stderr)


def test_memory(capsys: pytest.CaptureFixture[str]) -> None:
    assert boundary.run(_ending(_throw(MemoryError())), []) == 1
    assert capsys.readouterr().err.startswith("error: there is not enough memory")


def test_usage_error_is_not_exit_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert boundary.run(_ending(lambda: None), ["--no-such"]) == 1
    err = capsys.readouterr().err
    assert err.startswith("error: fabric: no such option")
    assert err.endswith(" (hint: fabric [OPTIONS]; fabric --help says more)\n")


def test_help_is_exit_0(capsys: pytest.CaptureFixture[str]) -> None:
    assert boundary.run(_ending(lambda: None), ["--help"]) == 0
    assert "Usage" in capsys.readouterr().out


@click.command("go")
@click.argument("words", nargs=-1, type=click.UNPROCESSED)
def _broken(words: tuple[str, ...]) -> None:
    raise ZeroDivisionError("by token=abc123")


SECRETS = ["--", "--password", "hunter2", "--api-token=hunter3", "ssh://bob:hunter4@leaf1", "plain"]


def test_bug_is_a_line_and_a_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert boundary.run(_broken, SECRETS) == 3
    (log,) = (tmp_path / "fabric").iterdir()
    line = f"error: internal error: ZeroDivisionError: by token=*** (details in {log})\n"
    assert capsys.readouterr().err == line
    text = log.read_text()
    assert "Traceback" in text
    assert "pydantic: 2" in text
    assert "plain" in text
    assert "hunter" not in text
    assert "abc123" not in text
    assert log.stat().st_mode & 0o077 == 0


def test_log_goes_to_the_temporary_folder_then_nowhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    monkeypatch.setenv("XDG_STATE_HOME", str(blocked))
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(tmp_path / "tmp"))
    assert boundary.run(_broken, []) == 3
    assert f"(details in {tmp_path / 'tmp'}" in capsys.readouterr().err
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(blocked))
    assert boundary.run(_broken, []) == 3
    assert "no log file could be written" in capsys.readouterr().err


def test_unlisted_system_error_is_a_bug(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert boundary.run(_ending(_throw(OSError(errno.EBADF, "Bad file descriptor"))), []) == 3


# Output waits for the flush at the end, as it does for most users
BUFFERED = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
_PRINTS = """
import sys, click
from fabric.cli.boundary import run
from fabric.errors import FabricError
@click.command()
@click.option("--times", type=int)
@click.option("--fail", is_flag=True)
def go(times, fail):
    for n in range(times):
        print("x" * 99)
    if fail:
        raise FabricError("no such zone")
sys.exit(run(go))
"""


@pytest.mark.parametrize("times", [1, 100_000])  # met by the last flush; met by print
@pytest.mark.parametrize(
    ("out", "line"), [("pipe", ""), ("/dev/full", "error: the system refused: No space left on device\n")]
)
def test_output_that_nobody_takes(times: int, out: str, line: str) -> None:
    if out == "pipe":
        reader, writer = os.pipe()
        os.close(reader)
    else:
        writer = os.open(out, os.O_WRONLY)
    command = [sys.executable, "-c", _PRINTS, f"--times={times}"]
    done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, text=True, check=False, env=BUFFERED)
    os.close(writer)
    assert (done.returncode, done.stderr) == (1, line)


def test_first_error_wins_over_output_that_nobody_takes() -> None:
    with Path("/dev/full").open("w") as full:
        command = [sys.executable, "-c", _PRINTS, "--times=1", "--fail"]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False, env=BUFFERED)
    assert (done.returncode, done.stderr) == (1, "error: no such zone\n")


@pytest.mark.parametrize(("option", "code"), [("", 0), ("--fail", 1)])
def test_closed_streams(option: str, code: int) -> None:
    command = f"exec {sys.executable} -c '{_PRINTS}' --times=1 {option} >&- 2>&-"
    assert subprocess.run(["sh", "-c", command], check=False, env=BUFFERED).returncode == code


_STREAMS = """
import os, sys, click
from fabric.cli.boundary import run
@click.command()
def go():
    assert not any(stream.isatty() for stream in (sys.stdin, sys.stdout, sys.stderr))
    assert sys.stdin.read() == str()
    os._exit(10 + os.open(os.devnull, os.O_RDONLY))
sys.exit(run(go))
"""


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- 2>&-", "<&- >&- 2>&-"])
def test_closed_streams_are_there_and_no_file_takes_their_place(closed: str) -> None:
    command = f"exec {sys.executable} -c '{_STREAMS}' </dev/null >/dev/null {closed}"
    assert subprocess.run(["sh", "-c", command], check=False).returncode > 12


def test_mask_is_fast_on_long_words() -> None:
    text = "a" * 200_000 + " snmp_community: 'one two' x"
    assert boundary.mask(text) == "a" * 200_000 + " snmp_community: *** x"


class _Interrupted(types.ModuleType):
    def __getattr__(self, _: str) -> object:
        raise KeyboardInterrupt


def test_an_interrupt_during_the_imports(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setitem(sys.modules, "fabric.cli.main", _Interrupted("fabric.cli.main"))
    with pytest.raises(SystemExit) as ended:
        start()
    assert (ended.value.code, capsys.readouterr()) == (130, ("", "interrupted\n"))
