"""Readers of nvidia-smi's answers. Unseen for what is no answer; a line that is cut off is no line."""

from __future__ import annotations

import re
from collections.abc import Sequence

from fabric.verify.hosts.node.sources import Unseen

NA = ("N/A", "[N/A]", "[Not Supported]", "")


def table(text: str, fields: Sequence[str]) -> list[dict[str, str]]:
    """The lines of a --query as field -> value. Unseen when there is none, or a line has other columns."""
    rows = []
    for line in text.splitlines():
        if not line.strip():
            continue
        cells = [cell.strip() for cell in line.split(",")]
        if len(cells) != len(fields):
            raise Unseen(f"nvidia-smi answers {line.strip()[:80]!r}, not {len(fields)} values")
        rows.append(dict(zip(fields, cells)))  # noqa: B905 - counted above; `strict` came with Python 3.10
    if not rows:
        raise Unseen("nvidia-smi lists no GPU")
    return rows


def number(text: str) -> int | None:
    """A whole number, None for "N/A" and the like. Unseen for anything else."""
    if text in NA:
        return None
    if re.fullmatch(r"[0-9]{1,18}", text) is None:
        raise Unseen(f"nvidia-smi says {text[:40]!r} where a number is expected")
    return int(text)


def bus_id(text: str) -> str:
    """A PCI address as the kernel writes it: "00000000:1B:00.0" is "0000:1b:00.0". Unseen for anything else."""
    found = re.fullmatch(r"(?:0000)?([0-9a-fA-F]{4}):([0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7])", text.strip())
    if found is None:
        raise Unseen(f"{text[:40]!r} is no PCI address")
    return f"{found[1]}:{found[2]}".lower()


def nvlinks(text: str) -> dict[int, dict[int, bool]]:
    """GPU -> link -> is it up, of `nvidia-smi nvlink --status`. A GPU without any line of a link has none."""
    found: dict[int, dict[int, bool]] = {}
    links: dict[int, bool] | None = None
    for line in text.splitlines():
        head = re.match(r"GPU (\d{1,4}):", line)
        link = re.match(r"\s+Link (\d{1,4}): (.+)", line)
        if head is not None:
            links = found.setdefault(int(head[1]), {})
        elif link is not None and links is not None:
            links[int(link[1])] = re.match(r"[0-9.]+ GB/s", link[2]) is not None
    return found


def topology(text: str) -> dict[str, dict[str, str]]:
    """Row -> column -> relation of `nvidia-smi topo -m`, the NICs under their own names by the legend. Unseen without a matrix."""
    legend = dict(re.findall(r"^\s*(NIC\d+): (\S+)\s*$", text, re.MULTILINE))
    columns: list[str] = []
    found: dict[str, dict[str, str]] = {}
    for line in re.sub(r"\x1b\[[0-9;]*m", "", text).splitlines():
        cells = [cell.strip() for cell in line.split("\t")]
        if not columns and "GPU0" in cells[1:]:
            columns = [cell for cell in cells[1:] if re.fullmatch(r"(GPU|NIC)\d+|mlx5_\S+", cell)]
        elif columns and re.fullmatch(r"(GPU|NIC)\d+|mlx5_\S+", cells[0]):
            row = {legend.get(name, name): cell for name, cell in zip(columns, cells[1:])}  # noqa: B905 - more cells follow
            found[legend.get(cells[0], cells[0])] = row
    if not found:
        raise Unseen("nvidia-smi topo prints no matrix")
    return found


def xids(text: str) -> list[tuple[float, int, str, str]]:
    """(seconds since 1970, number, PCI address, line) of the Xid lines of `journalctl --output=short-unix`."""
    found = []
    for line in text.splitlines():
        hit = re.match(r"(\d{1,12}(?:\.\d{1,9})?) .*NVRM: Xid \((?:PCI:)?([0-9a-fA-F:.]{7,20})\): (\d{1,6})\b", line)
        if hit is not None:
            found.append((float(hit[1]), int(hit[3]), hit[2].lower(), line))
    return found
