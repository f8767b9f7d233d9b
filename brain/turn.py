"""The values that travel: a frozen Turn, what its fields are made of, and their JSON.

A message becomes one Turn; each step of the router returns a new one. Offsets are in characters of
``Turn.message``; times are aware UTC datetimes; scores lie in [0, 1].
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from datetime import datetime
from functools import cache
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from kds.brain.clock import moment
from kds.brain.errors import StoreError

if TYPE_CHECKING:
    from pydantic import TypeAdapter


def plain(value: Any, *, digits: int | None = None) -> Any:
    """Return ``value`` as JSON has it; floats are rounded to so many ``digits``, if any are said.

    >>> from kds.brain.turn import IntentScore
    >>> plain((IntentScore("PLAN", 0.123456),), digits=4)
    [{'intent': 'PLAN', 'confidence': 0.1235}]
    """
    if is_dataclass(value):
        return {one.name: plain(getattr(value, one.name), digits=digits) for one in fields(value)}
    if isinstance(value, Mapping):
        return {name: plain(one, digits=digits) for name, one in value.items()}
    if isinstance(value, tuple | list):
        return [plain(one, digits=digits) for one in value]
    return value if digits is None or not isinstance(value, float) else round(value, digits)


def read(kind: Any, value: Any) -> Any:
    """Return ``value`` as a ``kind``; fields with a default may be missing, unknown ones are left.

    Raises ValueError.

    >>> from kds.brain.turn import Edit
    >>> read(tuple[Edit, ...], [{"start": 1, "end": 2, "text": "it", "more": 3}])
    (Edit(start=1, end=2, text='it'),)
    """
    return _reader(kind).validate_python(value)


@cache
def _reader(kind: Any) -> "TypeAdapter[Any]":
    from pydantic import TypeAdapter  # 50 ms of imports, of which routing needs nothing

    return TypeAdapter(kind)


Action = Literal["route", "clarify", "abstain"]

WARNING: Final = "warning: "
"""How a note begins that the user is to see without asking for the reasons."""

UNKNOWN: Final = "UNKNOWN"
"""The intent of a message that is none of the known ones, or that was not understood."""

NOTED: Final = "learn"
"""The record of what a turn says about the intent of an earlier message."""

NOT_ENGLISH: Final = "KDS reads English only: this message is passed on as it is"
"""What is said of a message in another language."""

Outcome = Literal["used", "unchanged", "rejected", "failed", "resting"]
"""What became of asking a model for the self-contained message."""


class Utterance(NamedTuple):
    """Something said: by the user, or by the assistant in reply."""

    text: str
    role: Literal["user", "assistant"] = "user"


@dataclass(frozen=True, slots=True)
class ContextEntry:
    """One line of the conversation context: what the user said, and its outcome."""

    timestamp: datetime
    user_message: str
    intent: str
    session_id: str | None = None
    context_ref: str | None = None
    origin: str | None = None
    """Where it was typed (`kds.brain.context.names`); None where that is not known."""


@dataclass(frozen=True, slots=True)
class Reference:
    """A mention in the message that points back, and what it points to.

    ``text`` is ``message[start:end]``; it is empty when the reference is implicit
    ("Change the color" -> of the progress bar). ``target`` is empty where only the assistant's
    reply says it: nothing of a reply is kept. ``rule`` is the id of the YAML rule. ``sole``: a
    command changes it, and nothing else was named that could be meant.
    """

    text: str
    start: int
    end: int
    target: str
    rule: str
    score: float
    sole: bool = False


@dataclass(frozen=True, slots=True)
class Edit:
    """Replace ``message[start:end]`` by ``text``. Edits of one turn do not overlap."""

    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Proposal:
    """An edit that was considered, written or not, and the probability that it is right."""

    edit: Edit
    probability: float


@dataclass(frozen=True, slots=True)
class IntentScore:
    """A candidate intent and its calibrated probability."""

    intent: str
    confidence: float


@dataclass(frozen=True, slots=True)
class StepRecord:
    """What one step did: the lines `explain` prints, and its CPU time in milliseconds."""

    step: str
    notes: tuple[str, ...] = ()
    cpu_ms: float = 0.0


@dataclass(frozen=True, slots=True)
class Rewriting:
    """That a model was asked to rewrite the message, and the outcome. Nothing of what was said.

    ``used``: its text is the expansion. ``unchanged``: it left the message as it is.
    ``rejected``: its text failed the check named in ``reason``. ``failed``: it raised an error
    or was too slow (``reason``). ``resting``: it was not asked, because it failed just before.
    """

    model: str
    outcome: Outcome
    reason: str | None = None
    cached: bool = False
    ms: float = 0.0
    """Wall time that the turn waited for it, checks included."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One message on its way through the router.

    Only ``message`` and ``at`` are set at the start, and what the caller knows or wants
    beyond them. Fields stand in the order in which the steps write them.
    """

    message: str
    at: datetime
    history: tuple[Utterance, ...] = ()
    """What was said before, oldest first, where the caller knows the assistant's replies too;
    the context holds the user's messages alone."""
    rewrite: bool | None = None
    """Whether a model may rewrite the message: None as the settings say, False not for this
    message, True also where the rules need no help."""

    # load
    context: tuple[ContextEntry, ...] = ()
    # resolve
    references: tuple[Reference, ...] = ()
    edits: tuple[Edit, ...] = ()
    unresolved: tuple[str, ...] = ()
    """Words that point back although no rule could say to what: "it", "the other one"."""
    # decide
    proposals: tuple[Proposal, ...] = ()
    """Every edit that was weighed, those that were not written included."""
    # expand
    expanded: str = ""
    context_ref: str | None = None
    context_switch: bool = False
    # need
    needs_context: float = 0.0
    """How likely the message needs what was said before it; 0 where nothing was."""
    # rewrite
    rewriting: Rewriting | None = None
    """None when no model was asked."""
    # classify
    intent: str = UNKNOWN
    confidence: float = 0.0
    in_scope: float = 1.0
    """How much the message looks like one of the intents at all (`router/intents/model.py`)."""
    alternatives: tuple[IntentScore, ...] = ()
    secondary_intents: tuple[str, ...] = ()
    # foreign
    english: bool = True
    """False for a message that is plainly in another language: nothing was made of it."""
    # dispatch
    action: Action = "abstain"
    question: str | None = None
    candidates: tuple[str, ...] = ()
    session_id: str | None = None
    agent: str | None = None
    prompt_file: str | None = None
    prompt: str = ""
    # every step
    notes: tuple[str, ...] = field(default=(), compare=False)
    """What the step that is running has to say; the pipeline files it under ``records``."""
    records: tuple[StepRecord, ...] = field(default=(), compare=False)

    @property
    def why(self) -> tuple[str, ...]:
        """Every note of every step, in order: the explanation of this turn."""
        return tuple(note for record in self.records for note in record.notes)

    @property
    def noted(self) -> str | None:
        """What was noted of the intent of an earlier message that this one corrects."""
        return next((one.notes[0] for one in self.records if one.step == NOTED and one.notes), None)

    @property
    def notice(self) -> str | None:
        """What the user is to be told, whatever comes of the turn: that KDS could not read it."""
        return None if self.english else NOT_ENGLISH

    def as_dict(self) -> Mapping[str, object]:
        """The JSON form, as `kds route --json` prints it."""
        return {name: plain(getattr(self, name), digits=SCORE_DIGITS) for name in _SHOWN}


