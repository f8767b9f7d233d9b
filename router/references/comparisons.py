"""Comparisons of what two questions asked: "Which is longer?", "Is that more than in Paris?".

Two questions that differ in one part ask for the same quantity of two things. What is compared
is that quantity: the notice of the Servicer with the notice of the Trustee, not the parties.
"""

from collections.abc import Iterator
from itertools import islice, pairwise
from typing import Final

from kds.router.discourse.differences import difference
from kds.router.discourse.inquiry import last_question, questions
from kds.router.discourse.question import Question, Span
from kds.router.english import words
from kds.router.references.rendering import bare_text
from kds.router.references.rule import Rule
from kds.router.references.scene import Found, Scene, cued, rewritten

_MEASURES: Final = words("qualities", "degrees")
_AMOUNTS: Final = words("nouns", "amounts")


def find_comparisons(scene: Scene, rule: Rule) -> Iterator[Found]:
    """Which of the two, and how the last one compares with one more."""
    text = scene.analysis.text
    match = cued(rule, text, at_start=True)
    if match is None or " or " in text.lower():
        return
    said = match["said"].strip().rstrip(" ?.!")
    which = match.groupdict().get("which")
    written, about = _alternatives(scene, which, said) if which else _compared(scene, said)
    if written:
        opening = written[0].upper() if text[:1].isupper() else written[0]
        yield rewritten(scene, rule, f"{opening}{written[1:]}?", about)


def _alternatives(scene: Scene, which: str, said: str) -> tuple[str, str]:
    """ "Which is longer" with the two things, which the context remembers; "" when no two questions
    vary one thing.
    """
    pair = _pair(scene)
    if pair is None:
        return "", ""
    one, first, two, second = pair
    left, right = one.span(first), two.span(second)
    about = bare_text(f"{left} or {right}")
    if _names_it(two, second):
        return f"{which} {said}, {one.subject_text} or {two.subject_text}", about
    if _is_quantity(two) and not _comes(said):
        before = two.analysis.text[two.words[two.first].start : two.words[second[0]].start]
        after = two.analysis.text[two.words[second[1] - 1].end : two.words[two.end - 1].end]
        return f"{before}{left} or {right}{after}, and {which.lower()} {said}", about
    return f"{which} {said}, {left} or {right}", about


def _comes(said: str) -> bool:
    """ "comes first", "lives longer": said of the things themselves."""
    first = said.split(" ", 1)[0].lower()
    return first not in {"is", "are", "was", "has", "have", "would"}


def _pair(scene: Scene) -> tuple[Question, Span, Question, Span] | None:
    """The newest two questions that differ in one part."""
    for newer, older in pairwise(islice(questions(scene.discourse), 4)):
        found = difference(older, newer)
        if found is not None:
            return older, found.first, newer, found.second
    return None


def _names_it(question: Question, part: Span) -> bool:
    """The part stands in the subject, which is more than the part: "the rate on Term Loans"."""
    first, stop = question.subject
    inside = first <= part[0] and part[1] <= stop
    return inside and (first, stop) != part


def _is_quantity(question: Question) -> bool:
    """How much, how long, when, by what date: something that is more or less than another."""
    words = [w.lower for w in question.words[question.wh[0] : question.wh[1]]]
    counted = any(w in _MEASURES | _AMOUNTS for w in words) and {"how", "what"} & set(words)
    return bool(counted) or "when" in words or any(w.rstrip("s") in _AMOUNTS for w in words)


def _compared(scene: Scene, said: str) -> tuple[str, str]:
    """ "Is that more than in Paris": "that" is what the last question is about."""
    question = last_question(scene.discourse)
    if question is None or not question.copular or question.is_polar or not question.subject_text:
        return "", ""
    verb = "are" if question.is_plural else "is"
    return f"{verb} {question.subject_text} {said}", question.about
