"""An agent: a prompt file with an intent, ready to be rendered for a Turn."""

from dataclasses import dataclass

from kds.brain.errors import DispatchError
from kds.brain.turn import Turn
from kds.router.library import PromptLibrary
from kds.router.promptfile import PromptFile
from kds.router.promptvalues import prompt_values


@dataclass(frozen=True, slots=True)
class Agent:
    """Answers one intent with the prompt that its file defines."""

    prompt: PromptFile
    library: PromptLibrary
    workspace: str

    @classmethod
    def for_intent(cls, intent: str, library: PromptLibrary, *, workspace: str) -> "Agent":
        """The agent of an intent. Raises DispatchError when no prompt file defines it."""
        prompt = library.for_intent(intent)
        if prompt is None:
            known = ", ".join(agent.intent for agent in library.agents() if agent.intent)
            raise DispatchError(f"no agent for intent '{intent}'", hint=f"use one of: {known}")
        return cls(prompt, library, workspace)

    @property
    def name(self) -> str:
        """The name of the prompt file, such as "work-planner"."""
        return self.prompt.name

    @property
    def intent(self) -> str:
        """The intent that the agent answers."""
        return self.prompt.intent or ""

    def render(self, turn: Turn) -> str:
        """The prompt for a Turn that has been through the router. Raises DispatchError."""
        values = prompt_values(turn, agents=self.library.agents(), workspace=self.workspace)
        return self.library.render(self.prompt, values)
