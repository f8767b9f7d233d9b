"""What real turns want: the join of examples, patterns and the look of the message."""

from dataclasses import replace

import pytest

from kds.router.intents.features import Place
from kds.router.intents.patterns import IntentVerdict
from kds.router.intents.turn_model import (
    TurnModel,
    dump_turn_model,
    load_turn_model,
    revised,
    shipped_turn_model,
    turn_model_for,
)

PLACE = Place(3, "EXECUTE", answered=True)


@pytest.fixture
def turns() -> TurnModel:
    found = shipped_turn_model()
    assert found is not None
    return found


def _verdict(**log_p: float) -> IntentVerdict:
    best = max(log_p, key=lambda name: log_p[name], default="PLAN")
    return IntentVerdict(best, 0.5, (), ("first",), 0.9, log_p)


def test_the_look_of_a_message_speaks_for_an_intent(turns: TurnModel) -> None:
    broken = turns.shares("still not working: TypeError: x is undefined\n at app.js:12", PLACE)
    asked = turns.shares("what does this setting do?", PLACE)
    assert broken["DEBUG"] > asked["DEBUG"]
    assert asked["ASK"] > broken["ASK"]


def test_a_whole_phrase_is_not_revised(turns: TurnModel) -> None:
    decided = IntentVerdict("AMNESIA", 0.99, (), (), 0.99)
    assert turns.read("forget everything", PLACE, decided) is decided


def test_what_a_verdict_bars_real_turns_do_not_bring_back(turns: TurnModel) -> None:
    verdict = replace(_verdict(PLAN=-1.0), barred=frozenset({"ASK"}))
    found = revised(verdict, {"ASK": 0.9, "PLAN": 0.1})
    assert (found.intent, found.alternatives) == ("PLAN", ())
    read = turns.read("what does this setting do?", PLACE, verdict)
    assert "ASK" not in (read.intent, *(one.intent for one in read.alternatives))


def test_agents_of_other_intents_have_no_turn_model(turns: TurnModel) -> None:
    assert turn_model_for({"BOOK", "CANCEL"}) is None
    assert turn_model_for({*turns.labels, "DEPLOY"}) is turns


def test_half_a_file_is_not_a_model(turns: TurnModel) -> None:
    whole = dump_turn_model(turns)
    assert load_turn_model(whole).labels == turns.labels
    with pytest.raises(ValueError, match="not a file"):
        load_turn_model(whole[: len(whole) // 2])
