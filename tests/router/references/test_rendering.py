"""How an antecedent is written out."""

import pytest

from kds.router.discourse.mention import Mention
from kds.router.discourse.mentions import mentions_in
from kds.router.language.analysis import Language
from kds.router.references.rendering import bare, bare_text, definite, in_place_of, possessive


def mention(language: Language, text: str) -> Mention:
    return mentions_in(language.analyse(text), 0)[-1]


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("Add a rating widget", "the rating widget"),
        ("Add dark mode", "dark mode"),
        ("Enable caching", "caching"),
        ("Restyle our navbar", "our navbar"),
        ("Fix this bug", "the bug"),
        ("Run three checks", "the checks"),
        ("Use Redis", "Redis"),
        ("Open src/app.py", "src/app.py"),
        ("Add rate limiting", "rate limiting"),
        ("Create navbar", "the navbar"),
        ("Add a map and a list", "the map and the list"),
        ("Add a map, a list and a table", "the map, the list and the table"),
        ("Use ESLint or Prettier", "ESLint or Prettier"),
        ("Create a folder called scripts/ops", "the folder called scripts/ops"),
    ],
)
def test_an_antecedent_is_written_as_known(language: Language, text: str, written: str) -> None:
    assert definite(mention(language, text)) == written


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("Add a rating widget", "rating widget"),
        ("Restyle our navbar", "navbar"),
        ("Add a map and a list", "map and the list"),
    ],
)
def test_the_target_of_a_reference_has_no_article_in_front(
    language: Language, text: str, written: str
) -> None:
    assert bare(mention(language, text)) == written


@pytest.mark.parametrize(
    ("text", "owner"),
    [("the boxes", "the boxes'"), ("the class", "the class's"), ("Omar", "Omar's")],
)
def test_owners_get_an_apostrophe(text: str, owner: str) -> None:
    assert possessive(text) == owner


@pytest.mark.parametrize(
    ("original", "text", "written"),
    [
        ("It", "the chart", "The chart"),
        ("it", "the chart", "the chart"),
        ("They", "our tests", "Our tests"),
        ("It", "dark mode", "Dark mode"),
        ("It", "src/app.py", "src/app.py"),
        ("It", "getUser()", "getUser()"),
    ],
)
def test_the_capital_at_the_start_is_kept(original: str, text: str, written: str) -> None:
    assert in_place_of(original, text) == written


@pytest.mark.parametrize(
    ("text", "without"),
    [("the chart", "chart"), ("A chart", "chart"), ("the", "the"), ("theme", "theme"), ("", "")],
)
def test_an_article_in_front_is_dropped(text: str, without: str) -> None:
    assert bare_text(text) == without
