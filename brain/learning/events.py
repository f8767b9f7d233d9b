"""What the user said about intents, or decided about examples: `learning.jsonl`.

Lines are only ever added, by any process. A damaged line is set aside in a `.bad` file, the rest is
kept. Above MAX_EVENTS the oldest corrections fall out. A line as JSON has ``at`` (ISO 8601 UTC),
``kind``, ``text``, ``intent`` or ``antecedent``, and optionally ``was`` and ``source``; other keys
are of earlier versions.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, Literal, cast, get_args

from kds.brain.clock import moment, read_moment
from kds.brain.errors import StoreError
from kds.brain.files import LockedText
from kds.brain.learning.phrases import phrase_key, thing
from kds.brain.message import one_line, well_formed
from kds.brain.secrets.redaction import storable

FILE_NAME: Final = "learning.jsonl"
"""In the `kds-brain` folder of a workspace."""

MAX_EVENTS: Final = 2_000
"""Lines kept, a third of a megabyte: ten corrections a day fill it in half a year."""

LOCK_TIMEOUT_S: Final = 5.0
"""A write takes milliseconds: a process that holds the lock this long hangs."""

_TIDY_TIMEOUT_S: Final = 1.0

Correction = Literal["clarified", "corrected", "told"]
"""Answered a question; named the intent of the message before; ran the former command
`kds learn correct`."""

Decision = Literal["accepted", "meant", "undone"]
"""Taught a message, or what a description means; took it back."""

Earlier = Literal["adopted", "rejected", "withdrawn", "refused"]
"""Further kinds in the logs of earlier versions."""

Kind = Correction | Decision | Earlier
CORRECTIONS: Final[frozenset[str]] = frozenset(get_args(Correction))
KINDS: Final = CORRECTIONS | {*get_args(Decision), *get_args(Earlier)}

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
        return self.kind in CORRECTIONS


@dataclass(frozen=True, slots=True)
class LoadedEvents:
    """The events in the order of arrival, and warnings about damaged lines."""

    events: tuple[LearningEvent, ...]
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Read:
    lines: Sequence[tuple[bytes, LearningEvent]]
    damaged: Sequence[tuple[int, bytes, str]]


class EventLog:
    """The events of one workspace. Every method raises StoreError when they cannot be used."""

    def __init__(self, text: LockedText, *, max_events: int = MAX_EVENTS) -> None:
        self.text = text
        self._max = max_events

    def damaged(self) -> int:
        """Return how many lines cannot be read; they stay where they are."""
        return len(_read(self.text.read() or b"").damaged)

    def load(self) -> LoadedEvents:
        """Return the events; damaged lines are set aside. Looking makes no file."""
        found = _read(self.text.read() or b"")
        warnings: Iterable[str] = ()
        if found.damaged:
            fate = f"set aside in {self.text.aside.name}"
            try:
                if self.text.read_only:
                    raise StoreError("it is read-only", where=str(self.text))
                with self.text.locked(timeout_s=_TIDY_TIMEOUT_S) as text:
                    found = _read(text.read() or b"")
                    _write(text, found)
            except StoreError as error:
                fate = f"left where it is: {error.message}"
            damaged = found.damaged
            warnings = [f"{self.text}:{number}: {why}; {fate}" for number, _, why in damaged]
        return LoadedEvents(tuple(event for _, event in found.lines), tuple(warnings))

    def append(self, events: Sequence[LearningEvent]) -> None:
        """Add ``events``. The folder is made.

        Raises ExposedError when git would commit them.
        """
        self.text.prepare()
        new = b"".join(encode(event) + b"\n" for event in events)
        with self.text.locked(timeout_s=LOCK_TIMEOUT_S) as text:
            content = text.read() or b""
            found = _read(content)
            lines = [*found.lines, *_read(new).lines]
            if found.damaged or len(lines) > self._max:
                _write(text, _Read(self._bounded(lines), found.damaged))
            else:
                torn = content and not content.endswith(b"\n")
                text.append((b"\n" if torn else b"") + new)

    def _bounded(
        self, lines: Sequence[tuple[bytes, LearningEvent]]
    ) -> Sequence[tuple[bytes, LearningEvent]]:
        """Without the oldest corrections, a tenth more than it takes: not every line rewrites."""
        too_many = len(lines) - self._max
        if too_many <= 0:
            return lines
        corrections = [at for at, (_, event) in enumerate(lines) if event.is_correction]
        decisions = [at for at, (_, event) in enumerate(lines) if not event.is_correction]
        dropped = {*[*corrections, *decisions][: too_many + self._max // 10]}
        return [line for at, line in enumerate(lines) if at not in dropped]


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
    record: dict[str, str] = {
        "at": moment(event.at.astimezone(UTC), "auto"),
        "kind": event.kind,
        "text": one_line(storable(event.text)),
    }
    if event.antecedent is None:
        record["intent"] = event.intent
    for name in _OPTIONAL:
        if (value := getattr(event, name)) is not None:
            record[name] = value
    return json.dumps(record, ensure_ascii=False).encode()


def decode(raw: bytes) -> LearningEvent:
    """Read one line. Raises ValueError that says what is wrong with it."""
    try:
        record = json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise ValueError("invalid JSON") from error
    if not isinstance(record, dict):
        raise ValueError("not a JSON object")
    kind = _text(record, "kind")
    if kind not in KINDS:
        raise ValueError(f"unknown kind '{kind}'")
    given = {name: _text(record, name) for name in _OPTIONAL if record.get(name) is not None}
    return LearningEvent(
        read_moment(_text(record, "at"), name="at"),
        cast(Kind, kind),
        _text(record, "text"),
        "" if "antecedent" in given else _text(record, "intent"),
        **given,
    )


def _text(record: Mapping[str, Any], name: str) -> str:
    value = record.get(name)
    if not isinstance(value, str) or not value:
        raise ValueError(f"no text under '{name}'")
    return well_formed(value)


def _write(text: LockedText, found: _Read) -> None:
    if found.damaged:
        text.aside.append(b"".join(raw + b"\n" for _, raw, _ in found.damaged))
    text.replace(b"".join(raw + b"\n" for raw, _ in found.lines))


def _read(content: bytes) -> _Read:
    lines: list[tuple[bytes, LearningEvent]] = []
    damaged: list[tuple[int, bytes, str]] = []
    for number, raw in enumerate(content.split(b"\n"), start=1):
        if not (raw := raw.strip(b" \t\r")):
            continue
        try:
            lines.append((raw, decode(raw)))
        except ValueError as error:
            damaged.append((number, raw, str(error)))
    return _Read(lines, damaged)
