"""Verb forms for rewritten questions."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kds.router.language.inflection import agreeing, gerund, third_person


@pytest.mark.parametrize(
    ("verb", "third", "ing"),
    [
        ("resign", "resigns", "resigning"),
        ("carry", "carries", "carrying"),
        ("pay", "pays", "paying"),
        ("purchase", "purchases", "purchasing"),
        ("push", "pushes", "pushing"),
        ("fix", "fixes", "fixing"),
        ("stop", "stops", "stopping"),
        ("agree", "agrees", "agreeing"),
        ("commit", "commits", "committing"),
        ("open", "opens", "opening"),
    ],
)
def test_verbs_are_spelled_as_english_spells_them(verb: str, third: str, ing: str) -> None:
    assert (third_person(verb), gerund(verb)) == (third, ing)


@given(st.from_regex(r"[a-z]{2,12}", fullmatch=True))
def test_any_word_gets_both_forms(verb: str) -> None:
    assert gerund(verb).endswith("ing")
    assert third_person(verb).endswith("s")


def test_only_an_auxiliary_with_two_forms_changes() -> None:
    assert agreeing("is", plural=True) == "are"
    assert agreeing("Has", plural=True) == "Have"
    assert agreeing("must", plural=False) == "must"
