"""The measures of `kds eval` on examples with a plain outcome."""

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from kds.api.rehearsal import matches
from kds.brain.clock import Clock
from kds.brain.errors import ConfigError
from kds.brain.passages.recall import Hit
from kds.brain.passages.rerank import DEFAULT, Fused, Weights
from kds.brain.passages.values import Passage
from kds.brain.turn import Edit, Reference, Turn, Utterance
from kds.router.intents.model import IntentModel
from kds.router.references.resolver import apply_edits
from kds.testing.chats import Chat, ChatTurn, PlayedChatTurn, play_with, read_chats, score_chats
from kds.testing.dialogues import ExpectedTurn, Route, describe, judge, parse_dialogues, play, score
from kds.testing.follow_ups import Question
from kds.testing.intents import LabelledMessage, Requests, score_intents, score_splits
from kds.testing.retrieval import RetrievalQuery, Retrieved, halves, ranking, tune
from kds.testing.rewrites import RewriteExample, Rewritten, score_rewrites

AT = datetime(2025, 11, 3, tzinfo=UTC)
PURPLE = "Make it purple"
IT = {"text": "it", "kind": "pronoun", "antecedents": ["FAB button"], "source": "user",
      "must": True}  # fmt: skip
AGAIN = {"text": "", "kind": "ellipsis", "antecedents": ["the unit tests"], "source": "assistant"}

TEXT = """
- id: a
  turns:
    - {user: Add a button, intent: PLAN}
    - {user: Make it red, intent: EXECUTE, context_ref: button, expanded: Make the button red}
    - {user: "What now?", intent: UNKNOWN}
- id: b
  turns:
    - {user: "Cold?"}
    - {user: Sure, reply: Want tea?}
    - {user: Thanks}
"""


def test_a_dialogue_is_played_a_minute_a_turn_and_scored_by_what_it_expects() -> None:
    heard: list[tuple[str, list[str]]] = []

    def open_route(clock: Clock) -> Route:
        """A conversation that knows one expansion and otherwise plans."""

        def route(message: str, *, history: Sequence[Utterance] = ()) -> Turn:
            heard.append((message, [said.text for said in history]))
            known = {"expanded": "make the button red", "context_ref": "the button",
                     "intent": "ASK"} if message == "Make it red" else {}  # fmt: skip
            made: dict[str, Any] = {"expanded": message, "intent": "PLAN", "action": "route"}
            return Turn(message, clock(), **(made | known))

        return route

    played = [play(one, open_route) for one in parse_dialogues(TEXT, Path("a.yaml"))]
    times = [[one.turn.at for one in dialogue.turns] for dialogue in played]
    assert [(at - times[0][0]).total_seconds() for at in times[0]] == [0, 60, 120]
    assert times[1][0] == times[0][0]
    assert heard[3:] == [("Cold?", []), ("Sure", []), ("Thanks", ["Cold?", "Sure", "Want tea?"])]
    found = score(played)
    assert (found.dialogues, found.turns, found.needed, found.kept) == (2, 6, 1, 5)
    assert (found.intent_accuracy, found.expanded_exact) == (pytest.approx(1 / 3), 1.0)
    assert (found.context_ref_accuracy, found.false_rewrites) == (1.0, 0.0)
    assert (found.switch_accuracy, found.secondary_accuracy) == (1.0, None)
    told = describe(played[0])
    assert "a.yaml:5: a, turn 2 of 3" in told
    assert "- EXECUTE\n" in told
    assert "+ ASK 0.00, action route" in told


def test_case_punctuation_and_spaces_do_not_count() -> None:
    assert matches("make the  fab-button purple!", ["a", "Make the FAB button purple."])
    assert matches("Put it in `app.py`", ["Put it in app.py"])
    assert not matches("Make FAB button purple", ["Make the FAB button purple"])
    assert not matches("?", ["!"])  # texts of punctuation alone differ


