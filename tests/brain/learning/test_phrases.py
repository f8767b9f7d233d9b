"""Which messages may become examples, and which descriptions mean a thing."""

import pytest

from kds.brain.learning.phrases import unlearnable, unteachable
from kds.brain.secrets.redaction import storable


@pytest.mark.parametrize(
    "text",
    [
        "log in with password: hunter2hunter2",
        "use the key AKIAIOSFODNN7EXAMPLE for staging",
        "[secret: password] is the login of staging",
        "look at [code: python, 12 lines] and explain",
        "return {name: value}",
        "set total = price * count",
        "run kubectl get pods -> restart",
        'call load("x.yaml", strict)',
        "why <div class='x'> here",
        "first line\nsecond line of the message",
        "sort out the login page " * 20,
    ],
)
def test_secrets_code_and_pages_of_text_are_never_learned(text: str) -> None:
    assert unlearnable(text) is not None
    assert unlearnable(storable(text)) is not None


TOKEN = "ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8"


@pytest.mark.parametrize(
    ("description", "antecedent", "why"),
    [
        ("it", "FAB button", "does not describe"),
        ("them", "tests", "does not describe"),
        ("the other one", "FAB button", "does not describe"),
        ("the first", "FAB button", "does not describe"),
        ("my button", "FAB button", "does not describe"),
        ("the " + "very " * 8 + "button", "FAB button", "does not describe"),
        ("the button", " ", "has a name"),
        ("the button", "x" * 201, "has a name"),
        ("the token", TOKEN, "secret or code"),
        (f"the {TOKEN}", "token", "secret or code"),
        ("the button", "That Button!", "called that already"),
    ],
)
def test_only_a_description_is_learned(description: str, antecedent: str, why: str) -> None:
    reason = unteachable(description, antecedent)
    assert reason is not None
    assert why in reason
    assert TOKEN not in reason
