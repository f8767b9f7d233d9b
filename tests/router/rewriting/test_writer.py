"""Asking a model to rewrite: when, for how long, how often, and what becomes of its answers."""

from collections.abc import Callable, Sequence
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


def asked(
    resolver: Resolver, rewriter: CheckedRewriter, *messages: str, **more: object
) -> tuple[str, str | None, bool | None]:
    """The expansion of the last message, what became of asking, and whether it was kept before."""
    turn = rewriter.rewrite(expanded_turn(resolver, *(messages or (VIEWS, SCROLLABLE)), **more))
    told = turn.rewriting
    return turn.expanded, told and told.outcome, told and told.cached


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
    assert asked(resolver, rewriter) == (SCROLLABLE, "failed", False)
    resting = rewriter.rewrite(expanded_turn(resolver, VIEWS, SCROLLABLE)).rewriting
    assert resting is not None
    assert (resting.outcome, resting.reason) == ("resting", "OSError")
    clock.at += REST_S
    assert asked(resolver, rewriter) == (GOOD, "used", False)
    assert len(scripted.asked) == 2


def test_an_answer_that_holds_is_kept_and_one_that_is_turned_down_is_not(
    resolver: Resolver,
) -> None:
    rewriter, scripted = checked("Make the Berlin view scrollable", GOOD)
    assert [asked(resolver, rewriter) for _ in range(3)] == [
        (SCROLLABLE, "rejected", False),
        (GOOD, "used", False),
        (GOOD, "used", True),
    ]
    assert len(scripted.asked) == 2


def test_a_model_that_repeats_the_message_changes_nothing(resolver: Resolver) -> None:
    rewriter, _ = checked("Make it scrollable.")
    assert asked(resolver, rewriter) == (SCROLLABLE, "unchanged", False)


def test_the_model_sees_six_messages_at_most(resolver: Resolver) -> None:
    rewriter, scripted = checked(GOOD)
    said = [f"Add the widget {number}" for number in range(9)]
    asked(resolver, rewriter, *said, VIEWS, SCROLLABLE)
    ((history, message, _),) = scripted.asked
    assert [one.text for one in history] == [*said[4:], VIEWS]
    assert (len(history), message) == (HISTORY, SCROLLABLE)


def test_replies_are_seen_where_the_caller_knows_them(resolver: Resolver) -> None:
    rewriter, scripted = checked("Make the sidebar scrollable")
    history = (Utterance(VIEWS), Utterance("They share a sidebar.", "assistant"))
    found = asked(resolver, rewriter, VIEWS, SCROLLABLE, history=history)
    assert found[0] == "Make the sidebar scrollable"
    assert scripted.asked[0][0] == history


KNOWN = "I want to add a FAB button", "Make it purple"
OPEN = VIEWS, SCROLLABLE
SWITCH = "Add a map", "Actually, let's build a login page first"


@pytest.mark.parametrize(
    ("said", "mode", "rewrite", "is_asked"),
    [
        (KNOWN, "rules-first", None, False),
        (KNOWN, "rules-first", True, True),
        (KNOWN, "model-first", None, True),
        (KNOWN, "model-first", False, False),
        (KNOWN, "rules-only", None, False),
        (KNOWN, "rules-only", True, False),
        (OPEN, "rules-first", None, True),
        (OPEN, "model-first", None, True),
        (OPEN, "rules-first", False, False),
        (OPEN, "rules-only", None, False),
        (SWITCH, "model-first", True, False),
    ],
)
def test_who_is_asked_where_the_rules_know_and_where_they_abstain(
    said: tuple[str, str], mode: Mode, rewrite: bool | None, is_asked: bool, resolver: Resolver
) -> None:
    good = "Make the FAB button purple" if said == KNOWN else GOOD
    rewriter, scripted = checked(good, mode=mode)
    expanded, outcome, _ = asked(resolver, rewriter, *said, rewrite=rewrite)
    assert (bool(scripted.asked), outcome) == (is_asked, "used" if is_asked else None)
    assert said != KNOWN or expanded == good


def test_nobody_is_asked_about_a_message_that_hardly_needs_what_was_said(
    resolver: Resolver,
) -> None:
    rewriter, scripted = checked(GOOD)
    turn = replace(expanded_turn(resolver, VIEWS, SCROLLABLE), needs_context=0.1)
    assert rewriter.rewrite(turn).rewriting is None
    assert scripted.asked == []
    assert rewriter.rewrite(replace(turn, rewrite=True)).expanded == GOOD


def test_what_is_asked_ahead_is_not_asked_again(resolver: Resolver) -> None:
    rewriter, scripted = checked(GOOD)
    rewriter.ask_ahead(expanded_turn(resolver, VIEWS, SCROLLABLE))
    assert asked(resolver, rewriter) == (GOOD, "used", False)
    assert len(scripted.asked) == 1


def test_only_what_is_kept_counts_where_nothing_may_be_asked(resolver: Resolver) -> None:
    rewriter, scripted = checked(GOOD)
    turn = expanded_turn(resolver, VIEWS, SCROLLABLE)
    assert rewriter.rewrite(turn, only_kept=True) == turn
    rewriter.rewrite(turn)
    assert rewriter.rewrite(turn, only_kept=True).expanded == GOOD
    assert len(scripted.asked) == 1


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
