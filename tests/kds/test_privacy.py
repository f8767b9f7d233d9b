"""What the page on privacy says of what is remembered, sentence by sentence."""

import json
import socket
import stat
from datetime import timedelta
from pathlib import Path

import pytest

import kds
from kds.brain.context.journal import LIMIT, MAX_AGE
from kds.brain.learning.events import MAX_EVENTS

from ..agents.openai_server import FakeProvider, Text
from .conftest import Run, holding

DOCS = Path(__file__).parents[2] / "docs"
PAGE = " ".join((DOCS / "privacy.md").read_text(encoding="utf-8").split())
REPLY = "Zebra-striped toggles, then."
TEXT = "I want to add a FAB button"


@pytest.fixture
def brain(fitted_workspace: Path) -> Path:
    return fitted_workspace / "kds-brain"


def _holding(brain: Path, text: str) -> set[str]:
    """The files, and the folders of files, that hold ``text``."""
    found = {Path(name).parts[0] for name in holding(brain, text)}
    return found - {"cache"}


def test_the_page_says_which_figures_hold() -> None:
    assert (10, timedelta(hours=2), 2_000) == (LIMIT, MAX_AGE, MAX_EVENTS)
    assert "your last ten messages" in PAGE
    assert "two hours" in PAGE
    assert "the last 2,000 events" in PAGE


def test_routing_keeps_the_message_in_the_context_and_no_reply(brain: Path) -> None:
    router = kds.Router.open(brain.parent)
    router.route(TEXT, history=[kds.brain.turn.Utterance(REPLY, "assistant")])
    assert _holding(brain, TEXT) == {"conversation-context.jsonl"}
    assert _holding(brain, "Zebra-striped") == set()
    (line,) = (brain / "conversation-context.jsonl").read_text().splitlines()
    fields = {"timestamp", "user_message", "intent", "session_id", "context_ref", "v"}
    assert json.loads(line).keys() <= fields


def test_asking_keeps_both_sides_until_they_are_deleted_and_no_reply_without_a_memory(
    provider: FakeProvider, brain: Path, kds_call: Run
) -> None:
    provider.play(Text(REPLY))
    kds_call("ask", TEXT)
    assert {one.removesuffix("-wal") for one in _holding(brain, REPLY)} == {"memory.db"}
    assert _holding(brain, TEXT) >= {"conversation-context.jsonl", "work"}
    kds_call("memory", "delete", "last", "--yes")
    assert _holding(brain, REPLY) == set()
    kds_call("config", "set", "memory.enabled", "off")
    provider.play(Text(REPLY))
    kds_call("ask", TEXT)
    assert _holding(brain, REPLY) == set()
    assert "memory     off" in kds_call("status").out


def test_no_log_keeps_nothing_and_with_the_memory_on_routed_messages_stay(
    provider: FakeProvider, brain: Path, kds_call: Run
) -> None:
    provider.play(Text(REPLY))
    kds_call("ask", TEXT, "--no-log")
    kds_call("route", TEXT, "--no-log")
    assert _holding(brain, TEXT) == _holding(brain, REPLY) == set()
    kds_call("config", "set", "memory.enabled", "on")
    kds_call("route", TEXT)
    assert {one.removesuffix("-wal") for one in _holding(brain, TEXT)} >= {"memory.db"}


def test_clear_names_what_stays_and_deletes_what_was_under_way(
    brain: Path, kds_spawn: Run, provider: FakeProvider, kds_call: Run
) -> None:
    said = kds_spawn("chat", stdin=f"{TEXT}\n/clear\n".encode(), KDS_MEMORY="off").out
    assert "cleared 1 message" in said
    assert "still in" not in said
    provider.play(Text(REPLY))
    said = kds_spawn("chat", stdin=f"{TEXT}\n/clear\n".encode()).out
    assert str(brain / "memory.db") in said
    assert _holding(brain, TEXT) <= {"memory.db", "memory.db-wal"}
    command = next(line for line in said.splitlines() if "kds memory delete" in line)
    kds_call(*command.partition("kds ")[2].split())
    assert _holding(brain, TEXT) == set()


def test_what_is_taught_and_documents_stay_until_they_are_taken_away(
    brain: Path, kds_call: Run
) -> None:
    (brain.parent / "lease.md").write_text("# Lease\nThe deposit is nine florins.\n")
    kds_call("docs", "add", "lease.md")
    assert {one.removesuffix("-wal") for one in _holding(brain, "nine florins")} == {"documents.db"}
    kds_call("docs", "remove", "lease.md")
    assert _holding(brain, "nine florins") == set()
    words = "give the dashboard some love"
    kds_call("learn", "teach", words, "PLAN")
    assert _holding(brain, words) == {"learning.jsonl", "learned.yaml"}
    kds_call("forget", "--yes")
    assert _holding(brain, words) == set()


def test_every_file_is_the_users_alone_and_git_leaves_the_folder_out(
    workspace: Path, kds_call: Run
) -> None:
    (workspace / "kds-brain").rmdir()
    kds_call("ask", TEXT)
    kds_call("config", "set", "hook.secrets", "warn")
    brain = workspace / "kds-brain"
    assert stat.S_IMODE(brain.stat().st_mode) == 0o700
    kept = [path for path in brain.rglob("*") if path.is_file() and path.name != ".gitignore"]
    assert {stat.S_IMODE(path.stat().st_mode) for path in kept} == {0o600}
    lines = (brain / ".gitignore").read_text().splitlines()
    rules = [line for line in lines if not line.startswith("#")]
    shared = {"!/rules/", "!/english/", "!/settings.yaml"}
    assert rules[0] == "/*"
    assert set(rules[1:]) == shared | {"!/.gitignore", "!/README.md"}


def test_nothing_is_sent_without_a_model(
    brain: Path, kds_call: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(self: socket.socket, address: object) -> None:
        raise AssertionError(f"sent to {address}")

    monkeypatch.setattr(socket.socket, "connect", refused)
    for command in ("route", "ask"):
        assert kds_call(command, TEXT).code == 0
