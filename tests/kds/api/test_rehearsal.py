"""Rehearsals: a context in memory keeps what the file would keep."""

from datetime import timedelta
from pathlib import Path

from kds.api.rehearsal import MinuteClock, RehearsalJournal
from kds.brain.context.journal import ContextJournal
from kds.brain.turn import ContextEntry


def test_file_and_memory_agree_on_ten_messages_two_hours_fresh_starts_and_clearing(
    tmp_path: Path,
) -> None:
    clock = MinuteClock()
    on_disk = ContextJournal(tmp_path / "context.jsonl", clock=clock)
    in_memory = RehearsalJournal(clock=clock)
    for number in range(30):
        clock.now += timedelta(minutes=5 if number < 20 else 25)
        entry = ContextEntry(clock(), f"message {number}", "ASK", "session", "button")
        for journal in (on_disk, in_memory):
            journal.log(entry, fresh=number == 25)
        assert in_memory.load().entries == on_disk.load().entries
    assert in_memory.clear() == on_disk.clear() == 5
    assert in_memory.load().entries == on_disk.load().entries == ()
