"""What a pipeline is taught when a text first has it changes nothing of what it reads."""

import pytest
import spacy
from hypothesis import given
from hypothesis import strategies as st

from kds.router.language.analysis import Language
from kds.router.language.late_terms import Waiting, with_plurals
from kds.router.prompts.library import PromptLibrary
from kds.router.references.ruleset import RuleSet

ODD = (
    "I don't think it's 9a.m. yet :-) but we'll've seen, y'all",
    "DON'T (can't) \"won't\" it\u2019s o'clock e.g. i.e. vs. Ph.D. C++ :3 <3",
    "Move the FAB  button to the e - mail form, don't use the drop-down",
)


@pytest.fixture(scope="module")
def texts(library: PromptLibrary) -> list[str]:
    examples = [text for one in library.agents() for text in one.examples]
    return [*ODD, *examples[::3]]


def test_the_tokens_are_those_of_spacy_with_all_its_exceptions(texts: list[str]) -> None:
    ours, theirs = Language(), spacy.blank("en")
    theirs.tokenizer.token_match = ours._nlp.tokenizer.token_match  # type: ignore[union-attr]
    for text in texts:
        ours._terms.teach(text)
        expected = [token.text for token in theirs.tokenizer(text)]
        assert [token.text for token in ours._nlp.tokenizer(text)] == expected


def test_the_entities_are_those_of_a_pipeline_that_knows_all_of_them(
    packaged_rules: RuleSet, texts: list[str]
) -> None:
    late, early = Language(packaged_rules.entities), Language(packaged_rules.entities)
    early._terms.teach(" ".join(form for one in packaged_rules.entities for form in one.forms))
    for text in texts:
        assert late.analyse(text).entities == early.analyse(text).entities, text


TERMS = st.lists(st.text("abc '-:", min_size=1, max_size=4), max_size=8, unique=True)


@given(TERMS, st.lists(st.text("abc '-:", max_size=12), max_size=4))
def test_a_term_is_called_by_the_first_text_that_has_it(terms: list[str], texts: list[str]) -> None:
    waiting, before = Waiting(terms), ""
    for text in texts:
        new = {term for term in terms if term in text and term not in before.split("|")}
        found = list(waiting.called_by(text))
        assert set(found) == new
        before = "|".join([before, *found])


@given(st.lists(st.text("abcxyz", min_size=2, max_size=6), min_size=1, max_size=3).map(" ".join))
def test_the_term_itself_always_comes_first(term: str) -> None:
    forms = with_plurals(term)
    assert forms[0] == term
    assert len(set(forms)) == len(forms)
