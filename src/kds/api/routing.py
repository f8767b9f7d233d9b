"""The router: the steps on one screen, bound to a workspace, behind `Router.route`."""

from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import kds.agents
from kds.api.parts import LearnedParts, Parts, RewriterSource, precision_of
from kds.api.rehearsal import RehearsalJournal, RuleOutcome, run_rule_tests
from kds.brain.clock import Clock, utc_now
from kds.brain.context.journal import Contexts, Journal
from kds.brain.errors import DispatchError
from kds.brain.message import clean_message, utterances
from kds.brain.settings import LiveConfig
from kds.brain.turn import UNKNOWN, StepRecord, Turn
from kds.brain.workspace import Workspace
from kds.router.answer import make_answer
from kds.router.dispatch import make_dispatch
from kds.router.pipeline import Step, run_steps
from kds.router.prompts.invocation import parse_invocation
from kds.router.prompts.library import PromptLibrary
from kds.router.prompts.promptfile import PromptFile
from kds.router.references.resolver import Known, Resolver, nothing_known
from kds.router.references.ruleset import Rule
from kds.router.remembering import make_load, make_log
from kds.router.rewriting.writer import FindRewriter, make_rewrite, no_rewriter
from kds.router.understanding import (
    Precision,
    make_expand,
    make_resolve,
    remembered,
    understanding,
)

if TYPE_CHECKING:  # LangChain stands at the edge (decision 4)
    from langchain_core.runnables import Runnable

ENTRANCES: Final = ("prompts/user/kds.md", "prompts/internal/intent-router.md")
"""Prompts whose `#file:` invocation means: route what follows."""


def build_steps(
    parts: Parts, journal: Journal, known: Known, rewriter: FindRewriter, precision: Precision
) -> tuple[Step, ...]:
    """List the steps of the router, in order. `log` is the last one: all else has succeeded.

    A model is asked once a turn at most: what was asked back about is read as it was then.
    """
    discourse_of = remembered(parts.resolver, known)
    understand = understanding(
        parts.resolver,
        parts.model,
        discourse_of,
        turns=parts.turns,
        decider=parts.decider,
        precision=precision,
        rewriter=rewriter,
    )
    recall = make_rewrite(rewriter, only_kept=True)
    dispatch = make_dispatch(
        parts.library, feature_of=parts.resolver.feature_of, workspace=str(parts.workspace.root)
    )
    again = [recall if step.name == recall.name else step for step in understand]
    ask_again = partial(run_steps, (*again, dispatch))
    return (
        make_load(journal),
        *understand,
        make_answer(parts.library, ask_again),
        dispatch,
        make_log(journal),
    )


