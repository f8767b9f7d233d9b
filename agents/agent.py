"""An agent: a prompt file, ready to be rendered for a Turn, and to be run with a model."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from kds.brain.clock import Clock, utc_now
from kds.brain.errors import DispatchError
from kds.brain.message import clean_message
from kds.brain.turn import UNKNOWN, Turn
from kds.brain.yaml_files import nearest
from kds.router.prompts.library import PromptLibrary
from kds.router.prompts.promptfile import PromptFile
from kds.router.prompts.values import prompt_values

if TYPE_CHECKING:  # LangChain stands at the edge (decision 4): it is imported with `as_runnable`
    from langchain_core.language_models import BaseChatModel
    from langchain_core.tools import BaseTool

    from kds.agents.run import AgentRunnable
    from kds.agents.tools import TurnTool

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
        tools: Iterable[BaseTool | TurnTool] = (),
        timeout_s: float | None = None,
    ) -> AgentRunnable:
        """The agent as a LangChain Runnable, from a Turn or a message to an AgentReply.

        Without a model the reply is the rendered prompt. ``tools`` are those that the prompt
        file may name (`kds.agents.tools`). Without ``timeout_s`` a reply may take a minute. Raises
        DispatchError for a tool that is unknown.
        """
        from kds.agents.run import AgentRunnable

        return AgentRunnable(self, model, tools=tools, timeout_s=timeout_s)
