"""What a description means: which may be learned, and how it is kept beside examples."""

from datetime import UTC, datetime

import pytest

from kds.brain.learning.events import reference_id
from kds.brain.learning.examples import YOU, LearnedFile, LearnedReference
from kds.brain.learning.phrases import unteachable

from ..conftest import MakeText

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
TOKEN = "ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8"
BY_HAND = """\
examples:
- text: "the job"  # mine
  antecedent: nightly export
- text: "give the dashboard some love"
  intent: plan
"""


def reference(text: str, antecedent: str) -> LearnedReference:
    return LearnedReference(reference_id(text, antecedent), text, antecedent, YOU)


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
def test_only_a_description_of_a_thing_is_learned(
    description: str, antecedent: str, why: str
) -> None:
    reason = unteachable(description, antecedent)
    assert reason is not None
    assert why in reason
    assert TOKEN not in reason


def test_it_stands_among_the_examples_and_leaves_by_its_lines(make_text: MakeText) -> None:
    file = LearnedFile(make_text("learned.yaml"))
    file.text.replace(BY_HAND.encode())
    assert file.add(reference("the button", "FAB button"), now=NOON)
    assert b'text: "the button"\n  antecedent: "FAB button"\n' in (file.text.read() or b"")
    assert [(one.text, one.antecedent, one.by, one.line) for one in file.references()] == [
        ("the job", "nightly export", "hand", 2), ("the button", "FAB button", "you", 6),
    ]  # fmt: skip
    assert [one.intent for one in file.load()] == ["PLAN"]
    assert file.remove(file.references()[-1].id)
    assert file.text.read() == BY_HAND.encode()
    assert file.remove(file.references()[0].id)
    assert file.text.read() == ("examples:\n" + BY_HAND.partition("export\n")[2]).encode()