@pytest.mark.parametrize(
    ("expected", "actual", "right"),
    [
        ({"intent": "PLAN"}, {"intent": "PLAN", "action": "route"}, True),
        ({"intent": "PLAN"}, {"intent": "PLAN", "action": "clarify"}, True),
        ({"intent": "PLAN"}, {"intent": "ASK", "action": "route"}, False),
        ({"intent": ["PLAN", "ASK"]}, {"intent": "ASK", "action": "route"}, True),
        ({"intent": "UNKNOWN"}, {"intent": "PLAN", "action": "clarify"}, True),
        ({"intent": "UNKNOWN"}, {"intent": "UNKNOWN", "action": "abstain"}, True),
        ({"intent": "UNKNOWN"}, {"intent": "UNKNOWN", "action": "route"}, False),
        ({"intent": ["UNKNOWN", "ASK"]}, {"intent": "ASK", "action": "route"}, True),
        ({"intent": "PLAN"}, {"intent": "UNKNOWN", "action": "abstain"}, False),
        ({"context_ref": "FAB button"}, {"context_ref": "the FAB button"}, True),
        ({"context_ref": "a fab  button"}, {"context_ref": "FAB Button"}, True),
        ({"context_ref": "edit page"}, {"context_ref": "edit the page"}, False),  # only a leading
        ({"context_ref": "me"}, {"context_ref": "theme"}, False),
        ({"context_ref": "FAB button"}, {"context_ref": None}, False),
        ({"secondary": ["TEST"]}, {"secondary_intents": ("TEST",)}, True),
        ({"secondary": []}, {"secondary_intents": ("TEST",)}, False),
        ({"switch": True}, {"context_switch": False}, False),
        ({"expanded": "Make the button purple"}, {}, False),
    ],
)
def test_a_turn_is_judged_field_by_field(
    expected: dict[str, Any], actual: dict[str, Any], right: bool
) -> None:
    turn = Turn(PURPLE, AT, **{"expanded": PURPLE, "action": "route", **actual})
    checks = judge(ExpectedTurn(user=PURPLE, **expected), turn)
    assert all(one.met is not False for one in checks) is right


class _Router:
    """Writes something in place of "it"; keeps what it was told of the conversation."""

    def __init__(self, *edits: Edit) -> None:
        self.edits = list(edits)
        self.said: list[Sequence[Utterance]] = []

    def route(self, message: str, *, history: Sequence[Utterance] = ()) -> Turn:
        self.said.append(tuple(history))
        edit = self.edits.pop(0)
        place = Reference(message[edit.start : edit.end], edit.start, edit.end, edit.text,
                          "pron.it", 0.9)  # fmt: skip
        expanded = apply_edits(message, [edit])
        return Turn(message, AT, edits=(edit,), references=(place,), expanded=expanded)


def _expected(message: str, *refs: dict[str, Any], **more: Any) -> ChatTurn:
    return ChatTurn.model_validate(
        {"user": message, "labelled": True, "intents": ["EXECUTE"], "refs": refs, **more}
    )


@pytest.mark.parametrize(
    ("message", "refs", "edit", "outcome"),
    [
        (PURPLE, [IT], Edit(5, 7, "the FAB button"), "right"),
        (PURPLE, [IT], Edit(5, 7, "the purple FAB button"), "right"),
        (PURPLE, [IT], Edit(5, 7, "the login form"), "wrong"),
        (PURPLE, [IT], Edit(5, 7, "the FAB button of the start page in the app"), "wrong"),
        (PURPLE, [], Edit(8, 14, "the old one"), "false"),
        ("run again", [AGAIN], Edit(3, 3, " the unit tests"), "right"),  # anywhere
        ("wait, make it it", [IT | {"nth": 2}], Edit(14, 16, "the FAB button"), "false"),
        ("wait, make it it", [IT | {"nth": 2}], Edit(11, 13, "the FAB button"), "right"),
    ],
)
def test_an_edit_is_right_when_it_names_an_antecedent_where_one_is_meant(
    message: str, refs: list[dict[str, Any]], edit: Edit, outcome: str
) -> None:
    router: Any = _Router(edit)
    chat = Chat(id="a", turns=[_expected(message, *refs)])
    (played,) = play_with(chat, lambda clock: router)
    assert [(one.outcome, one.rule) for one in played.edits] == [(outcome, "pron.it")]


