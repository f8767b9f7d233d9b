"""What KDS made of a message, as it is kept beside it: the turn, and how it was answered.

It is shown again after a restart as it was. What other sessions or the profile said is not copied:
a passage is named by its message, so that erasing that one erases it here, too; lines of the
profile go with the consent (`without_profile`).
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final

from kds.brain.errors import StoreError
from kds.brain.secrets.redaction import withheld
from kds.brain.store.columns import json_column, kept_data
from kds.brain.turn import Turn, from_wire, plain, read, to_wire

PROFILE_MARK: Final = '"profile": ["'
"""Stands in details that hold lines of the profile, and in no others: in texts quotes are
escaped."""


@dataclass(frozen=True, slots=True)
class Fault:
    """Why there is no (whole) answer."""

    message: str
    where: str | None = None
    hint: str | None = None


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool that a model has used; ``arguments`` are JSON."""

    name: str
    arguments: str = "{}"
    failed: bool = False


@dataclass(frozen=True, slots=True)
class AgentDetails:
    """How one agent answered; without a model it gave its prompt."""

    agent: str
    answered: bool = False
    prompt: str = ""
    """What it was asked with, without what the memory added; "": the prompt of the turn."""
    model: str | None = None
    tokens: int = 0
    tools: tuple[ToolCall, ...] = ()


@dataclass(frozen=True, slots=True)
class Quote:
    """A passage of an earlier message that stood in the prompt: a slice of it."""

    message: str
    start: int
    length: int


@dataclass(frozen=True, slots=True)
class AnswerDetails:
    """How a message was answered; ``ms``: from the message to the end of the answer."""

    agents: tuple[AgentDetails, ...] = ()
    notes: tuple[str, ...] = ()
    error: Fault | None = None
    halted: bool = False
    proposal: bool = False
    """Whether the answer proposes something, which a yes takes."""
    profile: tuple[str, ...] = ()
    """Lines of the profile that stood in the prompt."""
    quotes: tuple[Quote, ...] = ()
    ms: float = 0.0


@dataclass(frozen=True, slots=True)
class Details:
    """What was made of a user's message. Handing the work on answers it once more."""

    turn: Turn
    answers: tuple[AnswerDetails, ...] = field(default=())

    def answered(self, answer: AnswerDetails) -> "Details":
        """The same with one more answer."""
        return replace(self, answers=(*self.answers, answer))

    def said_here(self, moments: Iterable[datetime]) -> "Details":
        """The same without what was said in other conversations, which may be erased there.

        ``moments`` are those of the messages of this one.
        """
        own = frozenset(moments)
        context = tuple(one for one in self.turn.context if one.timestamp in own)
        if context == self.turn.context:
            return self
        bare = tuple(
            replace(one, agents=tuple(replace(agent, prompt="") for agent in one.agents))
            for one in self.answers
        )
        return Details(replace(self.turn, context=context, prompt=""), bare)


def encode(details: Details) -> str:
    """Return details as they are stored: JSON, with secrets replaced by marks."""
    turn = details.turn
    wire = to_wire(turn)
    for one in ("why", "noted"):  # they follow from the rest
        wire.pop(one, None)
    answers = [{key: one for key, one in plain(answer, digits=1).items() if one}
               for answer in details.answers]  # fmt: skip
    data = {"turn": wire | {"edits": plain(turn.edits)}, "answers": answers}
    hidden = withheld(turn.message, turn.expanded)
    return json.dumps(kept_data(data, hidden), ensure_ascii=False)


def decode(text: str | None, message: str) -> Details | None:
    """Read what `encode` wrote about ``message`` as it is stored; None for what it did not."""
    try:
        data = json.loads(text or "null")
        turn = from_wire(data["turn"])
        answers: tuple[AnswerDetails, ...] = read(tuple[AnswerDetails, ...], data["answers"])
    except (KeyError, TypeError, ValueError, RecursionError, StoreError):
        return None
    return Details(replace(turn, message=message), answers)


def without_profile(text: str) -> str:
    """Return details without the lines of the profile."""
    data = json_column(text)
    for one in data["answers"]:
        one.pop("profile", None)
    return json.dumps(data, ensure_ascii=False)


def imported(text: str | None, message: str) -> str | None:
    """Return details from elsewhere as they may be stored; None for what are none."""
    found = decode(text, message)
    return None if found is None else encode(found)
