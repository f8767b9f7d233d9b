"""First messages that go on with an earlier conversation, and those that do not."""

import pytest

from kds.api.continuation import goes_on


@pytest.mark.parametrize(
    "message",
    [
        "as discussed, use tabs",
        "continue with the FAB button",
        "Continue",
        "where were we?",
        "lets pick up where we left off",
        "back to the login form",
        "same as yesterday please",
        "we were working on the parser",
        "in the previous session you added a menu",
    ],
)
def test_a_message_that_says_so_goes_on(message: str) -> None:
    assert goes_on(message)


@pytest.mark.parametrize(
    "message",
    [
        "Make it purple",
        "still not working",
        "Add a continue button",
        "why does the session expire?",
        "use the previous version of numpy",
        "it should resume the download",
        "run this before the tests",
    ],
)
def test_a_message_that_merely_points_somewhere_does_not(message: str) -> None:
    assert not goes_on(message)
