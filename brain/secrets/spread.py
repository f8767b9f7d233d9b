"""Secrets whose name stands on another line: above, or at the head of a column; and public keys.

In YAML and JSON a value may stand below its name, indented more:

    password:
      swordfish

an environment of Kubernetes or Compose names the variable in one line, its value in the next, and
in a message it is "the password is" in one line and the password below. A table or CSV file names
the column once.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from kds.brain.secrets.rules import is_alone, is_bare_value, is_said, is_strong

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
_TOLD: Final = re.compile(
    r"(?:(?P<password>pass(?:word|wort|wd|phrase|code)|\bpw|kennwort|mot de passe|contraseña|senha"
    r"|пароль|密码)|token|secret|api[ _-]?key|credential)s?\b(?:\s[\w.@-]+){0,6}?"
    r"(?:\s(?:is|was|ist|lautet|es|est|é)\s?:?|\s?[:=：])\s*(?:\\)?$",
    re.IGNORECASE,
)
_LOGIN: Final = re.compile(r"\s*login\s+\S+\s*")
_PASSWORD: Final = re.compile(r"(?P<before>\s*password\s+)(?!\[secret: )\S+\s*")
"""Two lines of a .netrc."""
_ALONE: Final = re.compile(
    r"(?P<before>[\s>]*[\"'`*]{0,3})(?P<value>[^\s\"'`*:]\S{3,200}?)(?P<after>[\"'`*.,]{0,3}\s*)"
)
_HINT: Final = re.compile(
    r"pass|pw|secret|credential|token|key|login|kennwort|contrase|senha|пароль|密码", re.IGNORECASE
)
_COLUMN: Final = re.compile(
    r"(?:[\w-]+[ _-]){0,2}(?:(?P<password>pass(?:word|wort|wd|phrase|code)?|pwd?|kennwort"
    r"|contraseña|senha|mot de passe|пароль|密码)|(?:access |auth |api[ _-]?)?token"
    r"|(?:client[ _-]?)?secret|(?:api|access|secret)[ _-]?key)",
    re.IGNORECASE,
)
_SEPARATORS: Final = tuple(map(re.compile, (r"\|", r"\t", r";", r",", r"\s{2,}")))
_NAME_LIMIT: Final = 200
"""Characters of a line that may be a name: a longer one is not looked at."""

_PUBLIC: Final = re.compile(r"-{5}BEGIN (?:[A-Z0-9]+ )*(?:PUBLIC KEY|CERTIFICATE)-{5}\s*$")
_BASE64: Final = re.compile(r"[\s>]*[A-Za-z0-9+/]{1,80}={0,2}\s*")


def masked_lines(lines: Sequence[str]) -> list[str]:
    """Replace the values that stand below their names; returns as many lines."""
    found = list(lines)
    for at, line in enumerate(lines[:-1]):
        if len(line) > _NAME_LIMIT or not _HINT.search(line):
            continue
        head = _HEAD.match(line)
        below = list(_below(lines, at, head)) if head else []
        if head and any(lines[row].strip() for row in below):
            for row in below:
                found[row] = _masked(found[row], head, whole=bool(head["block"]))
        elif (named := _NAMED.match(line)) and _VALUE_KEY.match(lines[at + 1]):
            found[at + 1] = _masked(found[at + 1], named, whole=False)
        elif _LOGIN.fullmatch(line) and (word := _PASSWORD.fullmatch(lines[at + 1])):
            found[at + 1] = f"{word['before']}[secret: password]"
        elif told := _TOLD.search(line):
            _mask_told(found, at + 1, told)
    _mask_columns(found)
    return found


def _mask_told(lines: list[str], at: int, told: "re.Match[str]") -> None:
    """Mask the one word below "the password is:"; there may be an empty line between."""
    if at < len(lines) - 1 and not lines[at].strip():
        at += 1
    found = _ALONE.fullmatch(lines[at])
    accept = is_alone if told["password"] else is_strong
    if found and accept(found["value"]) and (is_strong(found["value"]) or is_said(found["value"])):
        kind = "password" if told["password"] else "secret"
        lines[at] = f"{found['before']}[secret: {kind}]{found['after']}"


def _mask_columns(lines: list[str]) -> None:
    """Mask the cells below the name of a secret, from the first row of a table to its last."""
    at = 0
    while at < len(lines) - 1:
        end = at + 1
        if (sign := _separator(lines[at])) and (columns := _secret_columns(lines[at], sign)):
            cells = sign.split(lines[at])
            count, plain = len(cells), _may_be_head(cells[0])
            while end < len(lines) and len(sign.split(lines[end])) == count:
                lines[end] = _masked_row(lines[end], sign, columns, plain=plain)
                end += 1
        at = end


def _separator(line: str) -> "re.Pattern[str] | None":
    """What divides the cells of a line that may be the head of a table."""
    if len(line) > _NAME_LIMIT or not _HINT.search(line):
        return None
    for sign in _SEPARATORS:
        cells = [cell for cell in sign.split(line) if cell.strip()]
        # The first may have a sentence before it: "use this: user,password".
        if len(cells) > 1 and all(map(_may_be_head, cells[1:])):
            return sign
    return None


def _may_be_head(cell: str) -> bool:
    return len(cell.split()) <= 3 and "=" not in cell


def _secret_columns(line: str, sign: "re.Pattern[str]") -> dict[int, str]:
    cells = [cell.strip(" \"'*`") for cell in sign.split(line)]
    named = ((at, _COLUMN.fullmatch(cell)) for at, cell in enumerate(cells))
    return {at: "password" if name["password"] else "secret" for at, name in named if name}


def _masked_row(
    line: str, sign: "re.Pattern[str]", columns: Mapping[int, str], *, plain: bool
) -> str:
    cells, signs = sign.split(line), sign.findall(line)
    for at, kind in columns.items():
        body = cells[at].strip(" \"'*`")
        accept = is_said if kind == "password" and plain else is_strong
        if body and " " not in body and (is_strong(body) or accept(body)):
            cells[at] = cells[at].replace(body, f"[secret: {kind}]")
    return "".join(cell + mark for cell, mark in zip(cells, [*signs, ""], strict=True))


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
