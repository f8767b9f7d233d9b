"""What the commands print: JSON for programs, short lines and tables for people."""

import dataclasses
import json
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from kds.brain.clock import moment
from kds.brain.context.origin import is_same_terminal, terminal_origin
from kds.brain.turn import ContextEntry, Turn
from kds.cli.command import asked_json
from kds.cli.terminal import STYLES, Tone, coloured, marked, shown, toned
from kds.router.intents.policy import ACT_MIN

if TYPE_CHECKING:
    from kds.brain.memory.records import Session

SHOWN_ID: Final = 8
"""Characters of a session's id in tables; that many name it."""

COLUMNS: Final[Mapping[str, Tone]] = {
    "intent": "intent",
    "refers to": "resolved",
}
"""Heading of a column -> the tone of its cells."""

_LABEL: Final = 10
_PIPED_WIDTH: Final = 160
_WHOLE: Final = frozenset({"id", "time", "at", "changed", "intent", "session"})
"""Columns that are not wrapped on a narrow terminal: the others make room."""


def say(value: object, shown: str | Callable[[], object]) -> None:
    """Print ``value`` as JSON with `--json`; else a text, or call a function that prints."""
    if asked_json():
        print_json(value)
    elif isinstance(shown, str):
        click.echo(shown)
    else:
        shown()


def print_json(value: object) -> None:
    """Print ``value`` as JSON: one document and nothing else on stdout."""
    # the escapes of the stream for what it cannot encode are JSON for lone surrogates alone
    plain = (getattr(sys.stdout, "encoding", None) or "").lower().replace("-", "") != "utf8"
    click.echo(json.dumps(value, ensure_ascii=plain, indent=2, default=_plain))


def print_turn(turn: Turn) -> None:
    """Print what became of a message: a few labelled lines."""
    places = [(one.start, one.end) for one in turn.references]
    print_line("message", marked(turn.message, places))
    if turn.notice:
        print_line("note", toned(turn.notice, "note"))
        return
    if turn.expanded != turn.message:
        print_line("expanded", _with_targets(turn))
    print_line("intent", _intent(turn))
    print_lines(_turn_lines(turn))


def print_steps(turn: Turn) -> None:
    """Print what every step recorded, with its CPU time."""
    for record in turn.records:
        print_line(record.step, f"{record.cpu_ms:.1f} ms")
        print_lines(("", note) for note in record.notes)
    if not turn.records:
        print_line("why", "no step ran")


def print_line(label: str, text: str, *, tone: Tone = "label") -> None:
    """Print one labelled line; a terminal may wrap it, a pipe gets it whole."""
    click.echo(toned(f"{label:<{_LABEL}} ", tone) + text)


def print_lines(lines: Iterable[tuple[str, str]]) -> None:
    """Print labelled lines, each a label and its text."""
    for label, text in lines:
        print_line(label, text)


def print_table(columns: Sequence[str], rows: Iterable[Sequence[str]], *, none: str = "") -> None:
    """Print a table without lines; ``none`` is printed instead when there are no rows.

    Cells are plain text: markup in them is not read.
    """
    rows = list(rows)
    if none and not rows:
        click.echo(none)
        return
    from rich.console import Console  # 50 ms of imports: only tables pay
    from rich.table import Table
    from rich.text import Text

    console = Console(file=sys.stdout, highlight=False, markup=False, emoji=False)
    if not console.is_terminal:
        console.width = _PIPED_WIDTH
    colours = coloured()
    table = Table(box=None, pad_edge=False, header_style="bold" if colours else "")
    for column in columns:
        style = STYLES[COLUMNS[column]] if colours and column in COLUMNS else ""
        whole = console.is_terminal and column in _WHOLE
        table.add_column(column, overflow="fold", no_wrap=whole, style=style)
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    console.print(table)


def counted(count: int, noun: str) -> str:
    """Return a number of things.

    >>> counted(1, "page"), counted(1200, "page")
    ('1 page', '1,200 pages')
    """
    return f"{count:,} {noun}" + ("" if count == 1 else "s")


def mebibytes(size: int) -> str:
    """A size in bytes, for people.

    >>> mebibytes(3 << 20)
    '3.0 MiB'
    """
    return f"{size / 2**20:,.1f} MiB"


def fields(value: object, names: str) -> dict[str, Any]:
    """The named fields of ``value``, in this order.

    >>> fields(datetime(2025, 11, 3), "year month")
    {'year': 2025, 'month': 11}
    """
    return {name: getattr(value, name) for name in names.split()}


def print_entries(entries: Sequence[ContextEntry]) -> None:
    """Print the conversation context, oldest first."""
    rows = [
        (shown(entry.timestamp), entry.intent, entry.user_message, entry.context_ref or "",
         entry.session_id or "", _whose(entry.origin))
        for entry in entries
    ]  # fmt: skip
    columns = ("time", "intent", "message", "refers to", "session", "from")
    print_table(columns, rows, none="the conversation context is empty")


def session_dict(session: "Session") -> dict[str, Any]:
    """The JSON form of a session."""
    from kds.brain.memory.records import EXPORTED  # late: needs the database's modules

    told = fields(session, " ".join(one.name for one in EXPORTED))
    return told | {"messages": session.message_count, "tokens": session.token_count}


def print_sessions(sessions: Iterable["Session"]) -> None:
    """Print a table of sessions."""
    rows = [
        (session.id[:SHOWN_ID], session.title or "(no title)", shown(session.updated_at),
         f"{session.message_count:,}", f"{session.token_count:,}", ", ".join(session.documents))
        for session in sessions
    ]  # fmt: skip
    columns = ("id", "title", "changed", "messages", "tokens", "document")
    print_table(columns, rows, none="nothing is remembered")


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
    return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}


def _whose(origin: str | None) -> str:
    """Where a line of the context was typed; "" when that is unknown."""
    kind, _, place = (origin or "").partition(":")
    if not place:
        return ""
    if kind == "window":
        return "an assistant"
    here = is_same_terminal(origin, terminal_origin())
    where = "here" if here else f"terminal {place.partition('-')[0]}"
    return where if kind == "terminal" else f"{where}, {kind}"


def _intent(turn: Turn) -> str:
    sure: Tone = "sure" if turn.confidence >= ACT_MIN else "unsure"
    also = f", also {', '.join(turn.secondary_intents)}" if turn.secondary_intents else ""
    return f"{toned(turn.intent, 'intent')} ({toned(f'{turn.confidence:.2f}', sure)}){also}"


def _with_targets(turn: Turn) -> str:
    """The expanded message with the antecedents marked."""
    targets = sorted({one.target for one in turn.references} - {""}, key=len, reverse=True)
    found = re.finditer("|".join(map(re.escape, targets)), turn.expanded) if targets else ()
    return marked(turn.expanded, [one.span() for one in found])


def _turn_lines(turn: Turn) -> Iterable[tuple[str, str]]:
    if turn.context_switch:
        yield "switch", "a new topic: the earlier context no longer counts"
    elif turn.context_ref:
        yield "refers to", toned(turn.context_ref, "resolved")
    if turn.session_id:
        yield "session", turn.session_id
    if turn.agent and turn.action == "route":
        yield "agent", f"{turn.agent} ({turn.prompt_file})"
    else:
        yield "action", turn.action
    if turn.question:
        yield "question", turn.question
    if turn.noted:
        yield "noted", turn.noted
