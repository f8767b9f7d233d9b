"""What the tools return, as JSON schema: the structured content of MCP tool results.

Claude Code, Codex and opencode hand the model this JSON and leave the text out (issue 79944 of
anthropics/claude-code), so whatever a model must know stands here too: see ``next_step``.
"""

from dataclasses import replace
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from kds.brain.context.journal import LoadedContext
from kds.brain.turn import Action, IntentScore, Reference, StepRecord, Turn
from kds.brain.wire import entry_to_wire

Clarification = Literal["none", "accepted", "declined", "cancelled", "unanswered", "unsupported"]
"""What became of the clarifying question: there was none; the user chose, declined or closed it;
no usable answer came in time; the client cannot ask."""

Score = Annotated[float, Field(ge=0, le=1)]


class _Result(BaseModel):
    model_config = ConfigDict(frozen=True)


class Resolution(_Result):
    """What a message says once its references are resolved."""

    message: str
    expanded: str = Field(description="The message as it can be understood without the chat.")
    references: list[Reference]
    context_ref: str | None = Field(description="What the message is about, from the context.")
    context_switch: bool = Field(description="Whether the message changes the topic.")

    @classmethod
    def of(cls, turn: Turn) -> "Resolution":
        """Take what the resolution made of a turn."""
        return cls.model_validate(turn.as_dict())


class RoutedMessage(Resolution):
    """A routed message: its intent, its agent, and the prompt to follow."""

    action: Action = Field(description="route: follow `prompt`; clarify: ask `question`.")
    next_step: str = Field(description="What to do with this result.")
    intent: str
    confidence: Score
    secondary_intents: list[str]
    alternatives: list[IntentScore]
    question: str | None
    candidates: list[str] = Field(description="The intents that `question` offers.")
    clarification: Clarification = Field(description="What became of the question, if asked.")
    session_id: str | None
    agent: str | None
    prompt_file: str | None
    prompt: str = Field(description="The agent's instructions for this message.")
    noted: str | None = Field(description="What was noted of a corrected intent; docs/learning.md.")
    notice: str | None = Field(description="Set for a message that KDS cannot read: not English.")
    why: list[str]
    warnings: list[str] = Field(description="Files of the workspace that do not load.")

    @classmethod
    def made_of(
        cls, turn: Turn, *, clarification: Clarification, warnings: tuple[str, ...] = ()
    ) -> "RoutedMessage":
        """Take the whole of a turn, and say what to do with it."""
        extra = {
            "next_step": next_step(turn),
            "clarification": clarification,
            "warnings": list(warnings),
        }
        return cls.model_validate({**turn.as_dict(), **extra})


class RememberedMessage(_Result):
    """One entry of the conversation context: what the user said, and what it was taken for."""

    timestamp: str = Field(description="ISO 8601, UTC.")
    user_message: str
    intent: str
    session_id: str | None
    context_ref: str | None = None


class ContextView(_Result):
    """The conversation context: at most ten messages of the last two hours, oldest first."""

    conversation: str | None = Field(description="null: the one that the workspace shares.")
    entries: list[RememberedMessage]
    warnings: list[str]

    @classmethod
    def of(cls, loaded: LoadedContext, *, conversation: str | None) -> "ContextView":
        """Take what a journal holds."""
        entries = [
            RememberedMessage.model_validate(entry_to_wire(entry)) for entry in loaded.entries
        ]
        return cls(conversation=conversation, entries=entries, warnings=list(loaded.warnings))


class ClearedContext(_Result):
    """How many messages were forgotten."""

    conversation: str | None
    cleared: int


class Explanation(_Result):
    """How the router arrives at its decision, step by step. Nothing was remembered."""

    message: str
    expanded: str
    intent: str
    confidence: Score
    action: Action
    agent: str | None
    steps: list[StepRecord]

    @classmethod
    def of(cls, turn: Turn) -> "Explanation":
        """Take the records of a turn."""
        steps = [replace(record, cpu_ms=round(record.cpu_ms, 3)) for record in turn.records]
        return cls.model_validate({**turn.as_dict(), "steps": steps})


def next_step(turn: Turn) -> str:
    """Tell the assistant what to do with a routed message.

    >>> from kds.brain.clock import utc_now
    >>> next_step(Turn("hm", utc_now(), expanded="hm"))
    'Follow `prompt`: the message was not understood.'
    """
    if turn.notice:
        return f"{turn.notice}. Do what the user asks."
    if turn.action == "route":
        return f"Do what `prompt` says; the user's request is: {turn.expanded}"
    if turn.action == "clarify":
        return (
            "Ask the user `question`, then call route_message with the answer, such as "
            f"'{turn.candidates[0].lower().replace('_', ' ')}' or 'the first one'."
        )
    return "Follow `prompt`: the message was not understood."
