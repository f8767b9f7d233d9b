"""One line of what the BRAIN learns from: something the user said, or decided about it.

The line as JSON: ``at`` (ISO 8601 UTC), ``kind``, ``text``, ``intent`` or ``antecedent``, and where
they are known ``was``, ``source``, ``block``, ``group``.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, Literal, cast, get_args

from kds.brain.clock import moment, read_moment
from kds.brain.learning.phrase import phrase_key
from kds.brain.learning.reference import thing
from kds.brain.message import one_line, well_formed
from kds.brain.secrets.redaction import storable

Correction = Literal["clarified", "corrected", "told"]
"""Answered a question of ours; said which intent the message before had; ran the former command
`kds learn correct`."""

Decision = Literal["accepted", "meant", "undone"]
"""Taught, a message or what a description means; taken back."""

Earlier = Literal["adopted", "rejected", "withdrawn", "refused"]
"""What logs of earlier versions hold besides."""

Kind = Correction | Decision | Earlier
CORRECTIONS: Final[frozenset[str]] = frozenset(get_args(Correction))
KINDS: Final = CORRECTIONS | {*get_args(Decision), *get_args(Earlier)}


@dataclass(frozen=True, slots=True)
class LearningEvent:
    """What the user said about a message, or decided about an example.

    ``was`` is the intent that the router had found. ``source`` tells conversations apart.
    ``block`` is what teaching added to the learned file, to be taken out again byte for byte; what
    one command taught shares a ``group``. What is about a description instead of a message
    has no intent, but an ``antecedent``: the thing that is meant.
    """

    at: datetime
    kind: Kind
    text: str
    intent: str
    was: str | None = None
    source: str | None = None
    block: str | None = None
    group: str | None = None
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
        raise ValueError("is no JSON") from error
    if not isinstance(record, dict):
        raise ValueError("is no JSON object")
    kind = _text(record, "kind")
    if kind not in KINDS:
        raise ValueError(f"has the unknown kind '{kind}'")
    given = {name: _text(record, name) for name in _OPTIONAL if record.get(name) is not None}
    return LearningEvent(
        read_moment(_text(record, "at"), name="at"),
        cast(Kind, kind),
        _text(record, "text"),
        "" if "antecedent" in given else _text(record, "intent"),
        **given,
    )


_OPTIONAL: Final = ("was", "source", "block", "group", "antecedent")


def _text(record: Mapping[str, Any], name: str) -> str:
    value = record.get(name)
    if not isinstance(value, str) or not value:
        raise ValueError(f"has no text under '{name}'")
    return well_formed(value)