class Router:
    """Routes messages of one conversation. Make it with `Router.open`.

    `as_runnable` makes a LangChain Runnable of it.
    """

    def __init__(
        self,
        parts: Parts,
        journal: Journal,
        *,
        clock: Clock = utc_now,
        log: bool = True,
        known: Known = nothing_known,
        rewriter: FindRewriter = no_rewriter,
        precision: Precision | None = None,
    ) -> None:
        precision = precision or precision_of(LiveConfig(parts.workspace))
        self._steps = build_steps(parts, journal, known, rewriter, precision)
        self._parts, self._journal, self._clock, self._log = parts, journal, clock, log

    @classmethod
    def open(
        cls, path: Path | str | Workspace | None = None, *, clock: Clock = utc_now, log: bool = True
    ) -> "Router":
        """Open the router of the workspace at ``path``, or of the one found from here upwards.

        Without ``log`` nothing is remembered, and no folder is made. Raises WorkspaceError
        when the folder cannot be used, ConfigError when a rule or prompt file does not load.
        """
        workspace = Workspace.at(path)
        if log:
            workspace.ensure()
        contexts, config = Contexts(workspace, clock=clock), LiveConfig(workspace)
        base = Parts.load(workspace)
        parts = LearnedParts(base, config, contexts.texts).refreshed()
        return cls(
            parts,
            contexts.journal(),
            clock=clock,
            log=log,
            rewriter=RewriterSource(config, parts.library),
            precision=precision_of(config),
        )

    @property
    def context(self) -> Journal:
        """The conversation context: `load()`, `log(entry)`, `clear()`."""
        return self._journal

    @property
    def library(self) -> PromptLibrary:
        """The prompts that messages are dispatched to, with what was learned."""
        return self._parts.library

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The reference rules, in the order in which they are tried."""
        return self._parts.resolver.rules

    @property
    def warnings(self) -> tuple[str, ...]:
        """What went wrong on opening without being an error, such as a cache that is damaged."""
        return self._parts.warnings

    def route(
        self, message: str, *, history: Iterable[object] = (), rewrite: bool | None = None
    ) -> Turn:
        """Route ``message`` and remember it.

        ``history``: what was said before, oldest first, the assistant's replies included: each a
        mapping with ``role`` and ``content``, such a pair, an `Utterance`, or a message of
        LangChain. "Yes" answers its last reply. ``rewrite``: whether a model may rewrite the
        message; None: as the settings say (docs/rewriting.md). A `#file:` invocation in front is
        understood: that of `kds.md` routes the text behind it, that of an agent's prompt hands
        the text to this agent.

        Raises MessageError when it is empty or an item of the history is not a message,
        StoreError when the context cannot be used, DispatchError when the invocation names
        a prompt that takes no message.
        """
        return self._run(message, history, rewrite, log=self._log)

    def explain(self, message: str) -> tuple[StepRecord, ...]:
        """Route ``message`` without remembering it, and return what every step recorded."""
        return self._run(message, (), None, log=False).records

    def check_rules(self) -> tuple[RuleOutcome, ...]:
        """Run the tests inside the rule files, those of the workspace included."""
        return run_rule_tests(self.rules, rewriting(self._parts.resolver))

    def rehearse(self, clock: Clock) -> "Router":
        """Open a conversation in memory, with an empty context: the workspace sees nothing."""
        return rehearsed(self._parts, clock)

    def __call__(self, message: str, *, history: Iterable[object] = ()) -> Turn:
        """Route ``message``, so that a router is a plain function too."""
        return self.route(message, history=history)

    def as_runnable(self) -> "Runnable[Any, Turn]":
        """Return the router as a LangChain Runnable."""
        return kds.agents.router_runnable(self.route)

    def _run(
        self, message: str, history: Iterable[object], rewrite: bool | None, *, log: bool
    ) -> Turn:
        text, agent = _addressed(clean_message(message), self._parts.library)
        steps = self._steps if log else self._steps[:-1]
        if agent is not None:
            named = _named(agent)
            others = (step for step in steps if step.name != "foreign")
            steps = tuple(named if step.name == named.name else step for step in others)
        turn = Turn(message=text, at=self._clock(), history=utterances(history), rewrite=rewrite)
        return run_steps(steps, turn)


def rehearsed(parts: Parts, clock: Clock) -> Router:
    """A router of what is loaded, whose conversation is in memory alone; it asks no model."""
    return Router(parts, RehearsalJournal(clock=clock), clock=clock)


def rewriting(resolver: Resolver) -> tuple[Step, ...]:
    """Return the steps that the tests inside rule files exercise: by the rules alone."""
    rules_alone = resolver.untaught()
    return (make_resolve(rules_alone), make_expand(rules_alone))


def _named(agent: PromptFile) -> Step:
    """Stands in for the classify step when the message names its prompt: that one is wanted, in
    whatever language the message is."""

    def classify(turn: Turn) -> Turn:
        note = f"intent {agent.intent}: the message names its prompt {agent.ref}"
        intent = agent.intent or UNKNOWN
        return replace(
            turn, intent=intent, confidence=1.0, alternatives=(), secondary_intents=(),
            notes=(*turn.notes, note),
        )  # fmt: skip

    return Step("classify", classify)


def _addressed(message: str, library: PromptLibrary) -> tuple[str, PromptFile | None]:
    """What is to be routed, and the agent that a `#file:` invocation hands it to, if it does."""
    invocation = parse_invocation(message, library)
    if invocation is None:
        return message, None
    if invocation.command is None:
        if invocation.ref in ENTRANCES:
            return clean_message(invocation.text), None
        agent = next((one for one in library.agents() if one.ref == invocation.ref), None)
        if agent is not None and agent.intent != UNKNOWN:
            return clean_message(invocation.text), agent
    raise DispatchError(
        f"'{invocation.ref}' takes no message",
        hint=f"use #file:KDS/{ENTRANCES[0]} MESSAGE, or an agent's prompt; see `kds prompts list`",
    )
