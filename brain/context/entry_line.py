"""One line of the conversation context as bytes, and back (DESIGN 3).

Field names and their order are the format: ``timestamp``, ``user_message``, ``intent``,
``session_id``, ``context_ref`` and ``origin`` (each of the two left out when there is none).
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC
from typing import Any, Final

from kds.brain.clock import read_moment
from kds.brain.context.origin import ORIGIN
from kds.brain.message import well_formed
from kds.brain.turn import ContextEntry, entry_to_wire


@dataclass(frozen=True, slots=True)
class Line:
    """A line as it stands in the file: its number from 1, its bytes, and what it says.

    Exactly one of ``entry`` and ``damage`` (why it cannot be read) is set.
    """

    number: int
    raw: bytes
    entry: ContextEntry | None = None
    damage: str | None = None


def encode(entry: ContextEntry) -> bytes:
    """Write ``entry`` as one line without its line end.

    Raises ValueError when the timestamp has no time zone.
    """
    if entry.timestamp.tzinfo is None:
        raise ValueError("the timestamp of an entry must be aware")
    record = entry_to_wire(replace(entry, timestamp=entry.timestamp.astimezone(UTC)))
    return json.dumps(record, ensure_ascii=False).encode()


LINE_LIMIT: Final = 1_000_000
"""Bytes. A message has at most 100,000 characters; six bytes each where a program escapes them."""


MOST_LINES: Final = 1_000
"""Lines read, the last ones: ten are kept, and a file of millions would take a minute."""


def latest(content: bytes) -> tuple[int, bytes]:
    """How many lines stand before the last MOST_LINES, and those last ones."""
    earlier, *last = content.rsplit(b"\n", MOST_LINES)
    if len(last) < MOST_LINES:
        return 0, content
    return earlier.count(b"\n") + 1, b"\n".join(last)


def decode_lines(content: bytes, *, first: int = 1) -> Iterator[Line]:
    """Read every line that is not blank; a damaged one says why, and never raises.

    The last line may lack its line end. Unknown fields are kept out, not reported: a newer KDS may
    write more. ``first`` is the number of the first line.
    """
    from jsonlines import InvalidLineError, Reader  # 40 ms of imports: late

    numbered = [
        (number, raw.strip(b" \t\r"))
        for number, raw in enumerate(content.split(b"\n"), start=first)
        if raw.strip(b" \t\r")
    ]
    # The standard parser, whatever else is installed: the same lines are damaged everywhere.
    short = [raw for _, raw in numbered if len(raw) <= LINE_LIMIT]
    reader = Reader(short, loads=_loads)
    for number, raw in numbered:
        if len(raw) > LINE_LIMIT:
            yield Line(number, raw, damage=f"longer than {LINE_LIMIT:,} bytes")
            continue
        try:
            yield Line(number, raw, entry=_entry(reader.read(type=dict)))
        except InvalidLineError as error:
            yield Line(number, raw, damage=error.message.split(" (line ")[0])
        except ValueError as error:
            yield Line(number, raw, damage=str(error))


def _loads(text: str | bytes) -> Any:
    try:
        return json.loads(text)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def _entry(record: Mapping[str, object]) -> ContextEntry:
    return ContextEntry(
        timestamp=read_moment(_text(record, "timestamp"), name="timestamp"),
        user_message=_text(record, "user_message"),
        intent=_text(record, "intent"),
        session_id=_text_or_none(record, "session_id"),
        context_ref=_text_or_none(record, "context_ref") if "context_ref" in record else None,
        origin=_origin(record.get("origin")),
    )


def _origin(value: object) -> str | None:
    return value if isinstance(value, str) and ORIGIN.fullmatch(value) else None


def _text(record: Mapping[str, object], name: str) -> str:
    value = _field(record, name)
    if not isinstance(value, str):
        raise ValueError(f"'{name}' is not a text")
    return well_formed(value)


def _text_or_none(record: Mapping[str, object], name: str) -> str | None:
    return None if _field(record, name) is None else _text(record, name)


def _field(record: Mapping[str, object], name: str) -> object:
    if name not in record:
        raise ValueError(f"'{name}' is missing")
    return record[name]
