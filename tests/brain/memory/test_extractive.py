"""Summaries without a model: every fact that has room is kept."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kds.brain.memory.summarizer import ExtractiveSummarizer, Limit
from kds.brain.passages.values import Role
from kds.brain.words.terms import estimate_tokens

from ..spoken import CONVERSATION, FACTS, spoken

summarise = ExtractiveSummarizer()


def step_by_step(pairs: tuple[tuple[Role, str], ...]) -> str:
    """Summarise two messages at a time, as they leave a window."""
    text = ""
    for at in range(0, len(pairs), 2):
        text = summarise(spoken(pairs[at : at + 2], first_seq=at + 1), text)
    return text


@pytest.mark.parametrize("fact", FACTS)
def test_every_fact_is_kept_from_summary_to_summary(fact: str) -> None:
    assert fact in step_by_step(CONVERSATION)


def test_a_summary_is_made_of_sentences_where_they_fit() -> None:
    text = summarise(spoken(CONVERSATION[:2]), "")
    assert text.startswith("User: I want to build an export service for the invoices.")
    assert "[code: python, 2 lines, def export(rows):]" in text
    assert "Sure" not in text


def test_what_does_not_fit_is_chosen_by_value() -> None:
    text = summarise(spoken(CONVERSATION), "", limit=Limit(words=40, tokens=40))
    assert "Use SQLite instead of Postgres" in text


@given(
    st.lists(st.tuples(st.sampled_from(["user", "assistant", "tool"]), st.text()), max_size=4),
    st.text(),
    st.integers(min_value=0, max_value=80),
    st.integers(min_value=0, max_value=80),
)
@settings(max_examples=60)
def test_no_summary_is_longer_than_its_limits(
    pairs: list[tuple[Role, str]], previous: str, words: int, tokens: int
) -> None:
    text = summarise(spoken(pairs), previous, limit=Limit(words, tokens))
    assert len(text.split()) <= words
    assert estimate_tokens(text) <= tokens


def test_after_many_turns_a_summary_still_has_sentences() -> None:
    text = ""
    for turn in range(30):
        pair: tuple[tuple[Role, str], ...] = (
            ("user", f"Add widget{turn} to the page, it takes {turn} slots"),
            ("assistant", f"Done: widget{turn} has 0 errors and {turn * 7} tests pass."),
        )
        text = summarise(spoken(pair, first_seq=2 * turn + 1), text)
    sentences, lists = text.split("Amounts: ")
    assert "User: Add widget" in sentences
    assert "widget29 has 0 errors and 203 tests pass." in sentences
    assert "Files and identifiers: widget" in lists
    assert not re.search(r"[:;] \d+(;|\n|$)", lists), "bare numbers"
