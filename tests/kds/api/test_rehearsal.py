"""Rehearsals: a context in memory keeps what the file would keep."""

from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given, settings
from hypothesis import strategies as st

from kds.api.rehearsal import MinuteClock, RehearsalJournal
from kds.brain.context.journal import ContextJournal
from kds.brain.turn import ContextEntry

_steps = st.lists(
    st.one_of(
        st.tuples(st.just("log"), st.text(min_size=1, max_size=20), st.booleans()),
        st.tuples(st.just("wait"), st.integers(0, 90), st.none()),
        st.tuples(st.just("clear"), st.none(), st.none()),
    ),
    max_size=25,
)


@settings(max_examples=30)
@given(_steps)
def test_file_and_memory_agree_after_any_conversation(
    steps: list[tuple[str, str | int | None, bool | None]],
) -> None:
    clock = MinuteClock()
    with TemporaryDirectory() as folder:
        on_disk = ContextJournal(Path(folder) / "context.jsonl", clock=clock)
        in_memory = RehearsalJournal(clock=clock)
        for kind, value, fresh in steps:
            if kind == "log":
                entry = ContextEntry(clock(), f"{value}.", "ASK", "session", f"{value}?")
                on_disk.log(entry, fresh=bool(fresh))
                in_memory.log(entry, fresh=bool(fresh))
            elif kind == "wait":
                clock.now += timedelta(minutes=int(value or 0))
            else:
                assert in_memory.clear() == on_disk.clear()
            assert in_memory.load().entries == on_disk.load().entries
