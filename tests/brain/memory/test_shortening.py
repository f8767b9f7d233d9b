"""Replies on their way back to the model: short, whole words, code by its size."""

from hypothesis import given
from hypothesis import strategies as st

from kds.brain.memory.shortening import CUT, fit, shorten
from kds.brain.words.tokens import estimate_tokens

CODE = "Look:\n```python\ndef load(rows):\n    return rows\n```\nDone"


def test_code_of_a_long_reply_is_a_mark_and_what_follows_still_has_room() -> None:
    long_code = "```python\n" + "x = 1\n" * 200 + "```\n"
    assert (
        shorten(f"Here:\n{long_code}It is done.") == "Here:\n[code: python, 200 lines]\nIt is done."
    )


def test_a_mark_is_never_cut() -> None:
    text = "a" * 480 + " " + CODE.partition("\n")[2] + "x" * 100
    assert "[code" not in shorten(text)


@given(st.text(max_size=900), st.integers(min_value=0, max_value=120))
def test_no_text_is_longer_than_its_limit(text: str, limit: int) -> None:
    assert len(shorten(text, limit=limit)) <= max(limit, 0)


@given(st.text(alphabet="ab c\n.é漢```", max_size=900), st.integers(min_value=0, max_value=60))
def test_no_text_has_more_tokens_than_its_limit(text: str, limit: int) -> None:
    fitted = fit(text, limit, estimate_tokens)
    assert estimate_tokens(fitted) <= limit
    assert fitted == text or not fitted or fitted.endswith(CUT)
