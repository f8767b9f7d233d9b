"""Entity patterns and the plurals made from them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kds.router.language.entity import with_plurals


@pytest.mark.parametrize(
    ("term", "plural"),
    [
        ("tab", "tabs"),
        ("check box", "check boxes"),
        ("summary", "summaries"),
        ("tray", "trays"),
        ("search", "searches"),
        ("alias", "aliases"),
    ],
)
def test_a_term_comes_with_its_plural(term: str, plural: str) -> None:
    assert with_plurals(term) == (term, plural)


@pytest.mark.parametrize("term", ["tabs", "people", "v2", "c++"])
def test_a_plural_or_a_name_gets_no_plural(term: str) -> None:
    assert with_plurals(term) == (term,)


@given(st.lists(st.text("abcxyz", min_size=2, max_size=6), min_size=1, max_size=3).map(" ".join))
def test_the_term_itself_always_comes_first(term: str) -> None:
    forms = with_plurals(term)
    assert forms[0] == term
    assert len(set(forms)) == len(forms)
