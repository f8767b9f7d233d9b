"""Finds the questions of a conversation, takes them apart, and tells where two of them differ."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
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

_ENDS: Final = frozenset(".!?")
_LEADS: Final = frozenset({"CCONJ", "INTJ", "PUNCT", "SPACE"})
_LEADING_WORDS: Final = words("function_words", "leading")
_INVERTING: Final = cc.FINITE_AUX | frozenset({"can't", "cannot", "'s", "'re"})
_TELLING: Final = re.compile(
    r"^(?:(?:please|so|and|ok|okay|hi|hello)\b[\s,]*)*(?:(?:can|could|would|will) you (?:please )?"
    r"(?:tell me|explain|say|check)|do you (?:know|happen to know)|(?:please )?tell me|"
    r"i(?:'d| would) like to know|i(?:'m| am) wondering|i wonder|i want to know)\s+"
    r"(?P<prep>(?:by|until|since|from|to|for|in|on|at|with|under|within|about|of) )?"
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
        if question is None and not brief and _says_something(moment):
            return None
    return None


def _says_something(moment: Moment) -> bool:
    return any(clause.verb is not None for clause in moment.analysis.clauses)


def questions(discourse: Discourse) -> Iterator[Question]:
    """Every question of the last messages, newest first."""
    for moment in list(reversed(discourse.moments))[: 2 * REACH]:
        question = question_of(moment)
        if question is not None:
            yield question


def question_of(moment: Moment) -> Question | None:
    """The last question that a message asks."""
    return _parsed(moment.analysis, moment.mentions)


@lru_cache(maxsize=KEPT)
def _parsed(analysis: Analysis, mentions: tuple[Mention, ...]) -> Question | None:
    words = analysis.words
    for first, stop in reversed(_sentences(words)):
        told = _told(analysis, mentions, first, stop)
        if told is not None:
            return told
        start, front = _opening(words, first, stop)
        if start < stop:
            question = _main(analysis, mentions, start, stop, front)
            if question is not None:
                return question
    return None


def _sentences(words: Sequence[Word]) -> list[Span]:
    """Runs of words up to a full stop, question or exclamation mark, which is left out."""
    spans, first = [], 0
    for i, word in enumerate(words):
        if word.text in _ENDS or word.pos == "SPACE":
            spans.append((first, i))
            first = i + 1
    spans.append((first, len(words)))
    return [span for span in spans if span[0] < span[1]]


def _told(
    analysis: Analysis, mentions: tuple[Mention, ...], first: int, stop: int
) -> Question | None:
    """ "Could you tell me whether S?": S as a question."""
    words = analysis.words
    match = _TELLING.match(analysis.span(first, stop))
    if match is None:
        return None
    offset = words[first].start + match.start("prep" if match["prep"] else "word")
    at = next(i for i in range(first, stop) if words[i].end > offset)
    asked = match["word"].lower() not in {"whether", "if"}
    subject = at + bool(match["prep"]) if asked else at + 1
    while asked and subject < stop and words[subject].lower in cc.WH | {"long", "much", "often"}:
        subject += 1
    verb = next((i for i in range(subject + 1, stop) if words[i].pos in {"VERB", "AUX"}), None)
    if verb is None:
        return None
    obliged = words[verb].lower in cc.HAVE and words[min(verb + 1, stop - 1)].lower == "to"
    inverting = words[verb].lower in _INVERTING and verb + 1 < stop and not obliged
    aux = verb if inverting else None
    predicate = (verb if aux is None else verb + 1, stop)
    wh = (at, subject) if asked else (at, at)
    return Question(
        analysis, mentions, (first, first), wh, aux, (subject, verb), predicate, indirect=True
    )


def _opening(words: Sequence[Word], first: int, stop: int) -> tuple[int, Span]:
    """Where the main question starts, and the clause in front of it."""
    start = first
    while start < stop and (words[start].pos in _LEADS or words[start].lower in _LEADING_WORDS):
        start += 1
    if start >= stop:
        return start, (start, start)
    if not _opens_condition(words, start, stop):
        return _behind_announcement(words, start, stop)
    for i in range(start + 2, stop - 1):
        asks = words[i].text == "," and (
            words[i + 1].lower in cc.WH or words[i + 1].lower in _INVERTING
        )
        if asks:
            return i + 1, (start, i + 1)
    return stop, (start, start)


def _behind_announcement(words: Sequence[Word], start: int, stop: int) -> tuple[int, Span]:
    """ "Quick question, how many days do I get": the part in front asks nothing; "In winter, how
    warm ..." says when."""
    asks = words[start].lower in cc.WH | _INVERTING
    for i in range(start + 1, min(start + 6, stop - 2) if not asks else start):
        if words[i].pos in {"VERB", "AUX"}:
            break
        if words[i].text in {",", ":"} and words[i + 1].lower in cc.WH | _INVERTING:
            fronted = words[start].pos == "ADP" and words[i].text == ","
            return i + 1, (start, i + 1) if fronted else (i + 1, i + 1)
    return start, (start, start)


def _opens_condition(words: Sequence[Word], i: int, stop: int) -> bool:
    word = words[i]
    if word.lower in {"if", "unless", "once", "after", "before", "while", "because"}:
        return True
    return word.lower == "when" and i + 1 < stop and words[i + 1].lower not in _INVERTING


