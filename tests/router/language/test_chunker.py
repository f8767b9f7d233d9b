"""Noun phrases: their span, head, role and company."""

import pytest

from kds.router.language.analysis import Language
from kds.router.language.words import Analysis, Phrase


def phrase(analysis: Analysis, text: str) -> Phrase:
    return next(p for p in analysis.phrases if analysis.span(p.start, p.end) == text)


def shown(language: Language, text: str) -> list[str]:
    analysis = language.analyse(text)
    return [analysis.span(p.start, p.end) for p in analysis.phrases]


@pytest.mark.parametrize(
    ("text", "phrases"),
    [
        ("I want to add a rating widget", ["a rating widget"]),
        ("Sort all the open pull requests", ["all the open pull requests"]),
        ("Copy src/a.py to lib/", ["src/a.py", "lib/"]),
        ("Fix the very slow query", ["the very slow query"]),
        ("Test version 5 of the parser", ["version 5", "the parser"]),
        ("Make it purple", []),
        ("Show the team's backlog", ["the team", "the team's backlog"]),
        ("Paint the sidebar dark blue", ["the sidebar"]),
        pytest.param(
            "Does section 4 limit liability?",
            ["section 4", "liability"],
            marks=pytest.mark.xfail(reason="the verb behind a numbered subject joins it"),
        ),
        pytest.param(
            "Give the editor role access to the log",
            ["the editor role", "access", "the log"],
            marks=pytest.mark.xfail(reason="two objects without an article are one phrase"),
        ),
    ],
)
def test_phrases_are_found_whole(language: Language, text: str, phrases: list[str]) -> None:
    assert shown(language, text)[: len(phrases) or None] == phrases


@pytest.mark.parametrize(
    ("text", "found", "role"),
    [
        ("Delete the old token", "the old token", "obj"),
        ("The old token leaks", "The old token", "subj"),
        ("Is the old token valid?", "the old token", "subj"),
        ("Log in with the old token", "the old token", "pobj"),
        ("The scope of the old token", "the old token", "of"),
        ("Show the token's scope", "the token", "poss"),
        ("the old token", "the old token", "none"),
        ("Give the editor a toolbar", "the editor", "pobj"),
        ("Give the editor a toolbar", "a toolbar", "obj"),
        ("Send the reviewer the two failing tests", "the two failing tests", "obj"),
        ("Run the tests this week", "the tests", "obj"),
    ],
)
def test_a_phrase_has_a_role(language: Language, text: str, found: str, role: str) -> None:
    assert phrase(language.analyse(text), found).role == role


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("a button", "sg"),
        ("two buttons", "pl"),
        ("those buttons", "pl"),
        ("every button", "sg"),
        ("the Kubernetes cluster", "sg"),
        ("src/tests", "sg"),
        ("the data", "sg"),
    ],
)
def test_a_phrase_has_a_number(language: Language, text: str, number: str) -> None:
    assert language.analyse(f"Use {text}").phrases[-1].number == number


def test_the_head_is_the_last_noun_and_determiners_are_outside_the_core(language: Language) -> None:
    analysis = language.analyse("Restyle my new login form")
    found = analysis.phrases[0]
    assert analysis.words[found.head].text == "form"
    assert (found.determiner, analysis.words[found.core].text) == ("my", "new")


@pytest.mark.parametrize(
    ("text", "sizes"),
    [
        ("Add a map and a list", [2]),
        ("Add a map, a list and a table", [3]),
        ("Add a map to the page", []),
        ("Add a map and sort the list", []),
    ],
)
def test_joined_phrases_share_a_group(language: Language, text: str, sizes: list[int]) -> None:
    groups = [p.group for p in language.analyse(text).phrases if p.group >= 0]
    assert [groups.count(group) for group in sorted(set(groups))] == sizes


def test_members_of_a_group_take_the_role_of_the_first(language: Language) -> None:
    analysis = language.analyse("Log in with the token and the password")
    assert {(p.role, p.prep) for p in analysis.phrases} == {("pobj", "with")}
