import pytest

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
