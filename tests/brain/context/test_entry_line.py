from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kds.brain.context.journal import decode, encode
from kds.brain.files import PrivateFile
from kds.brain.line_text import LineText
from kds.brain.turn import ContextEntry

AT = datetime(2025, 11, 3, 9, 30, tzinfo=UTC)
GOOD = encode(ContextEntry(AT, "Make it purple", "EXECUTE", None, "FAB button"))


def test_fields_have_the_names_and_the_order_of_the_format() -> None:
    line = encode(ContextEntry(AT, "Make it purple", "EXECUTE", "fab-button-20251103", "FAB"))
    assert line.decode() == (
        '{"timestamp": "2025-11-03T09:30:00Z", "user_message": "Make it purple", '
        '"intent": "EXECUTE", "session_id": "fab-button-20251103", "context_ref": "FAB"}'
    )


TEXT = st.text()


@given(st.datetimes(timezones=st.just(UTC)), TEXT, TEXT, st.none() | TEXT, st.none() | TEXT)
def test_any_entry_comes_back_as_it_was_written(
    at: datetime, message: str, intent: str, session: str | None, reference: str | None
) -> None:
    entry = ContextEntry(at, message, intent, session, reference)
    line = encode(entry)
    assert b"\n" not in line
    assert decode(line) == entry


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (GOOD[: len(GOOD) // 2], "invalid json"),
        (GOOD.replace(b"purple", b"pur\x00ple"), "invalid json"),
        (GOOD.replace(b"purple", b"pur\xffple"), "utf-8"),
        (b"[1, 2]", "type"),
        (b"[" * 100_000, "nested"),
        (GOOD.replace(b'"intent"', b'"intend"'), "'intent' is missing"),
        (GOOD.replace(b'"session_id"', b'"session"'), "'session_id' is missing"),
        (GOOD.replace(b'"EXECUTE"', b"7"), "'intent' is not a text"),
        (GOOD.replace(b"null", b"false"), "'session_id' is not a text"),
        (GOOD.replace(b'"FAB button"', b"[]"), "'context_ref' is not a text"),
        (GOOD.replace(b"2025-11-03T09:30:00Z", b"yesterday"), "'timestamp'"),
        (GOOD.replace(b"09:30:00Z", b"09:30:00"), "'timestamp'"),
        (GOOD.replace(b"2025-11-03T09:30:00Z", b"0001-01-01T00:00:00+10:00"), "'timestamp'"),
    ],
)
def test_a_damaged_line_says_why(line: bytes, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        decode(line)


def test_blank_lines_and_windows_line_ends_are_not_damage(tmp_path: Path) -> None:
    text = PrivateFile(tmp_path / "context.jsonl")
    text.replace(b"\r\n" + GOOD + b"\r\n\n  \n" + GOOD)
    found = LineText(text, decode).read(text)
    assert [line.raw for line in found.good] == [GOOD, GOOD]
    assert found.damaged == []