SCORE_DIGITS: Final = 4

_SHOWN: Final = (
    *("message", "expanded", "intent", "confidence", "action", "secondary_intents"),
    *("alternatives", "question", "candidates", "context_ref", "references", "context_switch"),
    *("needs_context", "session_id", "agent", "prompt_file", "prompt", "noted", "notice", "why"),
)
"""What of a turn is JSON, in this order."""


MS_DIGITS: Final = 3


def to_wire(turn: Turn) -> dict[str, object]:
    """Return ``turn`` as JSON values."""
    return {
        **turn.as_dict(),
        "at": turn.at.isoformat(),
        "in_scope": round(turn.in_scope, SCORE_DIGITS),
        "context": [entry_to_wire(entry) for entry in turn.context],
        "unresolved": list(turn.unresolved),
        "rewriting": plain(turn.rewriting, digits=MS_DIGITS),
        "records": plain(turn.records, digits=MS_DIGITS),
    }


def from_wire(data: object) -> Turn:
    """Read a turn that `to_wire` wrote; what it does not know is passed over.

    Raises StoreError when ``data`` is not such a turn.
    """
    try:
        found: Turn = read(Turn, data)
    except ValueError as error:
        raise StoreError(
            "not a turn that this version can read",
            hint="is the other side another version of KDS? restart it: kds service stop",
        ) from error
    return replace(found, english=isinstance(data, Mapping) and data.get("notice") is None)


def entry_to_wire(entry: ContextEntry) -> dict[str, object]:
    """Return a context entry as JSON values: the fields of the file."""
    return {
        "timestamp": moment(entry.timestamp, "auto"),
        "user_message": entry.user_message,
        "intent": entry.intent,
        "session_id": entry.session_id,
        **({} if entry.context_ref is None else {"context_ref": entry.context_ref}),
        **({} if entry.origin is None else {"origin": entry.origin}),
    }
