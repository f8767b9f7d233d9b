"""The step that says what a message wants: intent, confidence, alternatives, what comes second.

Whether to act on it is for dispatch.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from kds.brain.turn import UNKNOWN, IntentScore, Turn
from kds.router.discourse.consent import agrees, reaction
from kds.router.discourse.reply import closing_question, proposed, proposes
from kds.router.discourse.symptoms import reports_success, reports_symptom
from kds.router.intents.features import Place, stems
from kds.router.intents.model import MAX_ALTERNATIVES, IntentModel
from kds.router.intents.patterns import IntentVerdict, Prompts, Situation, without_courtesy
from kds.router.intents.policy import IN_SCOPE_MIN
from kds.router.intents.requests import split_message
from kds.router.intents.turn_model import TurnModel
from kds.router.language.words import Analysis
from kds.router.pipeline import Step

OFFERED_MIN: Final = 0.95
"""Confidence with which an offer that is written out behind "yes" counts alone: below it the
offers of the dev chats ("tackle User Story 5") are told by the whole message."""

PART_MIN: Final = 0.6
"""Confidence from which a part of a message counts as a request of its own."""

REPORTED: Final = 0.8
"""Confidence that a report of a symptom wants the fault found: 80 % of the 93 turns of real chats
that grammar changed came out right (cross-validated)."""

_IMAGE: Final = re.compile(r"\[(?:image|screenshot)\b|!\[[^\]]*\]\(", re.IGNORECASE)
"""How chats mark an attached image. A file name is not enough: "rename logo.png"."""

_AGREEMENT: Final = "answer.agreement"
"""The rule of "yes", which writes out what the reply proposes."""

_ANOTHER: Final = "np.one"
"""The rule of "another one", which is something new."""

_INTO: Final = re.compile(
    r"\b(?:to|in|on|into|onto|at|inside|above|below|beside|under)\s+(?:the|this|that|these|those)\s+"
    r"((?:[\w-]+\s?){1,3})",
    re.IGNORECASE,
)
"""Where something is to be added: "to the FAB button"."""

LEAST_LETTERS: Final = 2
"""Letters that a word has at most which names nothing."""

_SAID_CHARS: Final = 300
"""Characters of an earlier message that are searched for the thing: it is named early."""

Requests = Sequence[tuple[str, IntentVerdict]]
"""The requests of a message that holds several, as written, each with its verdict."""


def make_classify(
    model: IntentModel,
    turns: TurnModel | None = None,
    *,
    analyse: Callable[[str], Analysis] | None = None,
) -> Step:
    """The classify step over a fitted model, and what real turns say beside it.

    With both, ``analyse`` tells reports of symptoms from requests by their grammar.
    """

    def classify(told: Turn) -> Turn:
        turn = _plainly(told)
        verdict, requests = first_reading(model, turn)
        notes = [f"{verdict.intent}: '{text}'" for text, verdict in requests]
        answered = _answered(model, turn)
        if answered is not None:
            verdict, requests = answered, ()
            notes = ["it answers what the reply proposes"]
        elif turns is not None:
            place = place_of(turn)
            verdict = turns.read(turn.message, place, verdict)
            if analyse is not None and may_be_report(verdict, place, model.agents):
                shouted = turn.message.isupper()
                analysis = analyse(turn.message.lower() if shouted else turn.message)
                verdict = as_report(verdict, symptoms_of(model.agents), analysis)
        asked = [one.intent for _, one in requests]
        if verdict.intent not in asked:  # then it is another reading of the first
            asked = asked[1:]
        secondary = [one for one in dict.fromkeys(asked) if one != verdict.intent]
        summary = f"intent {verdict.intent}, confidence {verdict.confidence:.2f}"
        return replace(
            told,
            intent=verdict.intent,
            confidence=verdict.confidence,
            in_scope=verdict.in_scope,
            alternatives=verdict.alternatives,
            secondary_intents=tuple(secondary),
            notes=(*turn.notes, summary, *notes, *verdict.notes),
        )

    return Step("classify", classify)


def _plainly(turn: Turn) -> Turn:
    """Without a polite condition; "works for me" to what the reply proposes is a "yes"."""
    action = proposed(turn.history[-1].text) if turn.history else ""
    if action and any(one.rule == _AGREEMENT for one in turn.references):
        return replace(turn, message="yes", expanded=f"yes, {action}")
    message, expanded = without_courtesy(turn.message), without_courtesy(turn.expanded or "")
    return turn if message == turn.message else replace(turn, message=message, expanded=expanded)


def first_reading(model: IntentModel, turn: Turn) -> tuple[IntentVerdict, Requests]:
    """The verdict of examples and patterns, and the requests of a message that holds several.

    An example is one request, whatever stands in it: its prompt says what it asks for.
    """
    if (example := model.score_example(turn.message)) is not None:
        return example, ()
    situation = _situation(turn)
    requests = _requests(
        model, turn.expanded or turn.message, situation, in_talk=bool(turn.history)
    )
    if requests:
        return requests[0][1], requests
    return model.score(turn.message, turn.expanded or None, situation), ()


def _requests(model: IntentModel, text: str, situation: Situation, *, in_talk: bool) -> Requests:
    """The requests of a message when it holds confident ones of different kinds, else none.

    In a talk with replies the encoder has its parts as they read in the whole: to encode each part
    alone took a sixth of a turn and did not help real chats; it does help tidy messages.
    """
    parts = split_message(text)
    kept: list[tuple[str, IntentVerdict]] = []
    for number, part in enumerate(parts, 1):
        if number == len(parts) and not kept:
            return ()  # the last one would be alone
        verdict = model.score(part, part, situation, within=text if in_talk else "")
        first = model.agents.get(kept[0][1].intent) if kept else None
        absorbed = first is not None and verdict.intent in first.absorbs
        if verdict.intent != model.none and verdict.confidence >= PART_MIN and not absorbed:
            kept.append((part, verdict))
    return kept if len({verdict.intent for _, verdict in kept}) > 1 else ()


def _answered(model: IntentModel, turn: Turn) -> IntentVerdict | None:
    """The verdict on a message that says no more than yes or no to what the last reply proposes.

    "Shall I commit this?" tells what the yes is for, whether or not it is written out behind it:
    the offer alone is read, without the "yes". A no asks for nothing: there is nothing to correct
    yet.
    """
    if not turn.history or turn.history[-1].role != "assistant":
        return None
    reply = turn.history[-1].text
    if reaction(turn.message) == "no" and proposes(closing_question(reply)):
        return IntentVerdict(model.none, 0.0, (), (), 0.0)
    action = proposed(reply) if agrees(turn.message) else ""
    verdict = model.score(action, None, _situation(turn)) if action else None
    written = (turn.expanded or turn.message) != turn.message
    least = OFFERED_MIN if written else PART_MIN
    if verdict is None or verdict.intent == model.none or verdict.confidence < least:
        return None
    return verdict


def place_of(turn: Turn) -> Place:
    """Where a message stands in its conversation, as far as that is known; a switch starts one."""
    if turn.context_switch:
        return Place(0, None, False)
    earlier = sum(said.role == "user" for said in turn.history) or len(turn.context)
    previous = turn.context[-1].intent if turn.context else None
    answered = bool(turn.history) and turn.history[-1].role == "assistant"
    return Place(earlier, previous, answered)


def symptoms_of(agents: Prompts) -> str:
    """The intent that reports of symptoms go to; "" where there is none."""
    return next((intent for intent, agent in agents.items() if agent.symptoms), "")


def may_be_report(verdict: IntentVerdict, place: Place, agents: Prompts) -> bool:
    """Whether grammar may overrule a verdict: not a phrase's, nor that of an agent of one's own.

    A complaint behind a reply of the assistant corrects it as often as not; the models tell.
    """
    intent, found = symptoms_of(agents), agents.get(verdict.intent)
    if intent not in {*verdict.log_p} - verdict.barred:
        return False
    if place.answered and found is not None and found.corrects:
        return False
    return verdict.intent in {*agents[intent].symptoms, intent}


def as_report(verdict: IntentVerdict, intent: str, analysis: Analysis) -> IntentVerdict:
    """``verdict``, but ``intent`` where a symptom is reported; UNKNOWN for good news of its end.

    All others are then as likely as such readings are wrong.
    """
    symptom = reports_symptom(analysis)
    if not symptom and not reports_success(analysis):
        return verdict
    now = intent if symptom else UNKNOWN
    note = "the message reports a symptom" if symptom else "the message says that all is well"
    scores = (IntentScore(verdict.intent, verdict.confidence), *verdict.alternatives)
    others = tuple(
        IntentScore(score.intent, min(score.confidence, 1.0 - REPORTED))
        for score in scores
        if score.intent != now
    )[:MAX_ALTERNATIVES]
    sure = max((score.confidence for score in others), default=0.0)
    if symptom:
        sure = max(verdict.confidence if verdict.intent == intent else 0.0, REPORTED)
    return replace(
        verdict,
        intent=now,
        confidence=sure,
        in_scope=max(verdict.in_scope, IN_SCOPE_MIN) if symptom else verdict.in_scope,
        alternatives=others,
        notes=(*verdict.notes, note),
    )


def _situation(turn: Turn) -> Situation:
    """A topic switch starts afresh: the earlier messages say nothing any more."""
    newest = turn.context[-1] if turn.context and not turn.context_switch else None
    return Situation(
        previous_intent=newest.intent if newest else None,
        has_session=newest is not None and newest.session_id is not None,
        has_reference=bool(turn.references),
        has_pointer=newest is not None and _points_to_known(turn),
        has_attachment=_IMAGE.search(turn.message) is not None,
    )


def _points_to_known(turn: Turn) -> bool:
    """Whether a message takes up a thing of earlier ones, by a word ("it") or by its name."""
    pointers = [one.rule for one in turn.references if one.text]
    if pointers:
        return _ANOTHER not in pointers
    places = {word for found in _INTO.finditer(turn.message) for word in stems(found[1])}
    return any(
        len(word) > LEAST_LETTERS and word in places
        for entry in turn.context
        for word in stems(entry.user_message[:_SAID_CHARS])
    )
