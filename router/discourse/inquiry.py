"""Finds the questions of a conversation, takes them apart, and tells where two of them differ."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Final

from kds.router.discourse.history import Discourse, Moment
from kds.router.discourse.mention import Mention
from kds.router.discourse.question import Question, Span
from kds.router.english import words
from kds.router.language import closed_class as cc
from kds.router.language.words import Analysis, Word

REACH: Final = 3
"""Messages back: a question is still leaned on behind two that asked nothing."""

BRIEF: Final = 4
"""Words of a message that names nothing and so ends nothing: "Thanks!", "Got it"."""

KEPT: Final = 256
"""Questions kept, as analyses are."""

_LEADS: Final = frozenset({"CCONJ", "INTJ", "PUNCT", "SPACE"})
_LEADING_WORDS: Final = words("function_words", "leading")
_INVERTING: Final = cc.FINITE_AUX | frozenset({"can't", "cannot", "'s", "'re"})
_ASKING: Final = cc.WH | _INVERTING
_CONDITIONAL: Final = frozenset("if unless once after before while because".split())
_VERBAL: Final = frozenset({"VERB", "AUX"})
_TELLING: Final = re.compile(
    r"^(?:(?:please|so|and|ok|okay|hi|hello)\b[\s,]*)*(?:(?:can|could|would|will) you (?:please )?"
    r"(?:tell me|explain|say|check)|do you (?:know|happen to know)|(?:please )?tell me|"
    r"i(?:'d| would) like to know|i(?:'m| am) wondering|i wonder|i want to know)\s+"
    r"(?:(?:by|until|since|from|to|for|in|on|at|with|under|within|about|of) )?"
    r"(?P<word>whether|if|how|when|where|why|what|who|which)\b",
    re.I,
)


def last_question(discourse: Discourse) -> Question | None:
    """The newest question; what asks nothing in between ("Thanks", a bare fragment) is skipped.

    A command or a statement ends its reach: what follows goes on with that.
    """
    for moment in list(reversed(discourse.moments))[:REACH]:
        question = question_of(moment)
        if question is not None and not question.is_vague:
            return question
        brief = not moment.mentions and len(moment.analysis.words) <= BRIEF
        says = any(clause.verb is not None for clause in moment.analysis.clauses)
        if question is None and says and not brief:
            return None
    return None


def questions(discourse: Discourse) -> Iterator[Question]:
    """Every question of the last messages, newest first."""
    found = map(question_of, list(reversed(discourse.moments))[: 2 * REACH])
    return (question for question in found if question is not None)


def question_of(moment: Moment) -> Question | None:
    """The last question that a message asks."""
    return _parsed(moment.analysis, moment.mentions)


@lru_cache(maxsize=KEPT)
def _parsed(analysis: Analysis, mentions: tuple[Mention, ...]) -> Question | None:
    words = analysis.words
    ends = [i for i, word in enumerate(words) if word.text in ".!?" or word.pos == "SPACE"]
    for first, after in reversed([*pairwise([0, *(i + 1 for i in ends), len(words) + 1])]):
        stop = after - 1  # without the sign
        found = _told(analysis, mentions, first, stop)
        if found is None and first < stop:
            start, front = _opening(words, first, stop)
            found = _main(analysis, mentions, start, stop, front) if start < stop else None
        if found is not None:
            return found
    return None


def _told(
    analysis: Analysis, mentions: tuple[Mention, ...], first: int, stop: int
) -> Question | None:
    """ "Could you tell me whether S?": S as a question."""
    words = analysis.words
    match = _TELLING.match(analysis.span(first, stop))
    if match is None:
        return None
    offset = words[first].start + match.start("word")
    at = next(i for i in range(first, stop) if words[i].end > offset)
    asked = match["word"].lower() not in {"whether", "if"}
    subject = at + 1
    while asked and subject < stop and words[subject].lower in cc.WH | {"long", "much", "often"}:
        subject += 1
    verb = next((i for i in range(subject + 1, stop) if words[i].pos in _VERBAL), None)
    if verb is None:
        return None
    if asked and at > first and words[at - 1].pos == "ADP":
        at -= 1
    inverting = words[verb].lower in _INVERTING and not _is_obliged(words, verb, stop)
    aux = verb if inverting and verb + 1 < stop else None
    predicate = (verb if aux is None else verb + 1, stop)
    wh = (at, subject) if asked else (at, at)
    return Question(
        analysis, mentions, (first, first), wh, aux, (subject, verb), predicate, indirect=True
    )


def _is_obliged(words: Sequence[Word], at: int, stop: int) -> bool:
    """ "have to"."""
    return words[at].lower in cc.HAVE and at + 1 < stop and words[at + 1].lower == "to"


def _opening(words: Sequence[Word], first: int, stop: int) -> tuple[int, Span]:
    """Where the main question starts, and the clause in front of it ("In winter, how warm ...").

    The part in front of "Quick question, how many days do I get" asks nothing.
    """
    start = first
    while start < stop and (words[start].pos in _LEADS or words[start].lower in _LEADING_WORDS):
        start += 1
    inside = words[start:stop]
    if not inside:
        return start, (start, start)
    asks = [at + 1 for at, (one, two) in enumerate(pairwise(inside), start)
            if one.text in ",:" and two.lower in _ASKING]  # fmt: skip
    when = inside[0].lower == "when" and len(inside) > 1 and inside[1].lower not in _INVERTING
    if when or inside[0].lower in _CONDITIONAL:
        return (asks[0], (start, asks[0])) if asks else (stop, (start, start))
    short = asks and inside[0].lower not in _ASKING and asks[0] <= start + 6
    if short and all(word.pos not in _VERBAL for word in words[start : asks[0]]):
        return asks[0], (start if inside[0].pos == "ADP" else asks[0], asks[0])
    return start, (start, start)


def _main(
    analysis: Analysis, mentions: tuple[Mention, ...], start: int, stop: int, front: Span
) -> Question | None:
    words = analysis.words
    governed = words[start].pos == "ADP" and start + 1 < stop
    opens = words[start + governed].lower in cc.WH
    at = start
    while opens and at < stop and words[at].pos not in _VERBAL:
        at += 1
    if at >= stop:
        return None
    wh = (start, at)
    if words[at].lower not in _INVERTING or (opens and _is_obliged(words, at, stop)):
        asks = opens and words[at].pos == "VERB"
        return Question(analysis, mentions, front, wh, None, (at, at), (at, stop)) if asks else None
    subject, predicate = _arguments(analysis, opens, at, stop)
    if opens and words[at].lower in cc.HAVE and predicate[0] == predicate[1]:
        return Question(analysis, mentions, front, wh, None, (at, at), (at, stop))
    if subject[0] == subject[1] and not opens:
        return None
    return Question(analysis, mentions, front, wh, at, subject, predicate)


def _arguments(analysis: Analysis, opens: bool, aux: int, stop: int) -> tuple[Span, Span]:
    """Subject and predicate behind the auxiliary."""
    words = analysis.words
    first = aux + 1
    while first < stop and words[first].lower in {"n't", "not"}:
        first += 1
    verb = first + (first < stop and words[first].pos == "ADV")
    if verb >= stop or words[verb].pos in _VERBAL:  # "Who can approve it?"
        return (first, first), (first, stop)
    phrase = analysis.phrase_at.get(first)
    after = phrase.end if phrase is not None else first + 1
    copula = words[aux].lower in cc.BE
    for i in range(after, stop):
        word = words[i]
        if word.pos == "SCONJ" or (word.lower in cc.WH and word.pos != "DET"):
            break
        said = word.pos == "ADJ" and i not in analysis.phrase_at and copula
        relative = words[i - 1].pos == "PRON" and words[i - 1].lower in {"that", "which", "who"}
        reduced = word.tag in {"VBN", "VBG"} and not copula
        if (said or word.pos in _VERBAL) and not relative and not reduced:
            return (first, i), (i, stop)
    end = stop if copula and opens else min(after, stop)
    return (first, end), (end, stop)


@dataclass(frozen=True, slots=True)
class Difference:
    """Two questions alike but for one part: the words of it in each."""

    first: Span
    second: Span


def difference(one: Question, two: Question) -> Difference | None:
    """Where two questions differ, when they are alike in everything else."""
    a, b = (question.words[question.first : question.end] for question in (one, two))
    left = right = 0
    while left < min(len(a), len(b)) and _same(a[left], b[left]):
        left += 1
    while right < min(len(a), len(b)) - left and _same(a[-1 - right], b[-1 - right]):
        right += 1
    first, second = a[left : len(a) - right], b[left : len(b) - right]
    verbal = any(w.pos in _VERBAL for w in (*first, *second))
    alike = left + right >= max(3, len(first), len(second))
    if not first or not second or verbal or not alike:
        return None
    return Difference(_phrase(one, first), _phrase(two, second))


def _same(a: Word, b: Word) -> bool:
    return a.lower == b.lower or (a.pos == b.pos == "AUX" and a.lemma == b.lemma)


def _phrase(question: Question, words: tuple[Word, ...]) -> Span:
    """The phrase around the words that differ: "video mode" for "video"."""
    start, stop = words[0].i, words[-1].i + 1
    for phrase in question.analysis.phrases:
        if phrase.start < stop and start < phrase.end:
            start, stop = min(start, phrase.start), max(stop, phrase.end)
    return start, stop
