"""An agent: a prompt file, ready to be rendered for a Turn, and to be run with a model; and what it
hands back, a frozen AgentReply."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Final, Self

from kds.brain.clock import Clock, utc_now
from kds.brain.errors import DispatchError
from kds.brain.message import clean_message
from kds.brain.turn import UNKNOWN, Turn, plain
from kds.brain.yaml_files import nearest
from kds.router.prompts.library import PromptLibrary
from kds.router.prompts.promptfile import PromptFile
from kds.router.prompts.values import prompt_values

if TYPE_CHECKING:  # LangChain stands at the edge (decision 4): it is imported with `as_runnable`
    from langchain_core.language_models import BaseChatModel
    from langchain_core.tools import BaseTool

    from kds.agents.run import AgentRunnable

CERTAIN: Final = 1.0
"""Confidence in the intent of a message that was handed to its agent by name."""


def prompt_named(name: object, library: PromptLibrary) -> PromptFile:
    """The prompt file of an intent ("PLAN"), or of that name; upper and lower case are the same.

    Raises DispatchError, which names the nearest one.
    """
    if not isinstance(name, str):
        hint = 'name an intent ("PLAN") or a prompt file ("work-planner")'
        raise DispatchError(f"a {type(name).__name__} names no agent", hint=hint)
    agents = library.agents()
    intents = {one.intent.lower(): one.intent for one in agents if one.intent}
    wanted = name.strip().lower()
    if wanted in intents and (found := library.for_intent(intents[wanted])) is not None:
        return found
    if (file := next((one for one in agents if one.name == wanted), None)) is not None:
        return file
    near = nearest(wanted, [*intents, *(one.name for one in agents)])
    try:
        return library.get(name.strip())
    except DispatchError:
        if near not in intents:
            raise
        hint = f"did you mean {intents[near]}?"
        raise DispatchError(f"no agent '{name.strip()}'", hint=hint) from None


@dataclass(frozen=True, slots=True)
class Agent:
    """Answers with the prompt that its file defines, which is that of one intent, as a rule."""

    prompt: PromptFile
    library: PromptLibrary
    workspace: str

    @classmethod
    def named(cls, name: str, library: PromptLibrary, *, workspace: str) -> Agent:
        """The agent of an intent ("PLAN"), or of a prompt file by its name ("work-planner").

        Raises DispatchError, which names the nearest one.
        """
        return cls(prompt_named(name, library), library, workspace)

    @property
    def name(self) -> str:
        """The name of the prompt file, such as "work-planner"."""
        return self.prompt.name

    @property
    def intent(self) -> str:
        """The intent that the agent answers; empty when its prompt file has none."""
        return self.prompt.intent or ""

    def render(self, turn: Turn) -> str:
        """The prompt for a Turn that has been through the router. Raises DispatchError."""
        values = prompt_values(turn, agents=self.library.agents(), workspace=self.workspace)
        return self.library.render(self.prompt, values)

    def taking(self, turn: Turn) -> Turn:
        """``turn`` as a turn of this agent, with its prompt. Raises DispatchError.

        It comes back as it is when the router has already handed it to this agent.
        """
        if turn.agent == self.name and turn.prompt:
            return turn
        own = replace(turn, agent=self.name, prompt_file=self.prompt.ref)
        if self.intent and self.intent != UNKNOWN:
            own = replace(own, intent=self.intent, action="route", question=None, candidates=())
        return replace(own, prompt=self.render(own))

    def turn(self, message: str, *, clock: Clock = utc_now) -> Turn:
        """A turn for a message that was not routed: no context, and meant for this agent.

        Raises MessageError for an empty message, and DispatchError.
        """
        text = clean_message(message)
        intent = self.intent or UNKNOWN
        return self.taking(
            Turn(text, clock(), expanded=text, intent=intent, confidence=CERTAIN, action="route")
        )

    def as_runnable(
        self,
        model: BaseChatModel | None = None,
        *,
        tools: Iterable[BaseTool] = (),
        timeout_s: float | None = None,
    ) -> AgentRunnable:
        """The agent as a LangChain Runnable; without a model the reply is the rendered prompt.

        ``tools`` are those that the prompt file may name. Without ``timeout_s`` a reply may take a
        minute. Raises DispatchError for a tool that is unknown.
        """
        from kds.agents.run import AgentRunnable

        return AgentRunnable(self, model, tools=tools, timeout_s=timeout_s)


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of all the calls that one reply took, as the provider counts them.

    >>> Usage(10, 2, 12) + Usage(5, 1, 6)
    Usage(input_tokens=15, output_tokens=3, total_tokens=18)
    """

    input_tokens: int = 0
    output_tokens: int = 0
    total_tokens: int = 0

    def __add__(self, other: Self) -> Usage:
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

    ``answered`` is False when no model was asked: ``text`` is the rendered prompt then. ``usage``
    is None when the provider does not count. ``notes`` are for people.

    Pieces of a stream are replies too: ``text`` is what has come since the piece before, the
    last one has all the rest, and their sum is the reply.
    """

    agent: str
    intent: str
    text: str
    prompt: str
    turn: Turn
    answered: bool = False
    handoffs: tuple[Handoff, ...] = ()
    tools: tuple[ToolUse, ...] = ()
    usage: Usage | None = None
    model: str | None = None
    notes: tuple[str, ...] = ()

    def __add__(self, other: Self) -> AgentReply:
        """What two pieces of a stream say together."""
        usages = [usage for usage in (self.usage, other.usage) if usage is not None]
        return replace(
            other,
            text=self.text + other.text,
            answered=self.answered or other.answered,
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
