"""What the user said about intents, or decided about examples: `learning.jsonl`.

Lines are only ever added, by any process. A damaged line is set aside in a `.bad` file, the rest is
kept. Above MAX_EVENTS the oldest fall out. A line as JSON has ``at`` (ISO 8601 UTC),
``kind``, ``text``, ``intent`` or ``antecedent``, and optionally ``was`` and ``source``; other keys
are of earlier versions.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, Literal, get_args

from kds.brain.clock import moment, read_moment
from kds.brain.files import LockedText
from kds.brain.learning.phrases import phrase_key, thing
from kds.brain.line_text import Line, LineText
from kds.brain.message import one_line, well_formed
from kds.brain.secrets.redaction import storable

FILE_NAME: Final = "learning.jsonl"
"""In the `kds-brain` folder of a workspace."""

MAX_EVENTS: Final = 2_000
"""Lines kept, a third of a megabyte: ten corrections a day fill it in half a year."""

LOCK_TIMEOUT_S: Final = 5.0
"""A write takes milliseconds: a process that holds the lock this long hangs."""

Correction = Literal["clarified", "corrected", "told"]
"""Answered a question; named the intent of the message before; ran `kds learn correct`, once."""

Decision = Literal["accepted", "meant", "undone", "adopted", "rejected", "withdrawn", "refused"]
"""Taught a message, or what a description means; took it back. The others are of earlier
versions."""

Kind = Correction | Decision

_OPTIONAL: Final = ("was", "source", "antecedent")


@dataclass(frozen=True, slots=True)
class LearningEvent:
    """What the user said about a message, or decided about an example.

    ``was`` is the intent that the router had found. ``source`` tells conversations apart.
    A description has an ``antecedent`` instead of an intent.
    """

    at: datetime
    kind: Kind
    text: str
    intent: str
    was: str | None = None
    source: str | None = None
    antecedent: str | None = None

    @property
    def key(self) -> str:
        """The message, normalised."""
        return phrase_key(self.text)

    @property
    def id(self) -> str:
        """The name of the example, or of the learned reference, that it is about."""
        if self.antecedent is not None:
            return reference_id(self.text, self.antecedent)
        return example_id(self.text, self.intent)

    @property
    def is_correction(self) -> bool:
        """Whether it says which intent a message has; else it is a decision."""
        return self.kind in get_args(Correction)


@dataclass(frozen=True, slots=True)
class LoadedEvents:
    """The events in the order of arrival, and warnings about damaged lines."""

    events: tuple[LearningEvent, ...]
    warnings: tuple[str, ...] = ()


class EventLog:
    """The events of one workspace. Every method raises StoreError when they cannot be used."""

    def __init__(self, text: LockedText) -> None:
        self.text = text
        self._lines = LineText(text, decode)

    def load(self) -> LoadedEvents:
        """Return the events; damaged lines are set aside. Looking makes no file."""
        found, warnings = self._lines.load(lambda lines: lines)
        return LoadedEvents(tuple(line.value for line in found.good), warnings)

    def append(self, events: Sequence[LearningEvent]) -> None:
        """Add ``events``. The folder is made. Raises ExposedError when git would commit them."""
        self.text.prepare()
        new = [Line(encode(event), event) for event in events]
        with self.text.locked(timeout_s=LOCK_TIMEOUT_S) as text:
            found = self._lines.read(text)
            self._lines.write(text, [*found.good, *new][-MAX_EVENTS:], found)


def example_id(text: str, intent: str) -> str:
    """A short name that stays the same: of the normalised message and its intent.

    >>> example_id("Sort it out!", "PLAN") == example_id("sort it  out", "PLAN")
    True
    """
    return hashlib.sha256(f"{phrase_key(text)}\n{intent}".encode()).hexdigest()[:8]


def reference_id(text: str, antecedent: str) -> str:
    """The same of a description and what it means.

    >>> reference_id("the button", "FAB button") == reference_id("That button", "a fab button")
    True
    """
    return example_id(thing(text), thing(antecedent))


def encode(event: LearningEvent) -> bytes:
    """Write ``event`` as one line without its end, redacted. Raises ValueError without a zone."""
    if event.at.tzinfo is None:
        raise ValueError("the time of an event must be aware")
    record = {
        "at": moment(event.at.astimezone(UTC), "auto"),
        "kind": event.kind,
        "text": one_line(storable(event.text)),
        "intent": event.intent if event.antecedent is None else None,
        **{name: getattr(event, name) for name in _OPTIONAL},
    }
    given = {name: value for name, value in record.items() if value is not None}
    return json.dumps(given, ensure_ascii=False).encode()


def decode(raw: bytes) -> LearningEvent:
    """Read one line. Raises ValueError that says what is wrong with it."""
    try:
        record = json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise ValueError("invalid JSON") from error
    if not isinstance(record, dict):
        raise ValueError("not a JSON object")
    kinds: dict[str, Kind] = {kind: kind for kind in (*get_args(Correction), *get_args(Decision))}
    if (kind := kinds.get(_text(record, "kind"))) is None:
        raise ValueError(f"unknown kind '{record['kind']}'")
    given = {name: _text(record, name) for name in _OPTIONAL if record.get(name) is not None}
    at, text = read_moment(_text(record, "at"), name="at"), _text(record, "text")
    intent = "" if "antecedent" in given else _text(record, "intent")
    return LearningEvent(at, kind, text, intent, **given)


def _text(record: Mapping[str, Any], name: str) -> str:
    value = record.get(name)
    if not isinstance(value, str) or not value:
        raise ValueError(f"no text under '{name}'")
    return well_formed(value)
