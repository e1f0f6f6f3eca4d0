"""EOS answers in general: error lines, JSON after an echo, and texts that are safe to show."""

from __future__ import annotations

import re

from fabric.targets.answer import Json, parse_object
from fabric.targets.device import DeviceError, DeviceRefusedError

_REFUSAL = re.compile(r"^(?:% |> .*% ?)", re.MULTILINE)
"""An error line, or one of a pasted file: `> line% Invalid input ... at line N`, source line and error joined without a blank."""
_PLAIN_REFUSALS = re.compile(
    r"maximum number of pending sessions has been reached|^error: |\bnot found\b", re.IGNORECASE | re.MULTILINE
)
_SECRET = re.compile(
    r"(\b(?:secret|password|passphrase|passwd|community|shared-secret|pre-shared-key|authentication-key\s+\d+\s+\w+"
    r"|(?:auth|priv)\s+(?:md5|sha\d*|des|aes\d*)|(?<!ssh-)key)\s+(?:(?:0|5|7|8a|sha512|sha256|md5|nt-hash|encrypted|clear)\s+)?)"
    r"(?!peer\b|public-key\b)[^\s%]+",
    re.IGNORECASE,
)
_TOKEN = re.compile(r"(at token \d+: )'.*'")
_BGP_COMMUNITY = re.compile(r"^\W*(?:set|match) (?:ext)?community\b")
_HEADER = re.compile(r"^!.*$")


def refusals(text: str) -> tuple[str, ...]:
    """The lines in which EOS says no, in its own words; empty when it took all. Warnings start with `! `.

    Secret values are masked. The error repeats the token that it does not like, which may be the secret: so that tokens are
    masked as well as soon as one line of the answer sets a secret.
    """
    said = tuple(line.strip() for line in text.splitlines() if _REFUSAL.match(line) or _PLAIN_REFUSALS.search(line))
    shown = tuple(masked(line) for line in said)
    if shown == said and masked(text) == text:
        return said
    return tuple(_TOKEN.sub(lambda m: m[1] + "'<secret>'", line) for line in shown)


def masked(text: str) -> str:
    """The text with every secret value replaced by `<secret>`; its type word stays."""
    return "\n".join(
        line if _BGP_COMMUNITY.match(line) else _SECRET.sub(lambda m: m[1] + "<secret>", line)
        for line in text.split("\n")
    )


def answer_object(text: str, what: str) -> Json:
    """The JSON object of a `| json` command. DeviceRefusedError with the words of a `% ` line in its place."""
    said = refusals(text[: text.find("{")] if "{" in text else text)
    if said:
        raise DeviceRefusedError(f"{what}: {said[0]}", said)
    return parse_object(text, what)


def configuration(text: str, what: str) -> str:
    """A configuration as printed, without its header of `!` lines (they name the command and the time), ended by one line feed.

    DeviceError for what cannot be a whole configuration: it ends with `end`.
    """
    said = tuple(line for line in text.splitlines()[:3] if line.startswith("% "))
    if said:
        raise DeviceRefusedError(f"{what}: {said[0]}", said)
    lines = [line.rstrip() for line in text.replace("\r", "").split("\n")]
    start = next((index for index, line in enumerate(lines) if line and not _HEADER.match(line)), len(lines))
    body = "\n".join(lines[start:]).rstrip()
    if body != "end" and not body.endswith("\nend"):
        raise DeviceError(f"{what}: the answer is cut short: it does not end with 'end'")
    return body + "\n"
