"""What a short reply means: only an explicit yes, and nothing else, confirms."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kds.router.discourse.consent import goes_ahead, goes_on, reaction


@pytest.mark.parametrize(
    "yes",
    [
        "yes",
        "Y",
        "yep!",
        "yeah, sure",
        "ok",
        "Okay.",
        "do it",
        "please do",
        "go ahead",
        "of course",
    ],
)
def test_a_yes_is_a_yes(yes: str) -> None:
    assert reaction(yes) == "yes"


@pytest.mark.parametrize(
    "no",
    ["no", "N", "nope", "no thanks", "cancel that", "stop", "don’t do it", "yes... no", "not now"],
)
def test_a_no_is_a_no(no: str) -> None:
    assert reaction(no) == "no"


@pytest.mark.parametrize(
    "other",
    ["", "please", "yes and push it", "yesterday", "make it purple", "yes " * 9, "да", "why?"],
)
def test_anything_else_is_neither(other: str) -> None:
    assert reaction(other) == "other"


@given(st.text(max_size=60), st.sampled_from(["no", "not", "don't", "never", "cancel"]))
def test_whatever_holds_a_no_is_not_yes(text: str, no: str) -> None:
    assert reaction(f"{text} {no}") != "yes"
    assert reaction(f"{no} {text}") != "yes"


@given(st.text(max_size=60))
def test_any_text_can_be_read(text: str) -> None:
    assert reaction(text) in ("yes", "no", "other")
    assert goes_on(text) or not goes_ahead(text)


@pytest.mark.parametrize(
    "text", ["go ahead", "Yes, go ahead!", "proceed", "carry on then", "do it"]
)
def test_go_ahead(text: str) -> None:
    assert goes_ahead(text)
    assert goes_on(text)


@pytest.mark.parametrize(
    "text", ["go ahead with the tests", "continue the search page", "yes", "ok", "next week"]
)
def test_what_says_more_is_a_message_of_its_own(text: str) -> None:
    assert not goes_ahead(text)
    assert not goes_on(text)
