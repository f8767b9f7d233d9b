"""Which of the things that were said comes to mind first."""

from typing import Protocol

import pytest

from kds.router.discourse.history import Discourse
from kds.router.discourse.salience import Candidate, Need, margin, rank
from kds.router.language.analysis import Language
from kds.router.references.ruleset import RuleSet


class First(Protocol):
    def __call__(self, *messages: str, need: Need) -> str: ...


@pytest.fixture
def first(language: Language, packaged_rules: RuleSet) -> First:
    def first(*messages: str, need: Need) -> str:
        told = Discourse()
        for message in messages:
            told = told.then(language.analyse(message))
        return rank(told.mentions(), need, told, packaged_rules.knowledge)[0].mention.text

    return first


IT = Need(number="sg", person=False, role="obj", mood="imperative")
THEM = Need(number="pl", role="obj", mood="imperative")


@pytest.mark.parametrize(
    ("messages", "chosen"),
    [
        (["Add a map to the page"], "map"),
        (["Add a map", "Add a list"], "list"),
        (["Add a map", "Who owns the router?"], "map"),
        (["Write a parser with the regex library"], "parser"),
        (["Print the title of the report"], "title"),
        (["Give the editor a toolbar"], "toolbar"),
        (["Replace the modal with a drawer"], "drawer"),
        (["Restart the worker because the queue is full"], "worker"),
        (["Change the theme to dark blue"], "theme"),
        (["Ask Lena about the roadmap"], "roadmap"),
        (["Finish the report this week"], "report"),
    ],
)
def test_the_thing_a_command_is_about_comes_first(
    first: First, messages: list[str], chosen: str
) -> None:
    assert first(*messages, need=IT) == chosen


def test_number_is_a_strong_preference(first: First) -> None:
    messages = ["Add two maps", "Add a list"]
    assert first(*messages, need=IT) == "list"
    assert first(*messages, need=THEM) == "two maps"


def test_a_verb_prefers_what_is_usually_done_to(first: First) -> None:
    messages = ["Create a release branch", "Update the changelog"]
    assert first(*messages, need=IT) == "changelog"
    merge = Need(number="sg", person=False, role="obj", verb="merge", mood="imperative")
    assert first(*messages, need=merge) == "release branch"


def test_a_predicate_prefers_what_can_have_it(first: First) -> None:
    messages = ["Add an email column", "Write a migration"]
    assert first(*messages, need=IT) == "migration"
    nullable = Need(number="sg", person=False, role="obj", verb="make", complement="nullable")
    assert first(*messages, need=nullable) == "email column"


def test_what_is_said_again_gains(language: Language, packaged_rules: RuleSet) -> None:
    scores = []
    for messages in (["Add a map", "Sort the list"], ["Add a map", "Sort the map"]):
        told = Discourse()
        for message in messages:
            told = told.then(language.analyse(message))
        ranked = rank(told.mentions(), IT, told, packaged_rules.knowledge)
        scores.append(max(c.score for c in ranked))
    assert scores[1] > scores[0]


def test_mentions_of_one_thing_are_one_candidate_quoted_in_full(
    language: Language, packaged_rules: RuleSet
) -> None:
    told = Discourse()
    for message in ("Add a rating widget", "Sort the widget"):
        told = told.then(language.analyse(message))
    ranked = rank(told.mentions(), IT, told, packaged_rules.knowledge)
    assert [candidate.mention.text for candidate in ranked] == ["rating widget"]


def test_scores_fall_with_every_message_in_between(
    language: Language, packaged_rules: RuleSet
) -> None:
    told = Discourse().then(language.analyse("Add a map"))
    scores = []
    for _ in range(4):
        ranked = rank(told.mentions(), IT, told, packaged_rules.knowledge)
        scores.append(next(c.score for c in ranked if c.mention.text == "map"))
        told = told.then(language.analyse("Good morning"))
    assert scores == sorted(scores, reverse=True)
    assert len(set(scores)) == len(scores)


def test_the_margin_is_the_lead_over_the_second(language: Language) -> None:
    told = Discourse().then(language.analyse("Add a map"))
    mention = next(told.mentions())
    assert margin([Candidate(mention, 0.8), Candidate(mention, 0.6)]) == pytest.approx(0.25)
    assert margin([Candidate(mention, 0.8)]) == 1.0
    assert margin([]) == 1.0
