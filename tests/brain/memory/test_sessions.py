import pytest
from hypothesis import given
from hypothesis import strategies as st

from kds.brain.memory.sessions import MARK, SHORT_TITLE, title_of


@pytest.mark.parametrize(
    ("message", "title"),
    [
        ("I want to add a FAB button", "I want to add a FAB button"),
        ("Why? Because.", "Why?"),
        ("  - fix the **login form**, please\nand more", "fix the login form, please"),
        ("```python\nx = 1\n```\nWhat does this do?", "What does this do?"),
        ("#file:KDS/prompts/user/kds.md Add dark mode", "Add dark mode"),
        ("...", ""),
        ("", ""),
        ("/" + "x" * 80, "/" + "x" * (SHORT_TITLE - 1) + MARK),
        (
            "Please explain how the settings of a workspace are read and what overrides them",
            "Please explain how the settings of a workspace…",
        ),
    ],
)
def test_the_title_is_the_first_sentence_in_short(message: str, title: str) -> None:
    assert title_of(message) == title


@given(st.text(max_size=300))
def test_a_title_is_one_short_line(message: str) -> None:
    title = title_of(message)
    assert len(title) <= SHORT_TITLE + len(MARK)
    assert len(title.splitlines()) <= 1
    assert title == title.strip()
