"""Summaries of stored sessions: made when due, never twice, never losing what was said."""

import pytest

from kds.brain.clock import utc_now
from kds.brain.memory.memory_store import SqliteStore
from kds.brain.memory.summarizer import CheckedSummarizer, ExtractiveSummarizer, Limit
from kds.brain.memory.window import SUMMARY, Windows
from kds.brain.words.terms import estimate_tokens

LIMIT = Limit()


@pytest.fixture
def windows(store: SqliteStore) -> Windows:
    store.create_session(session_id="chat")
    return Windows(store, CheckedSummarizer(ExtractiveSummarizer()), estimate_tokens)


def talk(store: SqliteStore, turns: int, *, first: int = 1) -> None:
    for turn in range(first, first + turns):
        store.append("chat", "user", f"Add field{turn} to module_{turn}.")
        store.append("chat", "assistant", f"Added field{turn} in {turn + 10} ms.")


def test_a_step_of_turns_is_stored_and_gone_on_from(store: SqliteStore, windows: Windows) -> None:
    begin = utc_now().replace(year=2000)
    talk(store, 12)
    windows.cover("chat", 6, limit=LIMIT)
    assert store.summaries("chat") == ()
    windows.cover("chat", 8, limit=LIMIT)
    [summary] = store.summaries("chat")
    assert (summary.first_seq, summary.last_seq, summary.kind) == (1, 8, "rolling")
    windows.cover("chat", 8, limit=LIMIT)
    assert len(store.metrics.since(begin, name=SUMMARY)) == 1
    later, _ = windows.cover("chat", 10, limit=LIMIT)
    assert "module_1" in later
    assert "module_5" in later


def test_what_another_process_stored_is_gone_on_from(store: SqliteStore, windows: Windows) -> None:
    talk(store, 6)
    store.add_summary("chat", 1, 8, "User: wants a FAB button.", kind="rolling")
    covered, _ = windows.cover("chat", 10, limit=LIMIT)
    assert "FAB button" in covered
    assert "module_5" in covered
    assert "module_4" not in covered
