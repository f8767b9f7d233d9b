"""What the conversation says about an intent stands in its prompt file, whatever its name."""

import re
from pathlib import Path

import pytest

from kds.router.intents.evidence import IntentRules, RuleBook, Situation, context_shifts
from kds.router.prompts.promptfile import ContextShift

DANCE = IntentRules(
    "DANCE",
    context=(
        ContextShift(when="question", after=["DANCE"], shift=0.7),
        ContextShift(when="reference", shift=0.3),
        ContextShift(when="first", shift=-1.0),
        ContextShift(when="image", shift=4.0),
    ),
    absorbs=frozenset({"SING"}),
)
ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize(
    ("situation", "message", "shift"),
    [
        (Situation(), "step left", -1.0),
        (Situation(has_session=True), "step left", None),
        (Situation(previous_intent="DANCE"), "and who leads?", 0.7),
        (Situation(previous_intent="SING"), "and who leads?", None),
        (Situation(previous_intent="DANCE"), "step left", None),
        (Situation(previous_intent="SING", has_reference=True), "repeat it", 0.3),
        (Situation(previous_intent="SING", has_attachment=True), "like this", 4.0),
        (Situation(previous_intent="DANCE", has_reference=True), "and who leads it?", 1.0),
    ],
)
def test_each_sign_shifts_the_intent_that_names_it(
    situation: Situation, message: str, shift: float | None
) -> None:
    found = context_shifts(situation, message, [DANCE, IntentRules("SING")])
    assert found == ({} if shift is None else {"DANCE": pytest.approx(shift)})


def test_an_intent_absorbs_what_its_file_says() -> None:
    book = RuleBook([DANCE, IntentRules("SING")])
    assert book.absorbs("DANCE", "SING")
    assert not book.absorbs("SING", "DANCE")
    assert not book.absorbs("WALK", "SING")


def test_no_module_decides_by_the_name_of_an_intent() -> None:
    """UNKNOWN is the fallback of the code itself, AMNESIA a command of KDS: see their comments."""
    library = ROOT / "prompts" / "internal"
    texts = [path.read_text(encoding="utf-8") for path in library.glob("*.md")]
    intents = {found[1] for text in texts if (found := re.search(r"^intent: (\w+)$", text, re.M))}
    assert {"PLAN", "CORRECT", "AMNESIA"} <= intents
    names = "|".join(intents)
    compared = re.compile(
        rf"(?:[!=]=|\bin\b|Final\s*=)\s*(?:frozenset)?[(\[{{*]*\s*[\"'](?:{names})[\"']"
    )
    found = [
        f"{path.relative_to(ROOT)}: {line.strip()}"
        for room in ("router", "agents", "src", "brain")
        for path in sorted((ROOT / room).rglob("*.py"))
        for line in path.read_text(encoding="utf-8").splitlines()
        if compared.search(line)
    ]
    assert found == [
        'src/kds/session/exchange.py: AMNESIA: Final = "AMNESIA"',
        'brain/turn.py: UNKNOWN: Final = "UNKNOWN"',
    ]
