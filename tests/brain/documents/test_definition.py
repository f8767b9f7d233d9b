"""What a text defines, seen by its form alone."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kds.brain.documents.content import Block
from kds.brain.documents.definitions import definitions, leading


@pytest.mark.parametrize(
    ("text", "term"),
    [
        ('"Determination Date" means the 15th day.', "Determination Date"),
        ("“Agreement” shall have the meaning set forth in Section 2.", "Agreement"),
        ('**"Closing Date"** means June 1.', "Closing Date"),
        ("**Closing Date**: June 1.", "Closing Date"),
        ("- **Grace period** — five days.", "Grace period"),
        ("_Business Day_ means any day but Sunday.", "Business Day"),
        ("`page_size` - how many to return.", "page_size"),
        ('(a) "Eligible Account" or "Account" means an account.', "Eligible Account"),
        ('The term "Advance" has the meaning given below.', "Advance"),
        ("Probation period means the first six months.", "Probation period"),
        ("Core Hours: from ten to three.", "Core Hours"),
        ("A **cursor** is an opaque text.", "cursor"),
        ('"Premises" (as shown on the plan) means the cellar.', "Premises"),
    ],
)
def test_a_paragraph_that_begins_with_its_term_is_its_definition(text: str, term: str) -> None:
    found = leading(Block(text))
    assert found is not None
    assert found.term == term
    assert found.strength >= 0.75


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ('Oak Ltd (the "Seller") and Elm Inc. (each a "Party")', {"Seller", "Party"}),
        ('"Staff" are employees. "Contractors" are people who invoice us.',
         {"Staff", "Contractors"}),
        ("A webhook is an address of yours that we call.", {"webhook"}),
        ("Set a Time to Live (TTL) for each entry.", {"Time to Live", "TTL"}),
        ("Such a delay is called a *grace period* in this text.", {"grace period"}),
    ],
)  # fmt: skip
def test_terms_are_also_defined_in_passing(text: str, terms: set[str]) -> None:
    assert {one.term for one in definitions(Block(text))} == terms
    assert leading(Block(text)) is None or "Staff" in terms


@pytest.mark.parametrize(
    "text",
    [
        "Payment is due on the first day of June.",
        "It is a date like any other.",
        "Note: bring your badge.",
        "Payments are due on Monday: bring cash.",
        "We pay on the Closing Date and on each Payment Date.",
        "",
    ],
)
def test_an_ordinary_sentence_defines_nothing(text: str) -> None:
    assert definitions(Block(text)) == ()


def test_an_entry_of_a_list_of_terms_is_a_definition_whatever_it_says() -> None:
    [found] = definitions(Block("TTL: seconds to keep", "item", term="TTL", defines=True))
    assert (found.term, found.strength) == ("TTL", 1.0)


@given(st.text(max_size=300))
def test_any_text_can_be_looked_at(text: str) -> None:
    for one in definitions(Block(text)):
        assert one.key
        assert 0 < one.strength <= 1
        assert len(one.term.split()) <= 8
