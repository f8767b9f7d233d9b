"""Asking a model to rewrite: when, for how long, how often, and what becomes of its answers."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

import pytest

from kds.brain.errors import ConfigError, Problem
from kds.brain.turn import ContextEntry, Turn, Utterance
from kds.router.references.resolver import Resolver
from kds.router.rewriting.need import need
from kds.router.rewriting.writer import (
    HISTORY,
    REST_S,
    CheckedRewriter,
    Mode,
    make_rewrite,
    no_rewriter,
)
from kds.router.understanding import make_expand, make_resolve

from ...effort import PATIENCE_S

AT = datetime(2026, 11, 20, 12, tzinfo=UTC)
VIEWS = "Create a settings view and a help view"
SCROLLABLE = "Make it scrollable"
GOOD = "Make the help view scrollable"


@dataclass
class Scripted:
    """A rewriter that says what it is told to, and remembers what it was asked."""

    answers: list[str | BaseException | Callable[[], str]]
    asked: list[tuple[tuple[Utterance, ...], str, str]] = field(default_factory=list)

    def __call__(self, history: Sequence[Utterance], message: str, expanded: str) -> str:
        self.asked.append((tuple(history), message, expanded))
        answer = self.answers[min(len(self.asked), len(self.answers)) - 1]
        if isinstance(answer, BaseException):
            raise answer
        return answer() if callable(answer) else answer


@dataclass
class Hands:
    """A clock whose hands the test moves."""

    at: float = 100.0

    def __call__(self) -> float:
        return self.at


def expanded_turn(resolver: Resolver, *messages: str, **more: object) -> Turn:
    """What the rules make of the last message after the others."""
    *context, message = messages
    entries = tuple(ContextEntry(AT, said, "EXECUTE") for said in context)
    turn = replace(Turn(message, AT, context=entries), **more)  # type: ignore[arg-type]
    return need(make_expand(resolver).run(make_resolve(resolver).run(turn)))


def checked(
    *answers: str | BaseException | Callable[[], str],
    mode: Mode = "rules-first",
    clock: Callable[[], float] | None = None,
) -> tuple[CheckedRewriter, Scripted]:
    scripted = Scripted(list(answers))
    made = CheckedRewriter(
        scripted, name="scripted", mode=mode, timeout_s=PATIENCE_S, clock=clock or Hands()
    )
    return made, scripted


def test_after_a_failure_it_is_left_alone_for_a_while(resolver: Resolver) -> None:
    clock = Hands()
    rewriter, scripted = checked(OSError("down"), GOOD, clock=clock)
    turns = [expanded_turn(resolver, VIEWS, SCROLLABLE)] * 2
    outcomes = [rewriter.rewrite(turn).rewriting for turn in turns]
    assert [one.outcome for one in outcomes if one] == ["failed", "resting"]
    assert outcomes[1] is not None
    assert outcomes[1].reason == "OSError"
    clock.at += REST_S
    assert rewriter.rewrite(turns[0]).expanded == GOOD
    assert len(scripted.asked) == 2


def test_an_answer_is_kept_and_checked_again(resolver: Resolver) -> None:
    rewriter, scripted = checked(GOOD)
    turn = expanded_turn(resolver, VIEWS, SCROLLABLE)
    first, second = (rewriter.rewrite(turn) for _ in range(2))
    assert first.expanded == second.expanded == GOOD
    assert [one.rewriting.cached for one in (first, second) if one.rewriting] == [False, True]
    assert len(scripted.asked) == 1


def test_an_answer_that_is_turned_down_is_not_kept(resolver: Resolver) -> None:
    rewriter, scripted = checked("Make the Berlin view scrollable", GOOD)
    turn = expanded_turn(resolver, VIEWS, SCROLLABLE)
    first, second = (rewriter.rewrite(turn) for _ in range(2))
    assert [one.rewriting.outcome for one in (first, second) if one.rewriting] == [
        "rejected", "used",
    ]  # fmt: skip
    assert (second.expanded, len(scripted.asked)) == (GOOD, 2)


def test_the_model_sees_six_messages_at_most(resolver: Resolver) -> None:
    rewriter, scripted = checked(GOOD)
    said = [f"Add the widget {number}" for number in range(9)]
    rewriter.rewrite(expanded_turn(resolver, *said, VIEWS, SCROLLABLE))
    ((history, message, _),) = scripted.asked
    assert [one.text for one in history] == [*said[4:], VIEWS]
    assert (len(history), message) == (HISTORY, SCROLLABLE)


def test_replies_are_seen_where_the_caller_knows_them(resolver: Resolver) -> None:
    rewriter, scripted = checked("Make the sidebar scrollable")
    history = (Utterance(VIEWS), Utterance("They share a sidebar.", "assistant"))
    turn = expanded_turn(resolver, VIEWS, SCROLLABLE, history=history)
    assert rewriter.rewrite(turn).expanded == "Make the sidebar scrollable"
    assert scripted.asked[0][0] == history


@pytest.mark.parametrize(
    ("mode", "rewrite", "asked"),
    [
        ("rules-first", None, False),
        ("rules-first", True, True),
        ("model-first", None, True),
        ("model-first", False, False),
        ("rules-only", None, False),
        ("rules-only", True, False),
    ],
)
def test_who_is_asked_where_the_rules_know(
    mode: Mode, rewrite: bool | None, asked: bool, resolver: Resolver
) -> None:
    rewriter, scripted = checked("Make the FAB button purple", mode=mode)
    turn = expanded_turn(resolver, "I want to add a FAB button", "Make it purple", rewrite=rewrite)
    after = rewriter.rewrite(turn)
    assert after.expanded == "Make the FAB button purple"
    assert (bool(scripted.asked), after.rewriting is not None) == (asked, asked)


@pytest.mark.parametrize(
    ("mode", "rewrite", "asked"),
    [
        ("rules-first", None, True),
        ("model-first", None, True),
        ("rules-first", False, False),
        ("rules-only", None, False),
    ],
)
def test_who_is_asked_where_the_rules_abstain(
    mode: Mode, rewrite: bool | None, asked: bool, resolver: Resolver
) -> None:
    rewriter, scripted = checked(GOOD, mode=mode)
    rewriter.rewrite(expanded_turn(resolver, VIEWS, SCROLLABLE, rewrite=rewrite))
    assert bool(scripted.asked) is asked


def test_model_first_falls_back_on_the_rules(resolver: Resolver) -> None:
    rewriter, _ = checked("The FAB button is purple.", mode="model-first")
    turn = expanded_turn(resolver, "I want to add a FAB button", "Make it purple")
    after = rewriter.rewrite(turn)
    assert (after.expanded, after.context_ref) == ("Make the FAB button purple", "FAB button")
    assert after.references == turn.references


def test_nobody_is_asked_about_a_message_that_hardly_needs_what_was_said(
    resolver: Resolver,
) -> None:
    rewriter, scripted = checked(GOOD)
    turn = replace(expanded_turn(resolver, VIEWS, SCROLLABLE), needs_context=0.1)
    assert rewriter.rewrite(turn).rewriting is None
    assert scripted.asked == []
    assert rewriter.rewrite(replace(turn, rewrite=True)).expanded == GOOD


def test_a_model_that_repeats_the_message_changes_nothing(resolver: Resolver) -> None:
    rewriter, _ = checked("Make it scrollable.")
    turn = rewriter.rewrite(expanded_turn(resolver, VIEWS, SCROLLABLE))
    assert turn.rewriting is not None
    assert (turn.rewriting.outcome, turn.expanded) == ("unchanged", SCROLLABLE)


def test_what_is_asked_ahead_is_not_asked_again(resolver: Resolver) -> None:
    rewriter, scripted = checked(GOOD)
    turn = expanded_turn(resolver, VIEWS, SCROLLABLE)
    rewriter.ask_ahead(turn)
    after = rewriter.rewrite(turn)
    assert (after.expanded, len(scripted.asked)) == (GOOD, 1)
    assert after.rewriting is not None
    assert after.rewriting.cached is False


def test_only_what_is_kept_counts_where_nothing_may_be_asked(resolver: Resolver) -> None:
    rewriter, scripted = checked(GOOD)
    turn = expanded_turn(resolver, VIEWS, SCROLLABLE)
    assert rewriter.rewrite(turn, only_kept=True) == turn
    rewriter.rewrite(turn)
    assert rewriter.rewrite(turn, only_kept=True).expanded == GOOD
    assert len(scripted.asked) == 1


def test_many_threads_may_ask(resolver: Resolver) -> None:
    rewriter, scripted = checked(GOOD)
    turn = expanded_turn(resolver, VIEWS, SCROLLABLE)
    with ThreadPoolExecutor(8) as pool:
        after = list(pool.map(lambda _: rewriter.rewrite(turn).expanded, range(64)))
    assert set(after) == {GOOD}
    assert len(scripted.asked) <= 8


@pytest.mark.parametrize(
    ("mode", "before", "told"),
    [
        (None, (VIEWS,), "none is set up"),
        ("rules-only", (VIEWS,), "rules-only"),
        ("rules-first", (), "begins a topic"),
    ],
)
def test_asking_for_a_model_in_vain_is_told(
    resolver: Resolver, mode: Mode | None, before: tuple[str, ...], told: str
) -> None:
    rewriter, scripted = checked(GOOD, mode=mode or "rules-first")
    turn = expanded_turn(resolver, *before, SCROLLABLE, rewrite=True)
    after = make_rewrite(no_rewriter if mode is None else lambda: rewriter).run(turn)
    assert told in after.notes[-1]
    assert scripted.asked == []


def test_wrong_settings_cost_the_turn_nothing_and_are_told(resolver: Resolver) -> None:
    def find() -> CheckedRewriter:
        raise ConfigError([Problem("settings.yaml:1", "rewriting.mode is wrong", "fix")])

    turn = expanded_turn(resolver, VIEWS, SCROLLABLE)
    after = make_rewrite(find).run(turn)
    assert after.expanded == turn.expanded
    assert after.rewriting is not None
    assert after.rewriting.outcome == "failed"
    assert "rewriting.mode is wrong" in after.notes[-1]


def test_a_message_that_changes_the_topic_is_not_asked_about(resolver: Resolver) -> None:
    rewriter, scripted = checked(GOOD, mode="model-first")
    said = "Add a map", "Actually, let's build a login page first"
    make_rewrite(lambda: rewriter).run(expanded_turn(resolver, *said, rewrite=True))
    assert scripted.asked == []
