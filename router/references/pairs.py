"""Two things that were talked about: "both", "the latter", "which is longer".

Two questions that differ in one part ask for the same quantity of two things. What is compared
is that quantity: the notice of the Servicer with the notice of the Trustee, not the parties.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice, pairwise
from typing import Final

from kds.router.discourse.mentions import Mention, is_time
from kds.router.discourse.questions import Question, difference, last_question, questions
from kds.router.english import words
from kds.router.language import closed_class as cc
from kds.router.language.lexicon import is_plural, readings
from kds.router.language.words import Role
from kds.router.references.rendering import bare_text, definite
from kds.router.references.ruleset import Rule
from kds.router.references.scene import (
    Found,
    Scene,
    Span,
    covered,
    cued,
    rewritten,
    search,
    written,
)

_VERBAL: Final = frozenset({"VERB", "AUX"})
_DIRECTIONS: Final = cc.PARTICLES | frozenset("forward forwards backward backwards".split())
_COPULAS: Final = frozenset({"is", "are", "was", "has", "have", "would"})
_MEASURES: Final = words("qualities", "degrees")
_AMOUNTS: Final = words("nouns", "amounts")


def find_pairs(scene: Scene, rule: Rule) -> Iterator[Found]:
    """ "Print both", "go with the latter": of two things by the group of the cue that matches."""
    text = scene.analysis.text
    for match in (search(pattern, text) for pattern in rule.signal.cues):
        kind = match.lastgroup if match is not None else None
        if match is None or kind is None or covered(rule, text, *match.span(kind)):
            continue
        start, end = match.span(kind)
        last = next(w.i for w in reversed(scene.words) if w.start < end)
        if _names_them(scene, last) or (pair := _pair(scene, rule.antecedent.max_age)) is None:
            continue
        if kind == "other":
            last_named = scene.discourse.last.mentions
            named = [any(part.same_thing(m) for m in last_named) for part in pair]
            if sum(named) != 1 or not pair[0].grouped:
                continue
            one = definite(pair[named.index(False)])
            yield written(scene, rule, (start, end), one, bare_text(one), sole=True)
            continue
        if kind in {"former", "latter"}:
            one = definite(pair[kind == "latter"])
            yield written(scene, rule, (start, end), one, bare_text(one))
            continue
        said = (" or " if kind == "either" else " and ").join(map(definite, pair))
        opening = "" if kind == "them" else f"{kind} "
        sole = kind == "both"
        yield written(scene, rule, (start, end), opening + said, bare_text(said), sole=sole)


def _names_them(scene: Scene, i: int) -> bool:
    """Whether the noun stands behind: "both tests", "the latter file"; not "make both bold"."""
    phrase = scene.analysis.phrase_at.get(i)
    if phrase is None or phrase.end == i + 1 or scene.pos(i + 1) == "NUM":
        return False
    head = scene.words[phrase.head]
    alone = scene.lower(i) == "both" and phrase.end == i + 2 and scene.lower(phrase.end) != "and"
    return not alone or head.pos != "NOUN" or is_plural(head.text, scene.analysis.english)


def find_comparisons(scene: Scene, rule: Rule) -> Iterator[Found]:
    """Which of the two, and how the last one compares with one more."""
    text, question = scene.analysis.text, last_question(scene.discourse)
    match = cued(rule, text, at_start=True)
    if match is None or " or " in text.lower():
        return
    said = match["said"].strip(" ?.!")
    if which := match.groupdict().get("which"):
        if not _begins_with_verb(scene, match.start("said")):
            return
        if found := _alternatives(scene, which, said):
            yield rewritten(scene, rule, *found)
        elif pair := _pair(scene, rule.antecedent.max_age):
            either = " or ".join(map(definite, pair))
            told = f"which {said}, {either}?"
            yield rewritten(scene, rule, told, bare_text(either), match.span("which"))
    elif question is not None and question.subject_text and not question.is_polar:
        # "Is that more than in Paris": "that" is what the last question is about
        if question.copular:
            be = "are" if question.is_plural else "is"
            asked = f"{be} {question.subject_text} {said}?"
            yield rewritten(scene, rule, asked, question.about)
        elif _is_quantity(question):
            asked = f"{question.text}, and is that {said}?"
            yield rewritten(scene, rule, asked, question.about)


def _begins_with_verb(scene: Scene, offset: int) -> bool:
    """Also "comes" of "which comes first", tagged as a noun where no verb is."""
    words = [w for w in scene.words if w.start >= offset]
    if words[0].pos in _VERBAL:
        return True
    verbless = words[0].pos == "NOUN" and not any(w.pos in _VERBAL for w in scene.words)
    return verbless and len(words) > 2 and bool(readings(words[0].lemma).verb)


def _alternatives(scene: Scene, which: str, said: str) -> tuple[str, str] | None:
    """ "Which is longer" with the two things, which the context remembers, and these; None when
    no two of the last questions vary one thing.
    """
    for two, one in pairwise(islice(questions(scene.discourse), 4)):
        found = difference(one, two)
        if found is None:
            continue
        left, right = one.span(found.first), two.span(second := found.second)
        about = bare_text(f"{left} or {right}")
        first, stop = two.subject
        if first <= second[0] and second[1] <= stop and (first, stop) != second:
            return f"{which} {said}, {one.subject_text} or {two.subject_text}?", about
        of_things = said.split(" ", 1)[0].lower() not in _COPULAS  # "comes first", "lives longer"
        if of_things or not _is_quantity(two):
            return f"{which} {said}, {left} or {right}?", about
        text, words = two.analysis.text, two.words
        before = text[words[two.first].start : words[second[0]].start]
        after = text[words[second[1] - 1].end : words[two.end - 1].end]
        return f"{before}{left} or {right}{after}, and {which.lower()} {said}?", about
    return None


def _is_quantity(question: Question) -> bool:
    """How much, how long, when, by what date: something that is more or less than another."""
    words = {w.lower for w in question.words[slice(*question.wh)]}
    counted = bool(words & (_MEASURES | _AMOUNTS)) and bool({"how", "what"} & words)
    return counted or "when" in words or any(w.rstrip("s") in _AMOUNTS for w in words)


def _pair(scene: Scene, max_age: int) -> tuple[Mention, Mention] | None:
    """The two things listed together last, else what the last two questions differ in, else the
    last two main things, where they are parallel.
    """
    mains: list[Mention] = []
    for moment in list(reversed(scene.discourse.moments))[: max_age + 1]:
        for group in reversed(moment.mentions):
            # "back or forward" and "up and down" list no things
            if len(group.parts) == 2 and all(p.head not in _DIRECTIONS for p in group.parts):
                return group.parts[0], group.parts[1]
        if moment is scene.discourse.last and (pair := varied(scene)):
            return pair
        main = main_thing(moment.mentions, ("obj", "subj", "none", "pobj"))
        if main is not None and not any(main.same_thing(known) for known in mains):
            mains.append(main)
        if len(mains) == 2 and _are_parallel(*mains):
            return mains[1], mains[0]
    return None


def _are_parallel(one: Mention, other: Mention) -> bool:
    """ "Create a navbar", "Create a footer": the same is done to both, or both are new."""
    same_deed = one.role == other.role != "none" and one.verb == other.verb
    return same_deed or (one.brought_up and other.brought_up)


def varied(scene: Scene) -> tuple[Mention, Mention] | None:
    """What the last two questions differ in, when that is a whole thing in each."""
    asked = list(islice(questions(scene.discourse), 2))
    found = difference(asked[1], asked[0]) if len(asked) == 2 else None
    if found is None:
        return None
    first, second = _whole(asked[1], found.first), _whole(asked[0], found.second)
    return (first, second) if first is not None and second is not None else None


def _whole(question: Question, part: Span) -> Mention | None:
    """The thing that stands there, or the subject when that is more than it."""
    subject = question.subject_mention
    start, stop = question.subject
    if subject is not None and start <= part[0] and part[1] <= stop:
        return replace(subject, text=bare_text(question.subject_text))
    return next((m for m in question.mentions if m.end == part[1] and not m.parts), None)


def main_thing(mentions: Sequence[Mention], roles: Sequence[Role]) -> Mention | None:
    """What a message is mainly about: the first thing with the first of these roles."""
    things = [m for m in mentions if not is_time(m) and not m.parts]
    plain = [
        m for m in things
        if m.role in roles and not m.subordinate and m.head not in _DIRECTIONS
    ]  # fmt: skip
    return min(plain, key=lambda m: roles.index(m.role), default=next(iter(things), None))
