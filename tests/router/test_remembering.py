"""The conversation so far is loaded first, and the message is logged last."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from kds.brain.context.journal import ContextJournal, encode
from kds.brain.turn import ContextEntry, Turn, Utterance
from kds.router.pipeline import run_steps
from kds.router.remembering import make_load, make_log

AT = datetime(2025, 11, 3, 9, 30, tzinfo=UTC)


def load(path: Path, *, at: datetime = AT, history: tuple[Utterance, ...] = ()) -> Turn:
    step = make_load(ContextJournal(path, clock=lambda: at))
    return run_steps([step], Turn("Make it purple", at, history=history))


def log(path: Path, message: str, *, at: datetime) -> ContextEntry:
    entry = ContextEntry(at, message, "PLAN", "fab-button-20251103")
    ContextJournal(path, clock=lambda: at).log(entry)
    return entry


def test_a_history_of_another_conversation_stands_for_the_context(tmp_path: Path) -> None:
    path = tmp_path / "context.jsonl"
    kept = log(path, "Add a login form", at=AT - timedelta(minutes=5))
    added = Utterance("Done.", "assistant")
    turn = load(path, history=(Utterance("I want to add a FAB button", "user"), added))
    assert [entry.user_message for entry in turn.context] == ["I want to add a FAB button"]
    assert turn.why[-1] == "the history that was given stands for the context: 1 entry"
    assert load(path, history=(Utterance("add a  login form", "user"), added)).context == (kept,)
    empty = load(tmp_path / "empty.jsonl", history=(Utterance("Add a footer", "user"),))
    assert [entry.user_message for entry in empty.context] == ["Add a footer"]


def test_what_expired_is_damaged_or_beyond_the_limit_is_told(tmp_path: Path) -> None:
    path = tmp_path / "context.jsonl"
    log(path, "old", at=AT - timedelta(hours=3))
    path.write_bytes(path.read_bytes() + b"damaged\n")
    turn = load(path)
    assert turn.context == ()
    assert turn.why[:2] == ("the context is empty", "1 entry older than 2 h dropped")
    assert turn.why[2].startswith(f"warning: {path}:2: ")
    twelve = (encode(ContextEntry(AT, str(number), "PLAN")) for number in range(12))
    path.write_bytes(b"\n".join(twelve))
    assert "2 entries beyond the limit dropped" in load(path).why


def test_a_question_back_is_logged_with_its_intent_and_the_eleventh_message_drops_the_first(
    tmp_path: Path,
) -> None:
    journal = ContextJournal(tmp_path / "context.jsonl", clock=lambda: AT)
    log, routed = make_log(journal), Turn("0", AT, intent="PLAN", action="clarify")
    log.run(routed)
    log.run(replace(routed, action="abstain"))
    assert [entry.intent for entry in journal.load().entries] == ["PLAN", "UNKNOWN"]
    journal.clear()
    for number in range(11):
        turn = log.run(replace(routed, message=str(number)))
    assert [entry.user_message for entry in journal.load().entries] == list(map(str, range(1, 11)))
    assert turn.notes[1] == "rotated: 1 oldest dropped"
