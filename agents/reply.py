"""What an agent hands back: a frozen AgentReply, and what its fields are made of."""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Self

from kds.brain.turn import Turn, plain


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of all the calls that one reply took, as the provider counts them.

    >>> Usage(10, 2, 12) + Usage(5, 1, 6)
    Usage(input_tokens=15, output_tokens=3, total_tokens=18)
    """

    input_tokens: int = 0
    output_tokens: int = 0
    total_tokens: int = 0

    def __add__(self, other: Self) -> "Usage":
        return Usage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.total_tokens + other.total_tokens,
        )


@dataclass(frozen=True, slots=True)
class ToolUse:
    """One tool that the model called. ``result`` is what the model was told of it.

    ``failed``: there is no such tool, its arguments did not fit, or it raised.
    """

    name: str
    arguments: Mapping[str, object]
    result: str
    failed: bool = False


@dataclass(frozen=True, slots=True)
class Handoff:
    """Where the model sends the work next: one of the `handoffs` of the agent's prompt file."""

    intent: str
    agent: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class AgentReply:
    """What an agent made of a Turn.

    ``answered`` is False when no model was asked: ``text`` is the rendered prompt then. ``data``
    holds the structured fields that the prompt file declares under `output`; it is None where
    none are declared, and where the model gave none that fit, of which ``notes`` says why.
    ``usage`` is None when the provider does not count. ``notes`` are for people.

    Pieces of a stream are replies too: ``text`` is what has come since the piece before, the
    last one has all the rest, and their sum is the reply.
    """

    agent: str
    intent: str
    text: str
    prompt: str
    turn: Turn
    answered: bool = False
    data: Mapping[str, object] | None = None
    handoffs: tuple[Handoff, ...] = ()
    tools: tuple[ToolUse, ...] = ()
    usage: Usage | None = None
    model: str | None = None
    notes: tuple[str, ...] = ()

    def __add__(self, other: Self) -> "AgentReply":
        """What two pieces of a stream say together."""
        usages = [usage for usage in (self.usage, other.usage) if usage is not None]
        return replace(
            other,
            text=self.text + other.text,
            answered=self.answered or other.answered,
            data=other.data if other.data is not None else self.data,
            handoffs=self.handoffs + other.handoffs,
            tools=self.tools + other.tools,
            usage=sum(usages, Usage()) if usages else None,
            notes=self.notes + other.notes,
        )

    def as_dict(self) -> dict[str, object]:
        """The reply as JSON values; of the turn what `Turn.as_dict` gives."""
        return {
            one.name: self.turn.as_dict() if one.name == "turn" else plain(getattr(self, one.name))
            for one in fields(self)
        }
