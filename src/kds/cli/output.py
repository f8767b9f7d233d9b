"""What commands print: JSON for programs, short lines and tables for people."""

import dataclasses
import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from kds.brain.clock import moment
from kds.cli.command import asked_json
from kds.cli.terminal import STYLES, Tone, coloured, shown, toned

if TYPE_CHECKING:
    from kds.brain.memory.sessions import Session

SHOWN_ID: Final = 8
"""Characters of a session's id in tables; that many name it."""

COLUMNS: Final[Mapping[str, Tone]] = {"intent": "intent", "refers to": "resolved"}
"""Heading of a column -> the tone of its cells."""

_LABEL: Final = 10
_PIPED_WIDTH: Final = 160
_WHOLE: Final = frozenset({"id", "time", "at", "changed", "intent", "session"})
"""Columns that are not wrapped on a narrow terminal: the others make room."""


@dataclass(frozen=True, slots=True)
class Table:
    """A table without lines; ``none`` is printed instead when there are no rows.

    Markup in cells is not read.
    """

    columns: Sequence[str]
    rows: Iterable[Sequence[object]]
    none: str = ""


Shown = str | tuple[str, object] | tuple[str, object, Tone] | Table | Iterable[Any] | None
"""What people see: a text, a label with its text (and its tone), a table, several, or nothing."""


def say(value: object, *shown: Shown) -> None:
    """Print ``value`` as JSON if `--json` was given, otherwise what is ``shown``."""
    if asked_json():
        print_json(value)
    else:
        show(*shown)


def show(*parts: Shown) -> None:
    """Print parts, one below the other."""
    for part in parts:
        match part:
            case None:
                pass
            case str():
                click.echo(part)
            case Table():
                _print_table(part)
            case tuple():
                label, value, *tone = part
                click.echo(toned(f"{label:<{_LABEL}} ", *(tone or ["label"])) + _text(value))
            case _:
                show(*part)


def print_json(value: object) -> None:
    """Print ``value`` as JSON: one document and nothing else on stdout."""
    # the escapes of the stream for what it cannot encode are JSON for lone surrogates alone
    plain = (getattr(sys.stdout, "encoding", None) or "").lower().replace("-", "") != "utf8"
    click.echo(json.dumps(value, ensure_ascii=plain, indent=2, default=_plain))


def _text(value: object) -> str:
    """A value as people read it."""
    match value:
        case None:
            return ""
        case int():
            return f"{value:,}"
        case datetime():
            return shown(value)
    return str(value)


def _print_table(table: Table) -> None:
    rows = list(table.rows)
    if table.none and not rows:
        click.echo(table.none)
        return
    from rich import table as drawn  # 50 ms of imports: only tables pay
    from rich.console import Console
    from rich.text import Text

    console = Console(file=sys.stdout, highlight=False, markup=False, emoji=False)
    if not console.is_terminal:
        console.width = _PIPED_WIDTH
    colours = coloured()
    grid = drawn.Table(box=None, pad_edge=False, header_style="bold" if colours else "")
    for column in table.columns:
        style = STYLES[COLUMNS[column]] if colours and column in COLUMNS else ""
        whole = console.is_terminal and column in _WHOLE
        grid.add_column(column, overflow="fold", no_wrap=whole, style=style)
    for row in rows:
        grid.add_row(*(Text(_text(cell)) for cell in row))
    console.print(grid)


def hit_lines(heading: str, body: str, details: Iterable[tuple[str, str]]) -> Iterator[Shown]:
    """One thing that was found: a heading, and below it the text and labelled lines."""
    yield heading
    yield [f"   {line}" for line in body.strip().splitlines()]
    yield [(f"   {label}", text) for label, text in details]
    yield ""


def session_table(sessions: Iterable["Session"]) -> Table:
    """Sessions of the memory."""
    rows = [
        (session.id[:SHOWN_ID], session.title or "(no title)", session.updated_at,
         session.message_count, session.token_count, ", ".join(session.documents))
        for session in sessions
    ]  # fmt: skip
    columns = ("id", "title", "changed", "messages", "tokens", "document")
    return Table(columns, rows, "nothing is remembered")


def session_dict(session: "Session") -> dict[str, Any]:
    """The JSON form of a session."""
    told = fields(session, "id title created_at updated_at document_context")
    return told | {"messages": session.message_count, "tokens": session.token_count}


def counted(count: int, noun: str) -> str:
    """Return a number of things.

    >>> counted(1, "page"), counted(1200, "page"), counted(2, "page of yours")
    ('1 page', '1,200 pages', '2 pages of yours')
    """
    plural = "" if count == 1 else "s"
    return f"{count:,} {re.sub(r'(?= (?:in|of) )|$', plural, noun, count=1)}"


def counts_line(counts: Mapping[str, float | None]) -> str:
    """Figures with their names.

    >>> counts_line({"lexical": 3, "dense": None, "total": 0.25})
    'lexical 3, dense -, total 0.25'
    """
    told = ((name, "-" if one is None else f"{round(one, 3):,}") for name, one in counts.items())
    return ", ".join(map(" ".join, told)) or "none"


def mebibytes(size: int) -> str:
    """A size in bytes, for people."""
    return f"{size / 2**20:,.1f} MiB"


def fields(value: object, names: str) -> dict[str, Any]:
    """The named fields of ``value``, in this order.

    >>> fields(datetime(2025, 11, 3), "year month")
    {'year': 2025, 'month': 11}
    """
    return {name: getattr(value, name) for name in names.split()}


def _plain(value: Any) -> object:
    """The JSON form of other values."""
    match value:
        case datetime():
            return moment(value)
        case Mapping():
            return dict(value)
        case Path():
            return str(value)
    if hasattr(value, "as_dict"):
        return value.as_dict()
    if isinstance(value, Iterable):
        return list(value)
    return fields(value, " ".join(field.name for field in dataclasses.fields(value)))
