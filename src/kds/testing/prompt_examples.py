"""Checks the examples of agents: which of them go astray, and which two agents have.

An example is a promise: a user who types it reaches its agent. It fails where another agent has
the same example, or an exact pattern that matches it.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Final

from kds.brain.clock import utc_now
from kds.brain.errors import DispatchError, Problem, PromptFileError
from kds.brain.settings import LiveConfig
from kds.brain.turn import Turn
from kds.brain.workspace import Workspace
from kds.learning.teaching import known_in
from kds.router.classify import make_classify
from kds.router.intents.features import stems
from kds.router.intents.model_cache import open_model
from kds.router.intents.turn_model import turn_model_for
from kds.router.prompts.library import PromptLibrary
from kds.router.prompts.promptfile import PromptFile

SMALL_WORDS: Final = frozenset("a an my our please that the this".split())
"""Words that do not make two examples different."""


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
        """Return the JSON form."""
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
    """Route the examples of every agent of ``library``, each as a first message; by priority.

    The model is the one that the workspace routes with, learned examples included. Nothing is
    written.
    """
    shipped = open_model(library.prompts(), workspace.cache_dir, may_write=False).model
    model = shipped.with_own(known_in(LiveConfig(workspace).current(), library).pairs)
    step = make_classify(model, turn_model_for(model.learned.labels))
    at = utc_now()

    def strays(agent: PromptFile) -> Iterator[StrayExample]:
        for index, text in enumerate(agent.examples):
            intent = step.run(Turn(text, at, expanded=text)).intent
            if intent != agent.intent:
                yield StrayExample(text, agent.example_place(index), intent)

    return tuple(ExampleReach(agent, tuple(strays(agent))) for agent in library.agents())


@dataclass(frozen=True, slots=True)
class LintFinding:
    """An example that another intent has too, but for endings and small words.

    ``where`` is "file:line".
    """

    where: str
    intent: str
    text: str
    others: tuple[str, ...]


def lint_examples(
    prompts: Sequence[PromptFile], *, own: Path | None = None
) -> tuple[LintFinding, ...]:
    """Return the examples that several agents have; those in files below ``own`` come first."""
    by_words: dict[tuple[str, ...], list[tuple[PromptFile, int]]] = {}
    for prompt in sorted(prompts, key=lambda one: own is None or not one.path.is_relative_to(own)):
        for number, text in enumerate(prompt.examples if prompt.intent else ()):
            words = tuple(stem for stem in stems(text) if stem not in SMALL_WORDS)
            by_words.setdefault(words, []).append((prompt, number))
    return tuple(
        LintFinding(prompt.example_place(number), prompt.intent or "",
                    prompt.examples[number], tuple(others))
        for group in by_words.values()
        for prompt, number in group
        if (others := sorted({one.intent or "" for one, _ in group} - {prompt.intent or ""}))
    )  # fmt: skip


def in_order(library: PromptLibrary) -> tuple[PromptFile, ...]:
    """The agents by priority, then the other prompts."""
    return (*library.agents(), *(one for one in library.prompts() if one.intent is None))


def checked_library(workspace: Workspace) -> PromptLibrary:
    """The prompts, each of which renders. PromptFileError names all that do not."""
    library = PromptLibrary.load(workspace.prompts_dir)
    problems = []
    for prompt in in_order(library):
        try:
            library.render(prompt, sample_inputs(library, prompt))
        except DispatchError as error:
            place = error.where or f"{prompt.path}:{prompt.body_line}"
            problems.append(Problem(place, error.message, error.hint or "correct the template"))
    if problems:
        raise PromptFileError(problems)
    return library


def sample_inputs(library: PromptLibrary, prompt: PromptFile) -> dict[str, object]:
    """The inputs of a small, complete turn, as the dispatcher supplies them."""
    turn = json.loads(files(__package__).joinpath("sample_turn.json").read_text(encoding="utf-8"))
    agents = [
        {"name": agent.name, "intent": agent.intent, "description": agent.description}
        for agent in library.agents()
    ]
    return {**turn, "intent": prompt.intent or turn["intent"], "agents": agents}
