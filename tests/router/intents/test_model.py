from pathlib import Path

import pytest

from kds.api.measures import calibration_error
from kds.brain.turn import UNKNOWN
from kds.router.intents.model import IntentModel
from kds.router.intents.patterns import IntentVerdict, Situation
from kds.router.pattern import Pattern
from kds.router.prompts.promptfile import IntentPattern, PromptFile

UNSEEN = Path(__file__).parent / "unseen_messages.tsv"
COLOURS = [
    *((f"paint the {thing} red", "RED") for thing in ("door", "wall", "roof", "fence")),
    *((f"make the {thing} blue", "BLUE") for thing in ("door", "wall", "roof", "fence")),
]


def literal(text: str, weight: float, *, exact: bool = False) -> IntentPattern:
    pattern = Pattern.literal(text, where="x:1", exact=exact)
    return IntentPattern(text, pattern, weight, exact, "x:1")


def agent(*patterns: IntentPattern, priority: int = 50, needs: str = "") -> PromptFile:
    needed = (literal(needs, 1),) if needs else ()
    return PromptFile.model_construct(
        patterns=patterns, priority=priority, excludes=(), needs=needed, context=()
    )


FOLLOWING = Situation(previous_intent="PLAN", has_session=True)


@pytest.fixture(scope="module")
def unseen(packaged_model: IntentModel) -> list[tuple[IntentVerdict, str]]:
    """What the model makes of messages that it has not seen, each with its intent."""
    lines = UNSEEN.read_text(encoding="utf-8").splitlines()
    pairs = [line.split("\t") for line in lines if not line.startswith("#")]
    return [(packaged_model.score(text, text, FOLLOWING), intent) for intent, text in pairs]


def test_unseen_messages_find_their_intent(unseen: list[tuple[IntentVerdict, str]]) -> None:
    """97 % now; a first look at fresh messages of this kind gave 83 and 91 % (decision 0005)."""
    right = [verdict.intent == intent for verdict, intent in unseen]
    assert sum(right) / len(right) >= 0.95


def test_confidence_is_about_the_share_of_right_verdicts(
    unseen: list[tuple[IntentVerdict, str]],
) -> None:
    pairs = [
        (verdict.confidence, verdict.intent == intent != UNKNOWN) for verdict, intent in unseen
    ]
    assert calibration_error(pairs) <= 0.05


@pytest.mark.parametrize(
    "text", ["thanks a lot", "what's the weather in Rome", "qwpeoi zmxnc", "?"]
)
def test_what_is_not_about_the_work_is_unknown_with_little_confidence(
    packaged_model: IntentModel, text: str
) -> None:
    verdict = packaged_model.score(text)
    assert verdict.intent == UNKNOWN
    assert verdict.confidence < 0.3


def test_the_message_counts_as_written_and_as_expanded(packaged_model: IntentModel) -> None:
    """ "it" shows that the thing exists; the expansion alone reads like a new wish."""
    assert packaged_model.score("Build it", "Build the importer").intent == "EXECUTE"
    assert packaged_model.score("Build the importer").intent == "PLAN"


def test_an_image_speaks_for_looking_at_it(packaged_model: IntentModel) -> None:
    text = "what's wrong here"
    shown = packaged_model.score(text, text, Situation(has_attachment=True))
    assert shown.intent == "ANALYZE_SCREENSHOT"


def test_priority_decides_between_patterns_that_tie() -> None:
    first, second = (agent(literal("now", 0.5), priority=priority) for priority in (10, 20))
    red = IntentModel.fit_examples(COLOURS, {"RED": first, "BLUE": second})
    blue = IntentModel.fit_examples(COLOURS, {"RED": second, "BLUE": first})
    assert [one.score("do the door now").intent for one in (red, blue)] == ["RED", "BLUE"]


def test_a_label_may_stand_for_none_of_these() -> None:
    others = ("what is the time", "who are you", "sing me a song")
    examples = [*COLOURS, *((text, "oos") for text in others)]
    verdict = IntentModel.fit_examples(examples, none="oos").score("who are you")
    assert verdict.intent == "oos"
    assert verdict.alternatives[0].intent in {"RED", "BLUE"}


VERBS = {"PAINT": "paint", "LIFT": "lift", "SELL": "sell", "WASH": "wash", "BURN": "burn"}
TASKS = [
    (f"please {verb} the {thing}", intent)
    for intent, verb in VERBS.items()
    for thing in ("door", "wall", "roof", "fence", "gate", "floor", "chair", "lamp")
]


def test_patterns_speak_for_a_message_being_in_scope() -> None:
    agents = {"LIFT": agent(literal("hoist", 0.9))}
    plain, ruled = IntentModel.fit_examples(TASKS), IntentModel.fit_examples(TASKS, agents)
    text = "hoist yon mast"
    assert ruled.score(text).in_scope >= 0.9 > plain.score(text).in_scope


def test_a_huge_message_is_read_at_its_ends(packaged_model: IntentModel) -> None:
    text = "Run the tests\n" + "log line 1234 ok\n" * 6000
    assert packaged_model.score(text).intent == "TEST"


def test_labels_with_one_example_can_be_learned_and_one_label_cannot() -> None:
    model = IntentModel.fit_examples([("open the door", "A"), ("feed the cat", "B"), ("sing", "C")])
    assert model.score("feed the cats").intent == "B"
    with pytest.raises(ValueError, match="at least two intents"):
        IntentModel.fit_examples([("a", "X"), ("b", "X")])


PAINT, RED = literal("paint", 0.9), literal("red", 0.9, exact=True)
NEEDY = {"RED": agent(PAINT, RED, needs="red")}


def test_an_intent_that_lacks_a_word_is_neither_chosen_nor_offered() -> None:
    free = IntentModel.fit_examples(COLOURS, {"RED": agent(PAINT, RED)})
    held = IntentModel.fit_examples(COLOURS, NEEDY)
    assert free.score("paint the gate").intent == "RED"
    verdict = held.score("paint the gate")
    assert (verdict.intent, verdict.barred, verdict.alternatives) == ("BLUE", {"RED"}, ())
    assert "it looks like RED, but has no word it needs" in verdict.notes
    assert held.score("paint the gate red").intent == "RED"
    none = IntentModel.fit_examples(COLOURS, {**NEEDY, "BLUE": agent(needs="blue")})
    assert none.score("paint the gate").intent == UNKNOWN


def test_an_example_is_chosen_without_the_word_it_needs() -> None:
    model = IntentModel.fit_examples([*COLOURS, ("the usual colour", "RED")], NEEDY)
    exact = model.score_example("The usual  colour")
    assert exact is not None
    assert exact.intent == "RED"
    assert model.score("the unusual colour").intent == "BLUE"
