"""A command line of the box: `python -I -S call.py FOLDER MODULE WORDS...` has the box's toolbox do it, or becomes the tool itself.

It imports nothing but what is built in: to start quickly is all that it is for.
"""

import posix
import sys
from _socket import AF_UNIX, SCM_RIGHTS, SO_PEERCRED, SOCK_STREAM, SOL_SOCKET, socket


def connect(folder: str) -> socket:
    """The toolbox of the box; OSError when there is none of this user."""
    place = posix.stat(folder)
    link = socket(AF_UNIX, SOCK_STREAM)
    link.connect(f"\0fboss-tools-{place.st_dev}-{place.st_ino}".encode())
    if int.from_bytes(link.getsockopt(SOL_SOCKET, SO_PEERCRED, 12)[4:8], sys.byteorder) != posix.geteuid():
        raise PermissionError
    return link


def ask(link: socket, folder: str, module: str, words: list[str]) -> int:
    """The exit code of `module` with these words; 1 when the toolbox ended in between.

    A tool may have come to its end, and the link to its own, before this process goes on: what it has been asked is asked nobody else.
    """
    text = "\0".join([posix.getcwd(), module, folder, *words]).encode("utf-8", "surrogateescape")
    data = len(text).to_bytes(4, sys.byteorder) + text
    streams = b"".join(number.to_bytes(4, sys.byteorder) for number in (0, 1, 2))
    try:
        sent = link.sendmsg([data], [(SOL_SOCKET, SCM_RIGHTS, streams)])
        if sent < len(data):
            link.sendall(data[sent:])
        return (link.recv(1) or b"\1")[0]
    except OSError:
        return 1


def main() -> None:
    """The process of one call."""
    folder, module, *words = sys.argv[1:]
    try:
        link = connect(folder)
    except OSError:
        python = sys.executable
        posix.execv(python, [python, "-S", "-P", "-m", f"fabric.lab.fboss.{module}", folder, *words])
    posix._exit(ask(link, folder, module, words))


if __name__ == "__main__":
    main()
