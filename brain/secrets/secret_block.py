"""Secrets whose name stands on a line of its own, and public keys, which are none.

In YAML and JSON a value may stand below its name, indented more:

    password:
      swordfish

and an environment of Kubernetes or Compose names the variable in one line, its value in the next.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from kds.brain.secrets.secret_value import is_bare_value, is_strong

_NAMES: Final = (
    r"(?:(?P<password>pass(?:word|wd|phrase|code)|pwd)"
    r"|token|secret|credential|(?<=[_-])key|(?:api|access|private|secret)key)"
)
_HEAD: Final = re.compile(
    rf"^(?P<lead>[\s>]*(?:-\s)?)(?:.*[\s{{,(\"'])?[\w.-]*?{_NAMES}[\"']?\s*[:=]\s*"
    r"(?P<block>[|>][+-]?\d?)?\s*(?:\#.*)?$",
    re.IGNORECASE,
)
_NAMED: Final = re.compile(
    rf"^[\s>]*(?:-\s)?[\"']?(?:name|key)[\"']?\s*:\s*[\"']?[\w.-]*?{_NAMES}[\"']?,?\s*$",
    re.IGNORECASE,
)
_VALUE: Final = re.compile(
    r"(?P<before>[\s>]*(?:[\"']?value[\"']?\s*:\s*)?)(?P<quote>[\"']?)(?P<value>\S+?)(?P=quote)[\s,)}\]]*"
)
_VALUE_KEY: Final = re.compile(r"^[\s>]*[\"']?value[\"']?\s*:\s*\S", re.IGNORECASE)
_NAME_LIMIT: Final = 200
"""Characters of a line that may be a name: a longer one is not looked at."""

_PUBLIC: Final = re.compile(r"-{5}BEGIN (?:[A-Z0-9]+ )*(?:PUBLIC KEY|CERTIFICATE)-{5}\s*$")
_BASE64: Final = re.compile(r"[\s>]*[A-Za-z0-9+/]{1,80}={0,2}\s*")


def masked_blocks(lines: Sequence[str]) -> list[str]:
    """Replace the values that stand below their names; returns as many lines."""
    found = list(lines)
    for at, line in enumerate(lines[:-1]):
        if len(line) > _NAME_LIMIT:
            continue
        if head := _HEAD.match(line):
            for row in _below(lines, at, head):
                found[row] = _masked(found[row], head, whole=bool(head["block"]))
        elif (named := _NAMED.match(line)) and _VALUE_KEY.match(lines[at + 1]):
            found[at + 1] = _masked(found[at + 1], named, whole=False)
    return found


def public_lines(lines: Sequence[str]) -> frozenset[int]:
    """Return the lines of public keys and certificates: random, and no secret."""
    found: set[int] = set()
    inside = False
    for at, line in enumerate(lines):
        inside = bool(_PUBLIC.search(line)) or (inside and _BASE64.fullmatch(line) is not None)
        if inside:
            found.add(at)
    return frozenset(found)


def _below(lines: Sequence[str], at: int, head: "re.Match[str]") -> Iterator[int]:
    """The lines that are indented more than the name: all of a block, else the first."""
    margin = len(head["lead"].removesuffix("- "))
    for row in range(at + 1, len(lines)):
        line = lines[row]
        if line.strip() and len(line) - len(line.lstrip(" \t>")) <= margin:
            return
        yield row
        if line.strip() and not head["block"]:
            return


def _masked(line: str, head: "re.Match[str]", *, whole: bool) -> str:
    kind = "password" if head["password"] else "secret"
    found = _VALUE.fullmatch(line)
    if found is not None:
        if not _is_secret(found, surely=whole or bool(head["password"])):
            return line
        return f"{line[: found.start('value')]}[secret: {kind}]{line[found.end('value') :]}"
    body = line.strip()
    if not whole or body.startswith("[secret: "):
        return line
    return line.replace(body, f"[secret: {kind}]") if body else line


def _is_secret(found: "re.Match[str]", *, surely: bool) -> bool:
    """Whether one word is a value; in quotes or below a password it need not mix signs."""
    if found["value"].endswith((":", "{", "[")):
        return False
    accept = is_bare_value if surely or found["quote"] else is_strong
    return accept(found["value"])
