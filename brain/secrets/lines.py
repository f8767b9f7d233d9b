"""Secrets whose name stands on another line: above, or at the head of a column.

In YAML and JSON a value may stand below its name, indented more; an environment of Kubernetes or
Compose names the variable in one line, its value in the next; and in a message it is "the password
is" in one line and the password below. A table or CSV file names the column once.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from kds.brain.secrets.rules import BLANK, Span, compiled
from kds.brain.secrets.value_tests import DATA, TESTS

_READ: Final = {name: compiled(source) for name, source in DATA["lines"].items()}
_SEPARATORS: Final = tuple(map(re.compile, (r"\|", r"\t", r";", r",", r"\s{2,}")))
_NAME_LIMIT: Final = 200
"""Characters of a line that may be a name: a longer one is not looked at."""
_CODES: Final = 20
"""Lines of recovery codes that are looked at."""


def line_findings(text: str, low: str) -> Iterator[Span]:
    """Find the values that stand below their names."""
    if "\n" not in text or not _READ["hint"].search(low):
        return
    lines, lows, starts = text.split("\n"), low.split("\n"), [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)
    table = 0
    for at, line in enumerate(lows[:-1]):
        if len(line) > _NAME_LIMIT or not _READ["hint"].search(line):
            continue
        for row, (start, end), kind in _below(lines, lows, at):
            yield Span(starts[row] + start, starts[row] + end, kind)
        if at >= table and (sign := _separator(line)):
            columns = _secret_columns(line, sign)
            count, plain = len(sign.split(line)), _may_be_head(sign.split(line)[0])
            table = at + 1
            while columns and table < len(lines) and len(sign.split(lines[table])) == count:
                for start, end, kind in _cells(lines[table], sign, columns, plain=plain):
                    yield Span(starts[table] + start, starts[table] + end, kind)
                table += 1


_Found = tuple[int, tuple[int, int], str]


def _below(lines: Sequence[str], lows: Sequence[str], at: int) -> Iterator[_Found]:
    """The row, the place in it and the kind of what stands below a name."""
    line = lows[at]
    last = line.rstrip()[-1:]
    if (last in ":=|>-\"'" or "#" in line) and (head := _READ["head"].match(line)):
        yield from _indented(lines, at, head)
    elif named := _READ["named"].match(line):
        yield from _word(lines, at + 1, "value", TESTS["bare"], _kind(named))
    elif _READ["login"].fullmatch(line):
        yield from _word(lines, at + 1, "netrc", TESTS["bare"], "password")
    elif "variable" in line and (named := _READ["variable"].match(line)):
        for row in range(at + 1, min(at + 8, len(lines))):
            yield from _word(lines, row, "default", TESTS["value"], _kind(named))
    if _READ["codes"].search(line):
        yield from _codes(lines, at)
    elif _READ["phrase"].search(line):
        yield from _word(lines, at + 1, "words", TESTS["anything"], "secret", blank=True)
    elif told := _READ["told"].search(line):
        accept = TESTS["told_below" if told["password"] else "strong"]
        yield from _word(lines, at + 1, "alone", accept, _kind(told), blank=True)


def _codes(lines: Sequence[str], at: int) -> Iterator[_Found]:
    """The lines below "backup codes" that hold nothing but codes."""
    for row in range(at + 1, min(at + _CODES, len(lines))):
        found = list(_word(lines, row, "code", TESTS["code"], "one-time code"))
        if not found and lines[row].strip():
            return
        yield from found


def _word(
    lines: Sequence[str],
    row: int,
    form: str,
    accept: Callable[[str], bool],
    kind: str,
    *,
    blank: bool = False,
) -> Iterator[_Found]:
    """The value of a line that has a form; the line may be one below where ``blank`` says so."""
    if blank and row < len(lines) - 1 and not lines[row].strip():
        row += 1
    if row < len(lines) and (found := _READ[form].fullmatch(lines[row])) and accept(found["value"]):
        yield row, found.span("value"), kind


def _indented(lines: Sequence[str], at: int, head: re.Match[str]) -> Iterator[_Found]:
    """What is indented more than its name: all of a block, else the first line, if it is a word."""
    margin, block = len(head["lead"].removesuffix("- ")), head["block"]
    for row in range(at + 1, len(lines)):
        line = lines[row]
        if not line.strip():
            continue
        if len(line) - len(line.lstrip(" \t>")) <= margin:
            return
        if block:
            yield row, (len(line) - len(line.lstrip(" \t>")), len(line.rstrip())), _kind(head)
            continue
        found = _READ["value"].fullmatch(line)
        if found and not found["value"].endswith((":", "{", "[")):
            sure = _kind(head) == "password" or found["quote"]
            if TESTS["bare" if sure else "strong"](found["value"]):
                yield row, found.span("value"), _kind(head)
        return


def _kind(found: re.Match[str]) -> str:
    return "password" if found["password"] else "secret"


def _separator(line: str) -> re.Pattern[str] | None:
    """What divides the cells of a line that may be the head of a table."""
    for sign in _SEPARATORS:
        cells = [cell for cell in sign.split(line) if cell.strip()]
        # The first may have a sentence before it: "use this: user,password".
        if len(cells) > 1 and all(map(_may_be_head, cells[1:])):
            return sign
    return None


def _may_be_head(cell: str) -> bool:
    return len(cell.split()) <= 3 and "=" not in cell


def _secret_columns(line: str, sign: re.Pattern[str]) -> dict[int, str]:
    cells = [cell.strip(" \"'*`\r") for cell in sign.split(line)]
    named = ((at, _READ["column"].fullmatch(cell)) for at, cell in enumerate(cells))
    return {at: _kind(name) for at, name in named if name}


def _cells(
    line: str, sign: re.Pattern[str], columns: dict[int, str], *, plain: bool
) -> Iterator[tuple[int, int, str]]:
    bounds = [0, *(edge for found in sign.finditer(line) for edge in found.span()), len(line)]
    for at, kind in columns.items():
        cell = line[bounds[2 * at] : bounds[2 * at + 1]]
        body = cell.strip(" \"'*`\r")
        accept = TESTS["said" if kind == "password" and plain else "strong"]
        one = body and " " not in body and BLANK not in body
        if one and (TESTS["strong"](body) or accept(body)):
            start = bounds[2 * at] + cell.index(body)
            yield start, start + len(body), kind
