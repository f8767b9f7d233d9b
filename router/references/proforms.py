"""Small words for what a question says is done: "Does that cost extra?", "Who does?", "then".

The question is the last one. What it says is done becomes a thing ("transferring my ticket"), a
predicate ("who pays the fee") or a condition ("when the trial ends").
"""

from collections.abc import Iterator
from typing import Final

from kds.brain.turn import Edit, Reference
from kds.router.discourse.inquiry import last_question
from kds.router.discourse.question import Question
from kds.router.language import closed_class as cc
from kds.router.language.inflection import third_person
from kds.router.references.rendering import in_place_of
from kds.router.references.rule import Rule
from kds.router.references.scene import Found, Scene, search

_SCORE: Final = 0.8
"""Shown for what the form of the message settles, where no antecedents compete."""
_SPEAKERS: Final = frozenset("i you we one they he she".split())
_STATES: Final = frozenset(
    "be have need want know see find get like mean apply count cost exist say".split()
)
"""Verbs of questions that are about their object, and not about what is done to it."""
_WHEN: Final = frozenset({"when", "once", "if"})


def find_doings(scene: Scene, rule: Rule) -> Iterator[Found]:
    """ "Does that need approval?": that is doing what was asked about."""
    question = last_question(scene.discourse)
    match = next((m for p in rule.signal.cues if (m := search(p, scene.analysis.text))), None)
    if question is None or match is None:
        return
    doing = _doing(question)
    quality = match.groupdict().get("quality")
    if doing and quality and question.action and doing == question.doing():
        start, end = match.start("ref"), match.end("quality")
        text = f"it {scene.analysis.text[match.end('ref') + 1 : end]} to {question.action}"
        yield Found(
            (Reference(match["ref"], *match.span("ref"), question.about, rule.id, _SCORE),),
            (Edit(start, end, text),),
            f"'{match['ref']}' is what the question before asks about ({rule.id}): '{text}'",
        )
    elif doing:
        start, end = match.span("ref")
        text = in_place_of(match["ref"], doing)
        yield Found(
            (Reference(match["ref"], start, end, question.about, rule.id, _SCORE),),
            (Edit(start, end, text),),
            f"'{match['ref']}' is what the question before asks about ({rule.id}): '{text}'",
        )


def _doing(question: Question) -> str:
    """What is done, as a thing; "" when the question is about a thing."""
    first, stop = question.subject
    if first < stop and question.words[first].tag == "VBG":
        return question.subject_text  # "How long does closing an account take?"
    if first < stop and question.words[first].lower in {"a", "an"} and not question.is_agentive:
        return question.subject_text  # "How long does a rollback take?"
    verb = question.verb
    speaker = stop - first == 1 and question.words[first].lower in _SPEAKERS
    doer = speaker or (question.is_agentive and not question.copular)
    if verb is None or not doer or verb.lemma in _STATES or question.aux is None:
        return ""
    if verb.lemma != "do":
        return question.doing()
    done = question.action[len(verb.text) :].strip()
    return done if done.startswith(("a ", "an ", "the ")) else ""


def find_doers(scene: Scene, rule: Rule) -> Iterator[Found]:
    """ "Who does?", "If not, who can?": who pays the fee."""
    question = last_question(scene.discourse)
    text = scene.analysis.text
    match = next((m for p in rule.signal.cues if (m := search(p, text))), None)
    if question is None or match is None:
        return
    said = _said_of(question, match["helper"].lower())
    if not said:
        return
    start, end = match.span("helper")
    yield Found(
        (Reference(match["helper"], start, end, question.about, rule.id, _SCORE),),
        (Edit(start, end, said),),
        f"'{match['helper']}' is what the question before says ({rule.id}): '{said}'",
    )


def _said_of(question: Question, helper: str) -> str:
    """The predicate behind "who": "insures the goods", "can cancel it", "is allowed to"."""
    verb, action = question.verb, question.action
    aux = question.words[question.aux].lower if question.aux is not None else ""
    if helper in cc.BE:
        return f"{helper} {question.said}" if aux in cc.BE and question.said else ""
    if verb is None or verb.lower != verb.lemma or aux in cc.BE:
        return ""
    if helper in cc.DO:
        return action.replace(verb.text, third_person(verb.lower), 1) if action else ""
    return f"{helper} {action}" if action else ""


def find_times(scene: Scene, rule: Rule) -> Iterator[Found]:
    """ "Is the library open then?": when what was asked about is so."""
    question = last_question(scene.discourse)
    match = next((m for p in rule.signal.cues if (m := search(p, scene.analysis.text))), None)
    if question is None or match is None:
        return
    text = _time(question)
    if text:
        start, end = match.span("ref")
        yield Found(
            (Reference(match["ref"], start, end, question.about, rule.id, _SCORE),),
            (Edit(start, end, text),),
            f"'{match['ref']}' is when the question before says ({rule.id}): '{text}'",
        )


def _time(question: Question) -> str:
    """ "When does the trial end" -> "when the trial ends"; its condition, when it has one."""
    first, stop = question.condition
    if first < stop and question.words[first].lower in _WHEN:
        return question.span((first, stop))
    if question.fronted[0] < question.fronted[1]:
        return question.span(question.fronted).rstrip(", ")
    if question.span(question.wh).lower() != "when" or question.aux is None:
        return ""
    stated = question.stated()
    aux = question.words[question.aux].lower
    if stated and aux in cc.MODALS | {"did"}:
        return ""
    return f"when {stated}" if stated else _copular_time(question, aux)


def _copular_time(question: Question, aux: str) -> str:
    said = question.said
    return f"when {question.subject_text} {aux} {said}" if said and aux in cc.BE else ""
