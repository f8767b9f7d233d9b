"""Comparisons of what two questions asked: "Which is longer?", "Is that more than in Paris?".

Two questions that differ in one part ask for the same quantity of two things. What is compared
is that quantity: the notice of the Servicer with the notice of the Trustee, not the parties.
"""

import re
from collections.abc import Iterator
from itertools import islice, pairwise
from typing import Final

from kds.brain.turn import Edit, Reference
from kds.router.discourse.differences import difference
from kds.router.discourse.inquiry import last_question, questions
from kds.router.discourse.mention import Mention, is_time
from kds.router.discourse.question import Question, Span
from kds.router.english import words
from kds.router.references.rendering import bare_text, definite
from kds.router.references.rule import Rule
from kds.router.references.scene import Found, Scene, search

_SCORE: Final = 0.8
"""Shown for what two questions settle together, where no antecedents compete."""
_MEASURES: Final = words("qualities", "degrees")
_AMOUNTS: Final = words("nouns", "amounts")
_LIKE_WITH_LIKE: Final = re.compile(
    r"\b(?:than|as|from) (?:(?:the one|that) )?(?:for|in|on|with|at|during|under)\b", re.I
)
""" "higher than for theft": the same of another."""

_OTHER: Final = re.compile(r"\bthe other(?: one)?$", re.I)


def find_comparisons(scene: Scene, rule: Rule) -> Iterator[Found]:
    """Which of the two, and how the last one compares with one more."""
    text = scene.analysis.text
    match = next(
        (m for p in rule.signal.cues if (m := search(p, text)) is not None and m.start() == 0), None
    )
    if match is None or " or " in text.lower():
        return
    said = match["said"].strip().rstrip(" ?.!")
    which = match.groupdict().get("which")
    written = _alternatives(scene, which, said) if which else _compared(scene, said)
    about = _about(scene) if which else ""
    if written:
        opening = written[0].upper() if text[:1].isupper() else written[0]
        yield _whole(scene, rule, f"{opening}{written[1:]}?", about)


def _alternatives(scene: Scene, which: str, said: str) -> str:
    """ "Which is longer" with the two things, "" when no two questions vary one thing."""
    pair = _pair(scene)
    if pair is None:
        return ""
    one, first, two, second = pair
    left, right = one.span(first), two.span(second)
    if _names_it(two, second):
        return f"{which} {said}, {one.subject_text} or {two.subject_text}"
    if _is_quantity(two) and not _comes(said):
        start = two.fronted[0] if two.fronted[0] < two.fronted[1] else two.start
        before = two.analysis.text[two.words[start].start : two.words[second[0]].start]
        after = two.analysis.text[two.words[second[1] - 1].end : two.words[two.end - 1].end]
        return f"{before}{left} or {right}{after}, and {which.lower()} {said}"
    return f"{which} {said}, {left} or {right}"


def _comes(said: str) -> bool:
    """ "comes first", "lives longer": said of the things themselves."""
    first = said.split(" ", 1)[0].lower()
    return first not in {"is", "are", "was", "has", "have", "of", "one", "would", "notice"}


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


def _compared(scene: Scene, said: str) -> str:
    """ "Is that more than in Paris": with what "that" is."""
    question = last_question(scene.discourse)
    if question is None:
        return ""
    copular = question.copular and question.subject[0] < question.subject[1]
    measured = [w.lower for w in question.words[question.wh[0] : question.wh[1]]]
    named = copular and measured[:1] in (["what"], ["how"], ["when"])
    if named and (_is_quantity(question) or _of_amount(question) or _LIKE_WITH_LIKE.search(said)):
        verb = "are" if question.is_plural else "is"
        return f"{verb} {question.subject_text} {_OTHER.sub(lambda m: _other(scene) or m[0], said)}"
    if _is_quantity(question):
        return f"{question.text}, and is that {said}"
    return ""


def _other(scene: Scene) -> str:
    """What "the other one" is: the earlier of two that were asked about, or of two of a kind."""
    asked = _pair(scene)
    if asked is not None and _names_it(asked[0], asked[1]):
        return asked[0].subject_text
    pair = _pair_of_a_kind(scene)
    return definite(pair[0]) if pair is not None else ""


def _of_amount(question: Question) -> bool:
    mention = question.subject_mention
    return mention is not None and mention.head.lower() in _AMOUNTS


def _about(scene: Scene) -> str:
    """The two things, as the context remembers them."""
    pair = _pair(scene)
    if pair is None:
        return ""
    one, first, two, second = pair
    return bare_text(f"{one.span(first)} or {two.span(second)}")


def _whole(scene: Scene, rule: Rule, text: str, about: str) -> Found:
    message = scene.analysis.text
    question = last_question(scene.discourse)
    about = about or (question.about if question is not None else message)
    return Found(
        (Reference(message, 0, len(message), about, rule.id, _SCORE),),
        (Edit(0, len(message), text),),
        f"'{message}' compares what was asked before ({rule.id}) -> '{text}'",
        whole=True,
    )


def _pair_of_a_kind(scene: Scene) -> tuple[Mention, Mention] | None:
    """The newest two things of one kind that something in front tells apart, oldest first."""
    newest: Mention | None = None
    for mention in scene.discourse.mentions():
        if mention.parts or mention.reply or is_time(mention) or not mention.modifiers:
            continue
        if newest is None:
            newest = mention if mention.topic else None
        elif mention.head == newest.head and not mention.same_thing(newest):
            return mention, newest
    return None
