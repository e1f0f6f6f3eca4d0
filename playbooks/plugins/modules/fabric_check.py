#!/usr/bin/python
"""Ansible module fabric_check: runs check-host, and takes no more of it than so many bytes and seconds."""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import tempfile
import time
from collections.abc import Sequence
from typing import Any

from ansible.module_utils.basic import AnsibleModule

DOCUMENTATION = """
module: fabric_check
short_description: Runs check-host on a GPU host
description:
  - Runs a program and returns what it says. One that says too much, or does not end in time, is ended here on the host with all that it
    started, so that neither the network nor the machine that runs Ansible has to take it. It changes nothing.
options:
  argv: {description: The program and its arguments., type: list, elements: str, required: true}
  stdin: {description: What it is given at its standard input., type: str, default: ""}
  seconds: {description: How long it may take., type: int, default: 120}
  most: {description: Bytes that it may say., type: int, default: 1048576}
attributes:
  check_mode: {support: full}
  diff_mode: {support: none}
"""

EXAMPLES = """
- name: Run check-host
  fabric_check:
    argv: [/usr/libexec/fabric/check-host, --json]
"""

RETURN = """
stdout: {description: What it said., returned: when it ended, type: str}
stderr: {description: The beginning of what it said on standard error., returned: when it ended, type: str}
rc: {description: Its exit status., returned: when it ended, type: int}
"""

_ERRORS = 1 << 16
"""Bytes of standard error that are kept."""
_TICK_S = 0.2


def main() -> None:
    """Runs the module."""
    module = AnsibleModule(
        argument_spec={
            "argv": {"type": "list", "elements": "str", "required": True},
            "stdin": {"type": "str", "default": ""},
            "seconds": {"type": "int", "default": 120},
            "most": {"type": "int", "default": 1 << 20},
        },
        supports_check_mode=True,
    )
    given = module.params
    try:
        code, out, errors, why = run(given["argv"], given["stdin"], given["seconds"], given["most"])
    except OSError as error:
        module.fail_json(msg=f"{given['argv'][0]}: {error.strerror}", rc=error.errno)
    if why:
        module.fail_json(msg=why)
    module.exit_json(changed=False, rc=code, stdout=out, stderr=errors)


def run(argv: Sequence[str], text: str, seconds: float, most: int) -> tuple[int, str, str, str]:
    """Exit status, output, errors, and why it was ended by us ("" when it was not)."""
    with tempfile.TemporaryFile() as given:
        given.write(text.encode())
        given.seek(0)
        process = subprocess.Popen(  # noqa: S603 - as the module command: the playbook says what runs
            argv, stdin=given, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
        )
    try:
        out, errors, why = _read(process, time.monotonic() + seconds, most)
    finally:
        _end(process)
    why = f"Timed out after {seconds} s" if why == "late" else why
    return process.returncode or 0, out.decode("utf-8", "replace"), errors.decode("utf-8", "replace"), why


def _read(process: Any, until: float, most: int) -> tuple[bytes, bytes, str]:
    """What it says, until it ends, or says too much, or is late. Something that it left behind and that holds its output is not waited for."""
    said = {process.stdout: b"", process.stderr: b""}
    with selectors.DefaultSelector() as ready:
        for stream in said:
            ready.register(stream, selectors.EVENT_READ)
        while True:
            ended = process.poll() is not None
            found = ready.select(0 if ended else _TICK_S)
            for key, _ in found:
                data = os.read(key.fd, 1 << 16)
                if not data:
                    ready.unregister(key.fileobj)
                kept = said[key.fileobj]
                said[key.fileobj] = (kept + data)[: most + 1 if key.fileobj is process.stdout else _ERRORS]
            if len(said[process.stdout]) > most:
                return b"", b"", f"it says more than {most:,} bytes"
            if ended and not found:
                return said[process.stdout], said[process.stderr], ""
            if time.monotonic() > until:
                return b"", b"", "late"


def _end(process: Any) -> None:
    """Ends it, and what it started. One that the kernel holds fast is left."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(5)
    except (ProcessLookupError, PermissionError, subprocess.TimeoutExpired):
        pass
    for stream in (process.stdout, process.stderr):
        stream.close()


if __name__ == "__main__":
    main()
