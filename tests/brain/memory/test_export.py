"""Archives: what is not an archive is refused, and the error names the place."""

import json
from typing import Any

import pytest

from kds.brain.errors import StoreError
from kds.brain.memory.export import archive, from_json, to_json
from kds.brain.memory.memory_store import SqliteStore

from ..conformance import CODE, say


@pytest.fixture
def data(store: SqliteStore) -> Any:
    session = store.create_session()
    say(store, session, "one", CODE)
    store.add_summary(session.id, 1, 2, "both", kind="rolling")
    return json.loads(to_json([archive(store, session.id)]))


MESSAGES = "$.sessions[0].messages"


@pytest.mark.parametrize(
    ("place", "value", "named"),
    [
        ("kds_memory", 2, "$.kds_memory"),
        ("sessions 0 messages 1 role", "oracle", f"{MESSAGES}[1].role"),
        ("sessions 0 messages 0 at", "noon", f"{MESSAGES}[0].at"),
        ("sessions 0 messages 0 at", "2025-01-01T00:00:00", f"{MESSAGES}[0].at"),
        ("sessions 0 messages 1 at", "9999-12-31T23:59:59-14:00",
         f"{MESSAGES}[1].at: Value error, not a moment of the years 2 to 9998"),
        ("sessions 0 updated_at", "0001-01-01T00:00:00+14:00", "$.sessions[0].updated_at"),
        ("sessions 0 colour", "red", "$.sessions[0].colour"),
        ("sessions 0 id", " ", "$.sessions[0].id"),
        ("sessions 0 summaries 0 last_seq", 3, "$.sessions[0]: Value error, a summary"),
    ],
)  # fmt: skip
def test_a_wrong_place_is_named(data: Any, place: str, value: object, named: str) -> None:
    inner = data
    *path, last = place.split()
    for key in path:
        inner = inner[int(key) if key.isdigit() else key]
    inner[last] = value
    with pytest.raises(StoreError) as caught:
        from_json(json.dumps(data), where="export.json")
    assert named in str(caught.value)
    assert (caught.value.where or "").startswith("export.json")
    assert caught.value.hint


@pytest.mark.parametrize("text", ["", "[]", "{", "null", '{"kds_memory": 1}'])
def test_anything_but_an_archive_is_refused(text: str) -> None:
    with pytest.raises(StoreError, match="not an export"):
        from_json(text)