def test_the_score_of_chats_counts_right_edits_harm_and_what_was_needed() -> None:
    router: Any = _Router(Edit(5, 7, "the FAB button"), Edit(5, 7, "the form"))
    turns = [_expected(PURPLE, IT, assistant="Done."), _expected("Make it green", IT)]
    found = score_chats(play_with(Chat(id="a", turns=turns), lambda clock: router))
    assert (found["edits_right"], found["edits_wrong"], found["precision"]) == (1, 1, 0.5)
    assert (found["harmed"], found["must_user"], found["must_recall_user"]) == (0.5, 2, 0.5)
    assert found["follow_ups"] == 1
    assert router.said[1] == (Utterance(PURPLE), Utterance("Done.", "assistant"))
    sure = [
        PlayedChatTurn(
            "a", 1, _expected("go"),
            Turn("go", AT, expanded="go", intent=intent, confidence=confidence, action=action),
            (), 1.0,
        )
        for intent, action, confidence in (
            ("EXECUTE", "route", 0.9), ("ASK", "route", 0.9),
            ("ASK", "clarify", 0.4), ("ASK", "clarify", 0.4),
        )
    ]  # fmt: skip
    found = score_chats(sure)
    assert (found["acted"], found["intent_right_when_acted"]) == (0.5, 0.5)
    assert found["ece"] == pytest.approx(0.4)


OWN = sorted((Path(__file__).parents[2] / "chats").glob("*.jsonl"))


@pytest.mark.parametrize("path", OWN, ids=lambda path: path.stem)
def test_the_projects_own_chats_are_complete_and_each_has_a_group(path: Path) -> None:
    chats = read_chats(path)
    assert len({chat.repo for chat in chats}) == len(chats) >= 20
    for turn in (turn for chat in chats for turn in chat.turns):
        assert turn.labelled
        assert turn.intents
        assert all(ref.start_in(turn.user) >= 0 for ref in turn.references if ref.text)


def _rewritten(query: str, wanted: str | tuple[str, ...], text: str, ms: float = 1.0) -> Rewritten:
    return Rewritten(RewriteExample(query=query, rewrite=wanted), text, (), ms)


def test_every_measure_of_rewrites_counts_what_it_says() -> None:
    found = score_rewrites([
        _rewritten(PURPLE, "Make the FAB button purple", "make the FAB-button purple."),
        _rewritten("Make it blue", "Make the FAB button blue", "Make it blue"),
        _rewritten("Run the tests", "Run the tests", "Run the tests"),
        _rewritten("Open the door", "Open the door", "Open the FAB door", 9.0),
    ])  # fmt: skip
    expected = {
        "turns": 4, "needed": 2, "exact": 0.5, "needed_exact": 0.5, "signal_precision": 0.5,
        "signal_recall": 0.5, "false_rewrites": 0.5, "ms_p50": 1.0, "ms_p99": 9.0,
    }  # fmt: skip
    assert found | expected == found
    several = ("Make the button purple", "make it purple")
    assert _rewritten(PURPLE, several, "Make the button purple").exact
    assert not _rewritten(PURPLE, several, PURPLE).needed  # a copy among them


VERBS = {"PAINT": "paint", "LIFT": "lift", "SELL": "sell", "WASH": "wash", "BURN": "burn"}


def _messages(*things: str) -> list[LabelledMessage]:
    return [
        LabelledMessage(text=f"please {verb} the {thing}", intent=intent)
        for intent, verb in VERBS.items()
        for thing in things
    ]


STRANGE = [
    LabelledMessage(text=text, intent="oos")
    for text in ("who won yesterday", "is it raining", "sing me something", "tell a joke")
]
TRAIN = _messages("door", "wall", "roof", "fence", "gate", "floor", "chair", "lamp")
TEST = [*_messages("shelf", "bench", "stool"), *STRANGE]


def _tell(what: str, done: int, total: int) -> None:
    """Nobody is told."""


