"""What a text must hold for a pattern to match."""

import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kds.router.needle import needles_of, shipped_needles
from kds.router.pattern import Pattern, _compiled, write_needles
from kds.router.prompts.library import PromptLibrary
from kds.router.shipping import shipped_patterns


@pytest.mark.parametrize(
    ("source", "needles"),
    [
        ("commit", "commit"),
        (r"\bcommit\b", "commit"),
        ("Where was I", "where"),
        ("(?:commit|push)s?", "commit push"),
        ("(?:please )?push", "push"),
        ("(?:push ){2,}now", "push"),
        ("show (?:me )?(?:the|my|all) (?:metrics|statistics)", "show"),
        ("(?:a|the) (?:dog|cat)", "dog cat"),
        ("(?=soon)later", "later"),
        ("(?!never)", ""),
        ("push|", ""),
        ("(?:push)?", ""),
        ("[abc]+", ""),
        ("it", ""),
        (r"\L<names> push", ""),
        ("(unbalanced", ""),
    ],
)
def test_one_of_the_needles_is_in_every_match(source: str, needles: str) -> None:
    assert needles_of(source) == {*needles.split()}


WORDS = st.sampled_from(["push", "commit", "the", "all tests", "go"])
SOURCES = st.recursive(
    WORDS,
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=3).map(" ".join),
        st.lists(inner, min_size=2, max_size=3).map(lambda ways: f"(?:{'|'.join(ways)})"),
        inner.map(lambda source: f"(?:{source})?"),
        inner.map(lambda source: f"(?:{source})+"),
    ),
    max_leaves=8,
)


@given(SOURCES.flatmap(lambda source: st.tuples(st.just(source), st.from_regex(source))))
def test_whatever_matches_holds_a_needle(drawn: tuple[str, str]) -> None:
    source, text = drawn
    needles = needles_of(source)
    assert re.search(source, text)
    assert not needles or any(needle in text.casefold() for needle in needles)


def test_the_needles_that_ship_are_those_of_the_packaged_patterns(
    library: PromptLibrary, tmp_path: Path
) -> None:
    write_needles(shipped_patterns(library), tmp_path / "needles.json")
    assert json.loads((tmp_path / "needles.json").read_text()) == shipped_needles(), "`make model`"
    assert len(shipped_needles()) > 200


def test_a_look_at_the_needles_changes_no_result(library: PromptLibrary) -> None:
    patterns = list(shipped_patterns(library))
    texts = [text for prompt in library.agents() for text in prompt.examples][::20]
    for text in (*texts, "\u0131n \u017fhort: \u212aeep going", ""):
        for pattern in patterns:
            if not pattern.may_match(text):
                assert _compiled(pattern._expression).search(text) is None, (pattern.source, text)


def test_every_pattern_that_ships_passes_the_checks_that_it_is_spared(
    library: PromptLibrary,
) -> None:
    for pattern in shipped_patterns(library):
        checked = Pattern.compile(pattern._expression, where=pattern.where)
        assert isinstance(checked, Pattern), checked


def test_a_pattern_of_a_users_own_is_always_tried() -> None:
    pattern = Pattern.compile("zorble", where="x:1")
    assert isinstance(pattern, Pattern)
    assert pattern.may_match("nothing of the sort")
    assert pattern.search("zorble it")
