"""Secrets never reach a terminal, a log, a plan file or `--json`: they are masked by key and by line pattern.

A rendered file holds `$SECRET{name}` where the secret will be put in just before sending. Against such a placeholder a running
value is compared by "is set": devices show salted hashes that differ at each reading.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

MASK = "<secret>"
PLACEHOLDER = "$SECRET{"

_TYPE = r"(?:(?:0|5|7|8a|sha512|sha256|md5|nt-hash|encrypted|clear)\s+)"
_OURS = (
    r"(?<=secret\ )'[\w.-]{1,64}'(?:\ is\ (?:not\ set|not\ declared|empty)|\ has\ no\ source|\ holds\ a\ line\ end"
    r"|:\ (?:there\ is\ no\ file|cannot\ read|\S+\ holds\ no\ key))"
)
"""What `fabric.change.secrets` says of a secret that cannot be had: its name, which is no value."""
_LINE = re.compile(
    rf"""(?P<head>(?:\b|^)(?:
            secret | (?<!protocol\ )password | passwd | passphrase | enable\s+(?:secret|password)
          | (?:tacacs|radius)\b.*?\bkey | ^\s*(?:\w+_)?key(?=\s+\S+\s*$) | key-id\s+\d+ | message-digest-key\s+\d+\s+\w+
          | authentication-key(?:\s+\d+\s+[a-z]\w*)? | (?:auth|priv)\s+(?:md5|sha\d*|des|aes\d*)
          | snmp-server\s+community | snmp-server\s+host\b.*?\bversion\s+(?:1|2c)
          | shared-(?:secret|key) | pre-shared-key | key(?:\s+\S+)?(?=\s+(?:7|8a|0)\s)
        )\s+ )(?P<type>{_TYPE}?)(?P<value>(?![=:](?:\s|$))(?!{_OURS})\S+)""",
    re.VERBOSE | re.IGNORECASE,
)
_HINTS = re.compile(
    r"secret|passw|passphrase|\bkey\b|[-_]key\b|\bauth\b|\bpriv\b|community|snmp-server\s+host|token|api_?key|://[^\s/:@]*:",
    re.IGNORECASE,
)
_ASSIGNED = re.compile(
    r"(?P<head>\b[\w.-]*(?:password|passwd|passphrase|secret|private_?key|psk|api_?key|token)[\w.-]*\"?\s*[=:]\s*)(?P<value>\S.*)",
    re.IGNORECASE,
)
_KEY = re.compile(
    r"(?:^|[_-])(?:password|passwd|passphrase|secret|psk|token)s?$|(?:private|secret|shared|auth|api|encryption)_?key$"
    r"|(?:Password|Secret|PrivateKey|Psk|AuthKey|ApiKey|Token)$|^community(?:_?string)?$",
    re.IGNORECASE,
)
_PLAIN_KEY = re.compile(r"key|cak|sak", re.IGNORECASE)
_KEY_KIND = re.compile(r"\d{1,10}|[A-Z][A-Z0-9_-]{0,15}")
"""What under such a key is no secret: a number, or a short word of an enumeration."""
_BGP_COMMUNITY = re.compile(r"\d+:\d+(?::\d+)?")
_URL = re.compile(r"(?P<head>://[^\s/:@]*:)[^\s/@]+(?=@)")
_PRIVATE = re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----")
_PRIVATE_END = re.compile(r"-----END [A-Z ]*PRIVATE KEY-----")


def mask_line(line: str) -> str:
    """One line of a configuration, with every secret value in it replaced; its type (`sha512`, `key 7`) stays."""
    if not _HINTS.search(line):
        return line
    line = _LINE.sub(lambda m: m["head"] + m["type"] + MASK, _URL.sub(lambda m: m["head"] + MASK, line))
    return line if MASK in line else _ASSIGNED.sub(lambda m: m["head"] + MASK, line)


def secret_form(line: str) -> str:
    """The line without secret values and their types: equal for two lines that set the same secret, whatever it is."""
    return _LINE.sub(lambda m: m["head"] + MASK, line)


def mask_lines(lines: Iterable[str]) -> list[str]:
    """Like `mask_line` for each line of a file, and the body of a PEM private key is masked too."""
    masked: list[str] = []
    inside = False
    for line in lines:
        if inside:
            inside = not _PRIVATE_END.search(line)
            masked.append(MASK if inside else line)
            continue
        inside = bool(_PRIVATE.search(line)) and not _PRIVATE_END.search(line)
        masked.append(mask_line(line))
    return masked


def same_secrets(running: str, desired: str) -> tuple[str, str]:
    """Both texts made comparable: where `desired` has a placeholder, a line that sets the same secret becomes equal to it."""
    if PLACEHOLDER not in desired and PLACEHOLDER not in running:
        return running, desired
    lines = [line for text in (running, desired) for line in text.split("\n") if PLACEHOLDER in line]
    forms, heads = {secret_form(line) for line in lines}, tuple({_head(line) for line in lines})
    return _fold(running, forms, heads), _fold(desired, forms, heads)


def _head(line: str) -> str:
    """What a line that sets the same secret begins with, at least; so that few lines need a closer look."""
    found = _LINE.search(line)
    return (found and line[: found.start()]) or line[: len(line) - len(line.lstrip()) + 1]


def _fold(text: str, forms: set[str], heads: tuple[str, ...]) -> str:
    return "\n".join(
        form if line.startswith(heads) and (form := secret_form(line)) in forms else line for line in text.split("\n")
    )


@lru_cache(4096)
def is_secret_key(key: str) -> bool:
    """Whether the value under this JSON key is a secret."""
    return bool(_KEY.search(key))


def mask_json(key: str, value: Any) -> Any:
    """A JSON value to be shown, found under `key`, with the secrets in it replaced. Containers are copied only when needed."""
    if isinstance(value, dict):
        return {k: mask_json(k, v) for k, v in value.items()}
    if isinstance(value, list):
        return [mask_json(key, item) for item in value]
    if isinstance(value, str):
        if _PRIVATE.search(value) or PLACEHOLDER in value:
            return MASK
        if _PLAIN_KEY.fullmatch(key) and value and not _KEY_KIND.fullmatch(value):
            return MASK
        if is_secret_key(key) and value and not _BGP_COMMUNITY.fullmatch(value):
            return MASK
        return mask_line(value)
    return MASK if is_secret_key(key) and value not in (None, True, False) else value


def equal_by_placeholder(old: Any, new: Any) -> bool:
    """Whether one side is our placeholder and the other is set: then they count as equal."""
    if not (isinstance(old, str) and isinstance(new, str) and old and new):
        return False
    return PLACEHOLDER in old or PLACEHOLDER in new