def _main(
    analysis: Analysis, mentions: tuple[Mention, ...], start: int, stop: int, front: Span
) -> Question | None:
    words = analysis.words
    wh = (start, start)
    at = start
    opens = words[start].lower in cc.WH or (
        words[start].pos == "ADP" and start + 1 < stop and words[start + 1].lower in cc.WH
    )
    if opens:
        while at < stop and words[at].pos not in {"AUX", "VERB"}:
            at += 1
        wh = (start, at)
    if at >= stop or words[at].text == ",":
        return None
    obliged = words[at].lower in cc.HAVE and at + 1 < stop and words[at + 1].lower == "to"
    if words[at].lower not in _INVERTING or (obliged and opens):
        asks = opens and words[at].pos == "VERB"
        return Question(analysis, mentions, front, wh, None, (at, at), (at, stop)) if asks else None
    subject, predicate = _arguments(analysis, wh, at, stop)
    if opens and words[at].lower in cc.HAVE and predicate[0] == predicate[1]:
        return Question(analysis, mentions, front, wh, None, (at, at), (at, stop))
    if subject[0] == subject[1] and not opens:
        return None
    return Question(analysis, mentions, front, wh, at, subject, predicate)


def _arguments(analysis: Analysis, wh: Span, aux: int, stop: int) -> tuple[Span, Span]:
    """Subject and predicate behind the auxiliary."""
    words = analysis.words
    first = aux + 1
    while first < stop and words[first].lower in {"n't", "not"}:
        first += 1
    if first >= stop:
        return (first, first), (first, stop)
    verbal = _end_of_verbs(words, wh, first, stop)
    if verbal is not None:
        return (first, verbal), (verbal, stop)
    phrase = analysis.phrase_at.get(first)
    after = phrase.end if phrase is not None else first + 1
    copula = words[aux].lower in cc.BE
    for i in range(after, stop):
        if words[i].pos in {"SCONJ"} or (words[i].lower in cc.WH and words[i].pos != "DET"):
            break
        verbal = words[i].pos in {"VERB", "AUX"}
        relative = words[i - 1].pos == "PRON" and words[i - 1].lower in {"that", "which", "who"}
        reduced = words[i].tag in {"VBN", "VBG"} and not copula
        verbal = verbal or (words[i].pos == "ADJ" and i not in analysis.phrase_at and copula)
        if verbal and not relative and not reduced:
            return (first, i), (i, stop)
    if not copula or wh[0] == wh[1]:
        return (first, min(after, stop)), (min(after, stop), stop)
    return (first, stop), (stop, stop)


def _end_of_verbs(words: Sequence[Word], wh: Span, first: int, stop: int) -> int | None:
    """Where "restarting the service" ends in "Does restarting the service take long?"; at once in
    "Who can approve it?", and None where no verb stands.
    """
    verb = first + (words[first].pos == "ADV")
    if verb >= stop or words[verb].pos not in {"VERB", "AUX"}:
        return None
    if not _names_doing(words, wh, first):
        return first
    ends = (i for i in range(first + 1, stop) if words[i].pos in {"VERB", "AUX", "ADJ"})
    return next((i for i in ends if words[i - 1].pos not in {"DET", "ADP", "PART"}), first)


def _names_doing(words: Sequence[Word], wh: Span, first: int) -> bool:
    """ "Does restarting it ...", "Does PUT ..."; not "Who is restarting it?"."""
    at = wh[0] < wh[1] and words[wh[0]].pos == "ADP"  # "at what point does charging stop"
    asked = set() if at else {w.lower for w in words[wh[0] : wh[1]]}
    doing = words[first].tag == "VBG" and asked.isdisjoint({"who", "what", "which", "whose"})
    return words[first].pos == "VERB" and (doing or words[first].in_capitals)


@dataclass(frozen=True, slots=True)
class Difference:
    """Two questions alike but for one part: the words of it in each."""

    first: Span
    second: Span


def difference(one: Question, two: Question) -> Difference | None:
    """Where two questions differ, when they are alike in everything else."""
    a, b = _asked(one), _asked(two)
    left = 0
    while left < min(len(a), len(b)) and _same(a[left], b[left]):
        left += 1
    right = 0
    while right < min(len(a), len(b)) - left and _same(a[-1 - right], b[-1 - right]):
        right += 1
    first, second = a[left : len(a) - right], b[left : len(b) - right]
    verbal = any(w.pos in {"AUX", "VERB"} for w in (*first, *second))
    alike = left + right >= max(3, len(first), len(second))
    if not first or not second or verbal or not alike:
        return None
    return Difference(_phrase(one, first), _phrase(two, second))


def _asked(question: Question) -> tuple[Word, ...]:
    return question.words[question.first : question.end]


def _same(a: Word, b: Word) -> bool:
    auxiliaries = a.pos == b.pos == "AUX" and a.lemma == b.lemma
    return a.lower == b.lower or auxiliaries


def _phrase(question: Question, words: tuple[Word, ...]) -> Span:
    """The phrase around the words that differ: "video mode" for "video"."""
    start, stop = words[0].i, words[-1].i + 1
    for phrase in question.analysis.phrases:
        if phrase.start < stop and start < phrase.end:
            start, stop = min(start, phrase.start), max(stop, phrase.end)
    return start, stop
