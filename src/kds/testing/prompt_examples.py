"""Checks the examples and patterns of agents: which of them go astray, collide, or never fire.

An example is a promise: a user who types it reaches its agent. It fails where another agent has
the same example, or an exact pattern that matches it. The other findings are hints, not errors.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from kds.brain.clock import utc_now
from kds.brain.config import LiveConfig
from kds.brain.turn import Turn
from kds.brain.workspace import Workspace
from kds.learning.teaching import known_in
from kds.router.classify import make_classify
from kds.router.intents.evidence import RuleBook
from kds.router.intents.examples import examples_of
from kds.router.intents.features import stems
from kds.router.intents.model_cache import open_model
from kds.router.intents.turn_model import turn_model_for
from kds.router.prompts.library import PromptLibrary
from kds.router.prompts.promptfile import PromptFile

Kind = Literal["same", "greedy", "silent"]
Progress = Callable[[str, int, int], None]

SMALL_WORDS: Final = frozenset("a an my our please that the this".split())
"""Words that do not make two examples different."""

PROGRESS_STEP: Final = 50
"""Examples between two reports of progress."""


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
    """One thing worth a look. ``where`` is "file:line"; ``text`` the example or pattern.

    same    an example that another intent has too, but for endings and small words
    greedy  a pattern that matches more examples of another intent than of its own
    silent  a pattern that matches no example
    """

    kind: Kind
    where: str
    intent: str
    text: str
    message: str


@dataclass(frozen=True, slots=True)
class _Example:
    text: str
    intent: str
    where: str

    def finding(self, kind: Kind, message: str) -> LintFinding:
        return LintFinding(kind, self.where, self.intent, self.text, message)


def lint_intents(
    prompts: Sequence[PromptFile], *, own: Path | None = None, progress: Progress | None = None
) -> tuple[LintFinding, ...]:
    """Return the findings in these agents, in the order of LintFinding.

    Those in files below ``own``, the user's folder, come first.
    """
    agents = [prompt for prompt in prompts if prompt.intent]
    examples = [
        _Example(text, prompt.intent or "", prompt.example_place(number))
        for prompt in agents
        for number, text in enumerate(prompt.examples)
    ]
    findings = list(_same(examples))
    if len({example.intent for example in examples}) > 1:
        findings += _greedy_or_silent(agents, examples, progress or (lambda *told: None))
    mine = [one for one in prompts if own is not None and one.path.is_relative_to(own)]
    files = {*(str(one.path) for one in mine), *(one.ref for one in mine)}
    files |= {one.more.path for one in mine if one.more is not None}
    return tuple(sorted(findings, key=lambda one: one.where.rpartition(":")[0] not in files))


def _same(examples: Sequence[_Example]) -> Iterator[LintFinding]:
    by_text: dict[tuple[str, ...], list[_Example]] = {}
    for example in examples:
        words = tuple(stem for stem in stems(example.text) if stem not in SMALL_WORDS)
        by_text.setdefault(words, []).append(example)
    for group in by_text.values():
        for example in group:
            others = sorted({other.intent for other in group} - {example.intent})
            if others:
                yield example.finding("same", f"is an example of {', '.join(others)} too")


def _greedy_or_silent(
    agents: Sequence[PromptFile], examples: Sequence[_Example], tell: Progress
) -> Iterator[LintFinding]:
    _, rules = examples_of(agents)
    book = RuleBook(rules)
    fired: dict[int, Counter[str]] = {}
    for row, example in enumerate(examples):
        if row % PROGRESS_STEP == 0:
            tell("trying the patterns", row, len(examples))
        for finding in book.find([example.text]):
            for pattern in finding.fired:
                fired.setdefault(id(pattern), Counter())[example.intent] += 1
    for rule in rules:
        for pattern in rule.patterns:
            at = _Example(pattern.source, rule.intent, pattern.where)
            counts = fired.get(id(pattern))
            if counts is None:
                yield at.finding("silent", "matches no example: add one, or drop it")
                continue
            intent, most = counts.most_common(1)[0]
            if intent != rule.intent and most > counts[rule.intent]:
                message = f"matches {most} examples of {intent}, {counts[rule.intent]} of its own"
                yield at.finding("greedy", message)
