"""How many of an agent's own examples reach it when they are typed verbatim.

An example is a promise: who types it is understood. It fails where another agent has the same
example, or an exact pattern that matches it.
"""

from collections.abc import Callable
from dataclasses import dataclass

from kds.brain.clock import utc_now
from kds.brain.turn import Turn
from kds.brain.workspace import Workspace
from kds.learning.learned import known_in
from kds.router.classify import make_classify
from kds.router.intents.model_cache import open_model
from kds.router.intents.turn_model import turn_model_for
from kds.router.prompts.library import PromptLibrary
from kds.router.prompts.promptfile import PromptFile


@dataclass(frozen=True, slots=True)
class StrayExample:
    """An example that reaches another intent than that of its prompt."""

    text: str
    where: str
    intent: str


@dataclass(frozen=True, slots=True)
class ExampleReach:
    """The examples of an agent, and those of them that do not reach it."""

    prompt: PromptFile
    strays: tuple[StrayExample, ...]

    @property
    def examples(self) -> int:
        """How many examples its file has."""
        return len(self.prompt.examples)

    @property
    def reached(self) -> int:
        """How many of them reach it."""
        return self.examples - len(self.strays)

    def as_dict(self) -> dict[str, object]:
        """For JSON."""
        return {
            "prompt": self.prompt.name,
            "intent": self.prompt.intent,
            "examples": self.examples,
            "reached": self.reached,
            "astray": [
                {"where": one.where, "text": one.text, "intent": one.intent} for one in self.strays
            ],
        }


def example_reach(library: PromptLibrary, workspace: Workspace) -> tuple[ExampleReach, ...]:
    """Type the examples of every agent of ``library``, each as a first message; by priority.

    They are read by the model that the workspace routes with, what was learned included. Nothing
    is written.
    """
    shipped = open_model(library.prompts(), workspace.cache_dir, may_write=False).model
    model = shipped.with_own(known_in(workspace, library).pairs)
    step = make_classify(model, turn_model_for(model.learned.labels))
    at = utc_now()

    def intent_of(text: str) -> str:
        return step.run(Turn(text, at, expanded=text)).intent

    return tuple(ExampleReach(agent, _strays(agent, intent_of)) for agent in library.agents())


def _strays(agent: PromptFile, intent_of: Callable[[str], str]) -> tuple[StrayExample, ...]:
    found = (
        StrayExample(text, agent.example_place(index), intent_of(text))
        for index, text in enumerate(agent.examples)
    )
    return tuple(one for one in found if one.intent != agent.intent)
