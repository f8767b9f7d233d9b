"""Replies on their way back to the model: short, whole words, code by its size."""

from kds.brain.memory.shortening import shorten

CODE = "Look:\n```python\ndef load(rows):\n    return rows\n```\nDone"


def test_code_of_a_long_reply_is_a_mark_and_what_follows_still_has_room() -> None:
    long_code = "```python\n" + "x = 1\n" * 200 + "```\n"
    assert (
        shorten(f"Here:\n{long_code}It is done.") == "Here:\n[code: python, 200 lines]\nIt is done."
    )


def test_a_mark_is_never_cut() -> None:
    text = "a" * 480 + " " + CODE.partition("\n")[2] + "x" * 100
    assert "[code" not in shorten(text)
