"""Which messages may become examples."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kds.brain.learning.phrases import (
    MAX_CHARACTERS,
    phrase_key,
    unlearnable,
)
from kds.brain.secrets.redaction import storable


@pytest.mark.parametrize(
    "text",
    [
        "log in with password: hunter2hunter2",
        "use the key AKIAIOSFODNN7EXAMPLE for staging",
        "[secret: password] is the login of staging",
        "look at [code: python, 12 lines] and explain",
    ],
)
def test_secrets_and_marks_of_them_are_never_learned(text: str) -> None:
    assert unlearnable(text) is not None
    assert unlearnable(storable(text)) is not None


@pytest.mark.parametrize(
    "text",
    [
        "return {name: value}",
        "set total = price * count",
        "run kubectl get pods -> restart",
        'call load("x.yaml", strict)',
        "why <div class='x'> here",
        "first line\nsecond line of the message",
        "sort out the login page " * 20,
    ],
)
def test_code_and_pages_of_text_are_never_learned(text: str) -> None:
    assert unlearnable(text) is not None


@given(st.text(max_size=MAX_CHARACTERS))
def test_the_key_of_a_key_is_itself(text: str) -> None:
    assert phrase_key(phrase_key(text)) == phrase_key(text)
