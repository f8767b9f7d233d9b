"""Facts: found by their shape, the same in another spelling, and never slow."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kds.brain.memory.facts import Told, facts_of


def found(text: str) -> set[tuple[str, str]]:
    return {(fact.kind, fact.text) for fact in facts_of(text)}


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        # those that the conversation of `spoken` lacks: its facts are kept by every summary
        ("due {2025-03-14}, not later", "date"),
        ("Let us meet {next Tuesday}", "date"),
        ("in {Q3 2025}", "date"),
        ("{20%} less", "amount"),
        ("it takes {3.5 GB}", "amount"),
        ("port {8080} is taken", "amount"),
        ("{Maria} wants a report", "name"),
        ("Deploy {Grafana} first", "name"),
        ("see {settings.yaml}", "identifier"),
        ("pass {--dry-run}", "identifier"),
        ("since {v2.1.0}", "identifier"),
        ("commit {3f2a9bc}", "identifier"),
        ("`{kds route}` prints it", "identifier"),
        ("at {https://example.com/a?b=1}.", "identifier"),
        ("mail {bob@example.com}", "identifier"),
        ("{Let's go with the blue one}, because it is calm", "decision"),
    ],
)
def test_a_fact_is_found_by_its_shape(text: str, kind: str) -> None:
    before, fact, behind = re.split(r"[{}]", text)
    assert (kind, fact) in found(before + fact + behind)


@pytest.mark.parametrize(
    "text",
    [
        "Refactor the parser and/or the client/server part.",
        "Is it may? We might march on.",
        "Everything is fine. However, it works.",
        "The first one is better",
    ],
)
def test_ordinary_words_are_not_facts(text: str) -> None:
    assert found(text) == set()


def test_a_question_decides_nothing() -> None:
    assert all(kind != "decision" for kind, _ in found("Should we go with SQLite?"))


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("on May 3rd, 2024", "It was 3 May 2024."),
        ("on 2024-05-03", "It was May 3, 2024."),
        ("costs $1,200", "It costs $1200"),
        ("takes 80 MB", "80MB are needed"),
        ("see `load_rows`", "load_rows is it"),
        ("We decided to use SQLite instead of Postgres", "SQLite was chosen instead of Postgres"),
    ],
)
def test_a_fact_is_the_same_in_another_spelling(said: str, told: str) -> None:
    assert all(map(Told(told).has, facts_of(said)))


@given(st.text())
def test_every_fact_stands_in_its_text_and_is_told_by_it(text: str) -> None:
    told = Told(text)
    for fact in facts_of(text):
        assert fact.text in text
        assert fact.text == fact.text.strip()
        assert told.has(fact)
