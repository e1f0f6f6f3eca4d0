"""Lines of `mpirun --tag-output` put together again.

Open MPI hands on what it has read of a rank's terminal, in pieces: a line may be cut anywhere, most often before its end, and each
piece begins with the rank's tag (`row[1,0]<stdout>:` on one line, only the tag and the end of the line on the next). Between two pieces of
a line there may be pieces of other ranks.
"""

from __future__ import annotations

import re

_TAG = re.compile(r"\[[^\]\[,\n]{1,80},\d{1,7}\](?:\[[^\]\n]{1,80}\])?<std(?:out|err|diag)>:")


def untangled(text: str) -> str:
    """The same with each line of a rank whole, its tag before it, in the order in which the lines ended; without tags as it is.

    What has no end of line stands last, without one: it was cut.
    """
    if _TAG.search(text) is None:
        return text
    found: list[str] = []
    begun: dict[str, str] = {}
    place, tag = 0, ""
    for match in [*_TAG.finditer(text), None]:
        piece = text[place : match.start() if match else len(text)]
        _take(piece, tag, begun, found)
        if match is not None:
            place, tag = match.end(), match[0]
    rest = [f"{tag}{piece}" for tag, piece in begun.items() if piece]
    return "\n".join([*found, *rest]) + ("" if rest else "\n")


def _take(piece: str, tag: str, begun: dict[str, str], found: list[str]) -> None:
    """A piece goes on with the line that its rank has begun; what follows an end of line without a tag is mpirun's own."""
    first, newline, own = piece.partition("\n")
    if not newline:
        begun[tag] = begun.get(tag, "") + first
        return
    found.append(f"{tag}{begun.pop(tag, '')}{first}")
    lines = own.split("\n")
    found += lines[:-1]
    if lines[-1]:
        begun[""] = begun.get("", "") + lines[-1]