def test_every_figure_of_a_set_that_is_told_apart_is_perfect() -> None:
    model = IntentModel.fit_examples([(one.text, one.intents[0]) for one in TRAIN])
    report = score_intents(TEST, [(model, 0.0)], _tell)
    assert (report["accuracy"], report["oos_recall_at_95"]) == (1.0, 1.0)
    either = [LabelledMessage(text="please paint the shelf", intent=["LIFT", "PAINT"])]
    figures = score_intents(either, [(model, 0.0)], _tell)
    assert (figures["accuracy"], figures["oos_acted"]) == (1.0, None)
    unknown = [LabelledMessage(text="fly", intent="FLY").placed(f"t:{line}") for line in (1, 2)]
    with pytest.raises(ConfigError) as raised:
        score_intents(unknown, [(model, 0.0)], _tell)
    assert [problem.where for problem in raised.value.problems] == ["t:1", "t:2"]


def test_messages_with_several_intents() -> None:
    for expected, actual, *figures in (
        ("PLAN TEST", "TEST PLAN", 0.0, 1.0, None),  # order counts for exact alone
        ("ASK", "ASK TEST", 0.0, 1.0, 1.0),
        ("TEST", "TEST", 1.0, 1.0, 0.0),
    ):
        one = Requests(text="text", intents=expected.split()), tuple(actual.split())
        assert [*score_splits([one]).values()] == figures


def _hit(message: str, dense: float | None, lexical: float) -> Hit:
    passage = Passage(1, f"c/{message}", "c", None, "user", None, AT, "prose", "", "x", "", 1)
    return Hit(passage, lexical, Fused(lexical, dense, lexical, 0.0), False, ())


def _retrieved(relevant: str, *hits: Hit, conversation: str = "c") -> Retrieved:
    query = RetrievalQuery(
        conversation=conversation, query=f"q {relevant}", relevant=list(relevant)
    )
    return Retrieved(query, hits, 1.0)


def test_recall_counts_the_first_messages_and_ndcg_their_order() -> None:
    def figures(relevant: str, found: str) -> tuple[float | None, float | None]:
        hits = (_hit(name, None, 1.0) for name in found)
        means = ranking([_retrieved(relevant, *hits)])
        return means["recall_at_5"], means["ndcg_at_5"]

    assert figures("af", "abcdef") == (0.5, pytest.approx(0.613, abs=1e-3))
    assert figures("ab", "abxyz") == (1.0, pytest.approx(1.0))
    assert figures("ab", "xyzab") == (1.0, pytest.approx(0.501, abs=1e-3))
    assert figures("a", "") == (0.0, 0.0)


def test_conversations_are_not_divided_between_the_halves_and_one_alone_by_its_questions() -> None:
    first, second = halves([_retrieved("a", conversation=name) for name in "vwxyzvwxyz"])
    assert {one.query.conversation for one in first} == set("vxz")
    assert {one.query.conversation for one in second} == set("wy")
    queries = [_retrieved(chr(97 + n)) for n in range(20)]
    assert halves(queries) == (queries[::2], queries[1::2])


def test_weights_are_tuned_where_others_do_better_on_the_other_half_too() -> None:
    hits = (_hit("a", 0.1, 1.0), _hit("b", 1.0, 0.9))
    queries = [_retrieved("b", *hits, conversation=name) for name in "vwxyz"]
    _, tuned = tune(queries, present=Weights(0.0, 1.0, 0.0), dense=True)
    assert [tuned[half]["ndcg_at_5"] for half in ("other_half", "before")] == [1.0, 0.6309]
    best = [_retrieved("a", _hit("a", None, 1.0), conversation=name) for name in "vw"]
    assert tune(best, present=DEFAULT, dense=False)[0] == DEFAULT


def test_a_question_is_resolved_when_it_names_what_it_is_about() -> None:
    typed, meant = (f"And what happens if {it} falls on a weekend?" for it in ("it", "the Fee Day"))
    question = Question(user=typed, expanded=meant, refers_to="the Fee Day")
    assert all(map(question.resolved, (meant, "what if fee day is a Sunday")))
    assert not any(map(question.resolved, (typed, "What is coffee day?")))
