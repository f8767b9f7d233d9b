"""Summaries of stored sessions: made when due, never twice, never losing what was said."""

import pytest

from kds.brain.memory.extractive import ExtractiveSummarizer, Limit
from kds.brain.memory.memory_store import SqliteStore
from kds.brain.memory.summaries import Condensation
from kds.brain.memory.summarizer import CheckedSummarizer, Made

LIMIT = Limit()


@pytest.fixture
def made() -> list[tuple[str, Made]]:
    return []


@pytest.fixture
def condensation(store: SqliteStore, made: list[tuple[str, Made]]) -> Condensation:
    store.create_session(session_id="chat")
    checked = CheckedSummarizer(ExtractiveSummarizer())
    return Condensation(store, checked, on_made=lambda kind, one: made.append((kind, one)))


def talk(store: SqliteStore, turns: int, *, first: int = 1) -> None:
    for turn in range(first, first + turns):
        store.append("chat", "user", f"Add field{turn} to module_{turn}.")
        store.append("chat", "assistant", f"Added field{turn} in {turn + 10} ms.")


def test_a_step_of_turns_is_stored_and_gone_on_from(
    store: SqliteStore, condensation: Condensation, made: list[tuple[str, Made]]
) -> None:
    talk(store, 12)
    condensation.cover("chat", 6, limit=LIMIT)
    assert store.summaries("chat") == ()
    condensation.cover("chat", 8, limit=LIMIT)
    [summary] = store.summaries("chat")
    assert (summary.first_seq, summary.last_seq, summary.kind) == (1, 8, "rolling")
    condensation.cover("chat", 8, limit=LIMIT)
    assert len(made) == 1
    later = condensation.cover("chat", 10, limit=LIMIT)
    assert "module_1" in later.text
    assert "module_5" in later.text


def test_what_another_process_stored_is_gone_on_from(
    store: SqliteStore, condensation: Condensation
) -> None:
    talk(store, 6)
    store.add_summary("chat", 1, 8, "User: wants a FAB button.", kind="rolling")
    covered = condensation.cover("chat", 10, limit=LIMIT)
    assert "FAB button" in covered.text
    assert "module_5" in covered.text
    assert "module_4" not in covered.text


@pytest.mark.parametrize(("every", "ranges"), [(2, [(1, 4), (5, 8)]), (5, [])])
def test_every_few_replies_make_a_summary_of_their_own(
    store: SqliteStore, condensation: Condensation, every: int, ranges: list[tuple[int, int]]
) -> None:
    for turn in range(1, 5):
        talk(store, 1, first=turn)
        condensation.periodic("chat", 2 * turn, replies=every)
    stored = store.summaries("chat", kind="periodic")
    assert [(one.first_seq, one.last_seq) for one in stored] == ranges
