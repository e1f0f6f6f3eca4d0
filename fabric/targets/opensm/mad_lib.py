"""libibumad by ctypes: one port of an HCA, open for management datagrams.

The library is loaded when a port is opened, so a machine without it can still do everything else. Under the preload of ibsim's
umad2sim the very same calls reach the simulator. Only libibumad's public calls are used and no struct of its own is laid out here.
"""

from __future__ import annotations

import ctypes
import errno
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from fabric.errors import FabricError
from fabric.targets.opensm.mad_packet import PERFORMANCE, PERMISSIVE_LID, SIZE, SMP, SMP_DIRECTED

LIBRARY: Final = "libibumad.so.3"
PACKAGE: Final = "libibumad3"
PRELOAD: Final = "umad2sim"  # in LD_PRELOAD, of a process that takes ibsim for its HCA
QP1_KEY: Final = 0x80010000  # the well-known Q_Key of QP1
_CLASSES: Final = (SMP, SMP_DIRECTED, PERFORMANCE)
_TIMED_OUT: Final = (errno.ETIMEDOUT, errno.EWOULDBLOCK, errno.EINTR)


class MadPort:
    """An open port. Made by `open_port`; not for several threads at once."""

    def __init__(self, library: Any, handle: int) -> None:
        self._library = library
        self._handle = handle
        self._offset: int = library.umad_size()
        self._out = ctypes.create_string_buffer(self._offset + SIZE)
        self._in = ctypes.create_string_buffer(self._offset + SIZE)
        self._length = ctypes.c_int()
        self._agents = {kind: self._register(kind) for kind in _CLASSES}

    def _register(self, kind: int) -> int:
        agent: int = self._library.umad_register(self._handle, kind, 1, 0, None)
        if agent < 0:
            raise FabricError(
                f"the InfiniBand port does not take management class 0x{kind:02x}: {os.strerror(-agent)}",
                hint="another program may hold it; run as root",
            )
        return agent

    def send(self, packet: bytes, kind: int, lid: int, timeout_ms: int) -> None:
        """Sends one datagram of class `kind` to `lid` (0 = by the directed route inside it); FabricError when the port refuses it."""
        performance = kind == PERFORMANCE
        out = self._out
        ctypes.memmove(ctypes.byref(out, self._offset), packet, SIZE)
        self._library.umad_set_addr(out, lid or PERMISSIVE_LID, int(performance), 0, QP1_KEY if performance else 0)
        result = self._library.umad_send(self._handle, self._agents[kind], out, SIZE, timeout_ms, 0)
        if result < 0:
            raise FabricError(f"the InfiniBand port cannot send: {os.strerror(ctypes.get_errno() or -result)}")

    def receive(self, timeout_ms: int) -> tuple[bytes, bool] | None:
        """The next datagram, and whether it is one of ours that came back unanswered; None when none came in time."""
        self._length.value = SIZE
        result = self._library.umad_recv(self._handle, self._in, ctypes.byref(self._length), timeout_ms)
        if result < 0:
            if -result in _TIMED_OUT or ctypes.get_errno() in _TIMED_OUT:
                return None
            raise FabricError(f"the InfiniBand port cannot receive: {os.strerror(ctypes.get_errno() or -result)}")
        unanswered = self._library.umad_status(self._in) != 0
        return self._in.raw[self._offset : self._offset + min(SIZE, max(0, self._length.value))], unanswered

    def close(self) -> None:
        """Gives the port back; safe to call once."""
        self._library.umad_close_port(self._handle)


def load_library(load: Callable[..., Any] = ctypes.CDLL) -> Any:
    """The library with its calls typed; FabricError where it is not installed."""
    try:
        library = load(LIBRARY, use_errno=True)
    except OSError as error:
        raise FabricError(
            f"cannot load {LIBRARY}: {error}", hint=f"apt-get install {PACKAGE} infiniband-diags"
        ) from error
    number, pointer, text = ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p
    signatures: dict[str, tuple[Any, list[Any]]] = {
        "umad_init": (number, []),
        "umad_open_port": (number, [text, number]),
        "umad_close_port": (number, [number]),
        "umad_size": (ctypes.c_size_t, []),
        "umad_register": (number, [number, number, number, ctypes.c_uint8, pointer]),
        "umad_set_addr": (number, [pointer, number, number, number, number]),
        "umad_send": (number, [number, number, pointer, number, number, number]),
        "umad_recv": (number, [number, pointer, ctypes.POINTER(number), number]),
        "umad_status": (number, [pointer]),
    }
    for name, (result, arguments) in signatures.items():
        call = getattr(library, name)
        call.restype, call.argtypes = result, arguments
    return library


@contextmanager
def open_port(ca: str = "", port: int = 0) -> Iterator[MadPort]:
    """Opens `port` of the HCA `ca` ("" and 0 = the first active one, as infiniband-diags choose).

    FabricError in one line: no library, no such device, no permission.
    """
    library = load_library()
    look_for_simulator(os.environ)
    if library.umad_init() < 0:
        raise _no_device(ca, port, errno.ENODEV)
    ctypes.set_errno(0)
    handle: int = library.umad_open_port(ca.encode() if ca else None, port)
    if handle < 0:
        raise _no_device(ca, port, ctypes.get_errno() or -handle)
    try:
        mad_port = MadPort(library, handle)
    except FabricError:
        library.umad_close_port(handle)
        raise
    try:
        yield mad_port
    finally:
        mad_port.close()


def look_for_simulator(environment: Mapping[str, str], sockets: Path = Path("/proc/net/unix")) -> None:
    """FabricError when this process is to speak to an ibsim that is not there: the preload would wait for it for ever.

    Does nothing without the preload, and for a simulator on another machine. `sockets` is the kernel's list of them.
    """
    if PRELOAD not in environment.get("LD_PRELOAD", "") or environment.get("IBSIM_SERVER_NAME"):
        return
    name = environment.get("IBSIM_SOCKNAME", "sim")
    try:
        known = sockets.read_text(encoding="utf-8", errors="replace")
    except OSError:  # no /proc: then it is not known, and the preload may try
        return
    if f"@{name}:ctl@" not in known:
        raise FabricError(f"no ibsim answers at the socket {name!r}", hint="is the lab up? see fabric lab status SPEC")


def _no_device(ca: str, port: int, code: int) -> FabricError:
    """Why a port could not be opened, as a sentence."""
    which = f"InfiniBand device {ca or 'of this machine'}{f' port {port}' if port else ''}"
    if code in {errno.EACCES, errno.EPERM}:
        return FabricError(
            f"no permission to open {which}",
            hint="run as root, or give the group of /dev/infiniband/umad* to this user",
        )
    return FabricError(
        f"cannot open {which}: {os.strerror(code)}",
        hint="ibstat lists devices and ports; in a virtual lab run this under `fabric lab exec`",
    )
