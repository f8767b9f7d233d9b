"""What a question asks of documents."""

from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kds.brain.documents.question import compared_sides, read_asked, side_of
from kds.brain.words.stems import phrase_key

DEFINED = ("Determination Date", "Closing Date", "Date", "Trustee", "Trustee Fee", "webhook")
TERMS = {phrase_key(term): {at: 1.0} for at, term in enumerate(DEFINED)}


def known(keys: Sequence[str]) -> Mapping[str, Mapping[int, float]]:
    return {key: TERMS[key] for key in keys if key in TERMS}


@pytest.mark.parametrize(
    ("text", "concepts"),
    [
        ("What is the Determination Date?", ["Determination Date"]),
        ("what are determination dates", ["determination dates"]),
        ("Is the trustee fee paid by the trustee?", ["trustee fee", "trustee"]),
        ("Who pays the Custodial Bond?", ["Custodial Bond"]),
        ('What does "weekly sweep" say?', ["weekly sweep"]),
        ("how do I pay", []),
    ],
)
def test_the_longest_terms_of_a_question_are_its_concepts(text: str, concepts: list[str]) -> None:
    assert [one.text for one in read_asked(text, known).concepts] == concepts


@pytest.mark.parametrize(
    "text",
    [
        "What is the Determination Date?",
        "so, what's the determination date",
        "What does Determination Date mean?",
        "define Determination Date",
        "Determination Date",
        "And what about the Closing Date?",
        "When is the Closing Date?",
    ],
)
def test_a_question_for_a_meaning_is_told(text: str) -> None:
    assert read_asked(text, known).asks_meaning


@pytest.mark.parametrize(
    "text",
    ["May the Trustee resign?", "What must the Trustee do?", "Does the Trustee pay the webhook?"],
)
def test_a_question_about_a_thing_is_not_a_question_for_its_meaning(text: str) -> None:
    assert not read_asked(text, known).asks_meaning


@pytest.mark.parametrize(
    ("text", "sides"),
    [
        ("Which comes first, the Determination Date or the Closing Date?",
         [{"determin"}, {"close"}]),
        ("What is the difference between leave and garden time?", [{"leav"}, {"garden", "time"}]),
        ("Is the Trustee Fee higher than the Custodial Fee?", [{"truste"}, {"custodi"}]),
        ("Compare cards with wallets", [{"card"}, {"wallet"}]),
        ("May I pay by card or by wallet?", []),
        ("What is the Closing Date?", []),
    ],
)  # fmt: skip
def test_a_comparison_has_two_sides(text: str, sides: list[set[str]]) -> None:
    assert [set(side) for side in compared_sides(text)] == sides


def test_a_side_of_a_comparison_is_a_question_of_its_own() -> None:
    asked = read_asked("Which comes first, the Determination Date or the Closing Date?", known)
    one = side_of(asked, 1)
    assert [concept.text for concept in one.concepts] == ["Closing Date"]
    assert {term.word for term in one.terms} == {"closing", "date"}


@pytest.mark.parametrize(
    ("text", "key", "label", "inner"),
    [
        ("What does Section 4.02(b) say?", "4.2", "section", ("b",)),
        ("clause 9", "9", "clause", ()),
        ("see Article II", "2", "article", ()),
        ("§ 12.1", "12.1", "section", ()),
        ("what is in 4.02", "4.2", "", ()),
        ("Appendix B", "b", "appendix", ()),
    ],
)
def test_a_section_is_named_by_its_number(
    text: str, key: str, label: str, inner: tuple[str, ...]
) -> None:
    [found] = read_asked(text, known).references
    assert (found.key, found.label, found.inner) == (key, label, inner)


@pytest.mark.parametrize("text", ["it costs 2.5 percent", "part a of it", "3 days", "pay $4.50"])
def test_a_quantity_is_not_a_section(text: str) -> None:
    assert read_asked(text, known).references == ()


@given(st.text(max_size=300))
def test_any_text_is_a_question(text: str) -> None:
    asked = read_asked(text, known)
    assert len(asked.sides) in (0, 2)
    for number in range(len(asked.sides)):
        side_of(asked, number)
