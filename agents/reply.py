"""What an agent hands back: a frozen AgentReply; and how a model hands the work on."""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Final, Self

from kds.brain.turn import Turn, plain
from kds.router.prompts.library import PromptLibrary
from kds.router.prompts.promptfile import PromptFile

if TYPE_CHECKING:
    from langchain_core.tools import BaseTool


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

    ``failed``: the tool is unknown, its arguments did not fit, or it raised.
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


HAND_OFF: Final = "hand_off"
"""Name of the tool."""

REASON_CHARS: Final = 300


@dataclass(frozen=True, slots=True)
class Handing:
    """Where one agent may hand on to: its intents, each with its agent."""

    targets: Mapping[str, PromptFile]

    @classmethod
    def of(cls, prompt: PromptFile, library: PromptLibrary) -> "Handing":
        """What the front matter of ``prompt`` declares."""
        found = {intent: library.for_intent(intent) for intent in prompt.handoffs}
        return cls({intent: agent for intent, agent in found.items() if agent is not None})

    def tool(self) -> "BaseTool":
        """The tool for the model. What it is called with goes to `given`; it does nothing."""
        from langchain_core.tools import StructuredTool  # replies are read without LangChain

        lines = "\n".join(f"{name}: {agent.description}" for name, agent in self.targets.items())
        schema = {
            "title": HAND_OFF,
            "type": "object",
            "properties": {
                "intent": {
                    "type": "string",
                    "enum": list(self.targets),
                    "description": "who goes on",
                },
                "reason": {"type": "string", "description": "why, in one sentence"},
            },
            "required": ["intent"],
        }
        return StructuredTool.from_function(
            lambda **_: "",
            name=HAND_OFF,
            description=(
                "Hand the work on when yours is done and the user's wish goes beyond it. "
                f"Write your answer as well.\n{lines}"
            ),
            args_schema=schema,
        )

    def given(self, intent: object, reason: object = "") -> Handoff | None:
        """The handoff to ``intent``, or to the agent of that name; None: it is not declared."""
        said = intent.strip() if isinstance(intent, str) else ""
        agents = {agent.name: target for target, agent in self.targets.items()}
        name = agents.get(said.lower(), said.upper())
        if name not in self.targets:
            return None
        why = " ".join(reason.split())[:REASON_CHARS] if isinstance(reason, str) else ""
        return Handoff(name, self.targets[name].name, why)
