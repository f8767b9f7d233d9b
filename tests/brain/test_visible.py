"""One visible line of what a user wrote."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kds.brain.message import one_line


@given(st.text())
def test_nothing_unseen_stays_and_it_is_stable(text: str) -> None:
    line = one_line(text)
    assert len(line.splitlines()) <= 1
    assert {unicodedata.category(char) for char in line.replace("\u200d", "")} & {
        "Cc",
        "Cf",
    } == set()
    assert one_line(line) == line


@pytest.mark.parametrize(
    "text", ["Make it purple", "naïve café – 你好 ‘x’", "👩\u200d💻 ❤️\u200d🔥"]
)
def test_what_can_be_seen_stays(text: str) -> None:
    assert one_line(text) == text
