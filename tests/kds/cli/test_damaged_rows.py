"""A row of the memory that holds what its column is not for: one clear error, and nothing lost."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from ..conftest import FAB, Run

pytestmark = pytest.mark.usefixtures("fitted_workspace")


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE message SET content = x'fffe41' WHERE seq = 1",
        "UPDATE message SET content = CAST(x'ff41' AS TEXT) WHERE seq = 1",
        "UPDATE message SET speaker = x'ff'",
        "UPDATE message SET at = 'soon'",
        "UPDATE session SET title = x'ff00'",
        "UPDATE session SET id = x'ff'",
        "UPDATE session SET updated_at = 'x'",
        "UPDATE entity SET term = x'ff'",
        "UPDATE entity SET turn = 'x'",
        "UPDATE entity_memory SET documents = x'ff'",
        "UPDATE entity_memory SET documents = '{'",
    ],
)
def test_a_damaged_row_is_said_in_one_line(
    fitted_workspace: Path, kds_call: Run, change: str
) -> None:
    for message in (FAB, "Make it purple"):
        assert kds_call("ask", "--session", "one", message).code == 0
    path = fitted_workspace / "kds-brain" / "memory.db"
    with closing(sqlite3.connect(path)) as file:
        file.execute(change)
        file.commit()
        rows = file.execute("SELECT count(*) FROM message").fetchone()
    for words in (("ask", "--session", "one", "Add a test"), ("memory", "show"),
                  ("memory", "show", "one"), ("memory", "search", "purple"),
                  ("memory", "export", "--all"), ("chat", "--help")):  # fmt: skip
        done = kds_call(*words)
        assert "internal error" not in done.err
        assert "Traceback" not in done.err
    with closing(sqlite3.connect(path)) as file:
        assert file.execute("SELECT count(*) FROM message").fetchone() >= rows
