from datetime import UTC, datetime, timedelta
from pathlib import Path

from kds.brain.context.journal import ContextJournal
from kds.brain.turn import ContextEntry, Turn
from kds.router.load import make_load
from kds.router.pipeline import Pipeline

AT = datetime(2025, 11, 3, 9, 30, tzinfo=UTC)


def load(path: Path, *, at: datetime = AT) -> Turn:
    step = make_load(ContextJournal(path, clock=lambda: at))
    return Pipeline([step]).run(Turn("Make it purple", at))


def log(path: Path, message: str, *, at: datetime) -> ContextEntry:
    entry = ContextEntry(at, message, "PLAN", "fab-button-20251103")
    ContextJournal(path, clock=lambda: at).log(entry)
    return entry


def test_an_empty_context_is_said_to_be_empty(tmp_path: Path) -> None:
    turn = load(tmp_path / "context.jsonl")
    assert turn.context == ()
    assert turn.why == ("the context is empty",)


def test_the_conversation_so_far_is_attached(tmp_path: Path) -> None:
    path = tmp_path / "context.jsonl"
    first = log(path, "I want to add a FAB button", at=AT - timedelta(minutes=5))
    second = log(path, "Make it round", at=AT - timedelta(seconds=30))
    turn = load(path)
    assert turn.context == (first, second)
    assert turn.why == ("2 entries in the context, the newest 30 s old (PLAN)",)


def test_what_expired_and_what_was_damaged_is_told(tmp_path: Path) -> None:
    path = tmp_path / "context.jsonl"
    log(path, "old", at=AT - timedelta(hours=3))
    path.write_bytes(path.read_bytes() + b"damaged\n")
    turn = load(path)
    assert turn.context == ()
    assert turn.why[:2] == ("the context is empty", "1 entry older than 2 h dropped")
    assert turn.why[2].startswith(f"warning: {path}:2: ")


def test_entries_beyond_the_limit_are_told(tmp_path: Path) -> None:
    path = tmp_path / "context.jsonl"
    wide = ContextJournal(path, clock=lambda: AT, limit=20)
    for number in range(12):
        wide.log(ContextEntry(AT, str(number), "PLAN"))
    assert "2 entries beyond the limit dropped" in load(path).why
