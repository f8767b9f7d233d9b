"""What was said in one assistant is found from every other: by command, by MCP and at the start."""

import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from itertools import permutations
from pathlib import Path
from typing import Any, Final

import pytest

from ..conftest import Run, data
from .conftest import hooked
from .test_arriving import call
from .test_importing import git
from .test_readers import MENDED

CLIENTS: Final = ("claude", "codex", "copilot", "gemini", "opencode")
HOMES: Final = {one: f".{one}" for one in CLIENTS} | {"opencode": ".local/share/opencode"}
QUESTION: Final = "which port has staging?"
FACT: Final = "staging listens on port 8443, because 8080 is taken by the proxy"

STARTS: Final[dict[str, dict[str, str]]] = {
    "claude": {"session_id": "new", "transcript_path": "/x/new.jsonl"},
    "codex": {"session_id": "new", "transcript_path": "/x/rollout-2026-new.jsonl", "model": "x"},
    "copilot": {"sessionId": "new", "initialPrompt": "Go on"},
    "gemini": {"session_id": "new", "timestamp": "2026-11-28T04:40:37.806Z"},
    "opencode": {"session_id": "new", "client": "opencode"},
}
"""What each hands to its hook when a session starts, besides folder, event and source."""


def start(client: str, folder: Path) -> dict[str, Any]:
    """What the hook prints when a session of a client starts."""
    given = STARTS[client] | {"cwd": str(folder), "source": "startup"}
    if client != "copilot":
        given["hook_event_name"] = "SessionStart"
    return hooked(given)


@pytest.mark.parametrize("told_in", CLIENTS)
def test_a_fact_told_in_one_client_is_found_from_every_other(
    told_in: str, home: Path, shop: Path, service: Callable[[], int], kds_call: Run
) -> None:
    for client in set(CLIENTS) - {told_in}:
        shutil.rmtree(home / HOMES[client])
    if told_in == "claude":  # the scripted model gave it its second answer first
        [path] = (home / HOMES[told_in]).rglob("*.jsonl")
        path.write_text(path.read_text().replace(MENDED, f"Decision: {FACT}.", 1))
    if told_in == "opencode":
        with closing(sqlite3.connect(home / HOMES[told_in] / "opencode.db")) as database:
            database.execute("UPDATE session SET directory = ?", (str(shop),))
            database.commit()
    (shop / "proxy").write_text("listen 8443")  # a decision is told that names it
    git(shop, "add", "proxy")
    git(shop, "commit", "-q", "-m", "Move the proxy")
    assert data(kds_call("memory", "import", "--json"))["sessions"] == {told_in: 1}
    service()
    asking = [other for one, other in permutations(CLIENTS, 2) if one == told_in]
    assert len(asking) == 4
    for client in asking:
        hit = data(kds_call("recall", QUESTION, "--json"))["hits"][0]
        assert (hit["client"], FACT in hit["text"]) == (told_in, True)
        passage = call(shop, "recall", question=QUESTION)["passages"][0]
        assert FACT in passage["text"], client
        answer = start(client, shop)
        said = answer["hookSpecificOutput"]["additionalContext"]
        assert f"({told_in}, " in said, client
        assert FACT in said, client
        assert ("additionalContext" in answer) is (client != "codex"), client
