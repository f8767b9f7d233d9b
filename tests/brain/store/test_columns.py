"""Moments in the store: those it can keep come back exactly, no other keeps it from being read."""

import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kds.brain.errors import StoreError
from kds.brain.memory.export import archive, to_json, to_markdown
from kds.brain.memory.memory_store import SqliteStore
from kds.brain.store.columns import EARLIEST, LATEST, from_micros, to_micros

zones = st.integers(-14 * 60, 14 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))


@given(st.datetimes(timezones=zones))
def test_any_moment_is_kept_or_refused_as_a_store_refuses(moment: datetime) -> None:
    if EARLIEST <= moment <= LATEST:
        assert from_micros(to_micros(moment)) == moment
        assert from_micros(to_micros(moment)).tzinfo is UTC
    else:
        with pytest.raises(StoreError) as caught:
            to_micros(moment)
        assert caught.value.hint


@pytest.mark.parametrize("micros", [-(2**63), 2**63 - 1])
def test_a_memory_that_holds_such_a_moment_is_read(
    store: SqliteStore, memory_path: Path, micros: int
) -> None:
    session = store.create_session()
    store.append(session.id, "user", "What is the Late Fee?")
    with closing(sqlite3.connect(memory_path)) as other, other:
        other.execute("UPDATE message SET at = ?", (micros,))
        other.execute("UPDATE session SET updated_at = ?", (micros,))
    (listed,) = store.sessions(limit=5, offset=0)
    assert listed.id == session.id
    whole = archive(store, session.id)
    assert "Late Fee" in to_json([whole])
    assert "Late Fee" in to_markdown(whole)
    assert store.restore(whole).message_count == 1
