"""Reads what a message says in place of a whole sentence: "(And) the Trustee?", "a paid one"."""

import re
from typing import Final

from kds.router.discourse.inquiry import last_question
from kds.router.discourse.mention import Mention
from kds.router.discourse.mentions import is_of_people, mentions_in
from kds.router.discourse.parallels import NUMBER, Fragment
from kds.router.discourse.question_slots import HEADLESS
from kds.router.english import English, words
from kds.router.language import closed_class as cc
from kds.router.language.lexicon import is_plural, readings
from kds.router.language.words import Analysis, Number, Word
from kds.router.references.rule import Rule
from kds.router.references.scene import Scene, search

SAME_TAIL: Final = re.compile(
    r"\s*(?:(?:[-–—,;:(]+\s*)?\b(?:is (?:it|that) |(?:the |also )*)?(?:the )?same"
    r"(?: (?:rule|thing|deal|question|story|answer|procedure|there|here|applies))?\)?"
    r"|[\s,]+(?:please|pls|too|as well|also|then|though))+\W*$",
    re.I,
)
"""What people say behind a fragment without saying more: "- same rule?", "too?"."""
ADDRESSED: Final = frozenset({"you", "we"})
""" "Can you build it?" + "and test?": a request, which goes on with a verb."""
_EMPTY_ADVERBS: Final = cc.WH | words("function_words", "empty_adverbs")


def read_fragment(scene: Scene, rule: Rule) -> tuple[Fragment | None, str]:
    """The part behind the cue, when it is one phrase (with or without a preposition)."""
    text = scene.analysis.text
    for pattern in rule.signal.cues:
        match = search(pattern, text)
        if match is None or match.start() != 0:
            continue
        groups = match.groupdict()
        rest = groups.get("rest") or text[match.end() :]
        start = text.rfind(rest) if rest else len(text)
        tail = SAME_TAIL.search(rest)
        rest = rest[: tail.start()] if tail is not None and rule.signal.kind == "question" else rest
        question = last_question(scene.discourse) if rule.signal.kind == "question" else None
        asked = question is not None and question.subject_text.lower() not in ADDRESSED
        fragment = _read(scene.analysis, start, start + len(rest.rstrip(" ?.!,")), asked=asked)
        if fragment is not None:
            return fragment, text[:start].strip()
    return None, ""


def _read(analysis: Analysis, start: int, end: int, *, asked: bool = False) -> Fragment | None:
    inside = [w for w in analysis.words if w.start >= start and w.end <= end]
    inside = _without_tails(inside)
    headless = _headless(inside)
    if headless is not None:
        return headless
    if asked and _stand_alone(inside) and _may_name(inside[0]):
        return _named(inside, analysis.english)
    if not inside or any(_belongs_to_a_clause(w, inside[-1]) for w in inside):
        return None
    prep = inside[0].lower if inside[0].pos == "ADP" else ""
    body = inside[1:] if prep else inside
    if len(body) == 1 and body[0].pos == "ADV" and body[0].lower not in _EMPTY_ADVERBS:
        return Fragment(body[0].text, None, prep, "")
    if not body or body[0].pos == "ADV":
        return None
    moved = any(w.pos == "ADP" and w.lower in {"to", "into", "as"} for w in body[1:])
    if moved and not analysis.text.rstrip().endswith("?"):
        return None  # "and the indexer to 4 GB" says what to do
    text = analysis.text[body[0].start : body[-1].end]
    phrase = analysis.phrase_at.get(body[0].i)
    label = analysis.label(body[0].i, body[-1].i + 1) or _number_label(body)
    if phrase is None:
        return Fragment(text, None, prep, label) if label and len(body) <= 3 else None
    if phrase.start < body[0].i:
        return None
    mention = _mention_at(analysis, phrase.start)
    return Fragment(text, mention, prep, label) if mention is not None else None


def _without_tails(inside: list[Word]) -> list[Word]:
    while inside and inside[-1].lower in {"too", "also", "then", "instead", "please", "well", "as"}:
        inside.pop()
    while inside and inside[0].text in {",", "-", "–", "—"}:
        inside.pop(0)
    return inside


def _stand_alone(inside: list[Word]) -> bool:
    """One word, or one with its number ("version 4")."""
    numbered = len(inside) == 2 and inside[1].text.isdigit()
    return numbered or (len(inside) == 1 and (inside[0].tag != "VBG" or inside[0].i > 0))


def _may_name(word: Word) -> bool:
    """ "storm", "PUT", "snowboarding": read as a verb for want of a sentence around it."""
    if word.pos != "VERB":
        return False
    capitals = len(word.text) > 1 and word.text.isupper()
    return word.tag == "VBG" or capitals or bool(readings(word.lower).noun)


def _named(inside: list[Word], english: English) -> Fragment:
    """The word as the thing that it names."""
    word = inside[0]
    text = word.text if word.text[1:].isupper() else word.lower
    number: Number = "pl" if is_plural(word.text, english) and word.tag != "VBG" else "sg"
    text = " ".join([text, *(w.text for w in inside[1:])])
    mention = Mention(
        text=text,
        determiner="",
        head=word.lower,
        head_text=text.split(" ", 1)[0],
        modifiers=(),
        number=number,
        role="none",
        prep="",
        verb="",
        mood="fragment",
        subordinate=False,
        turn=0,
        start=word.i,
        end=inside[-1].i + 1,
        people=is_of_people(word.lower, english),
        group=word.lower in english.people["groups"],
    )
    return Fragment(text, mention, "", "")


def _headless(inside: list[Word]) -> Fragment | None:
    """ "a paid one", "the second": the noun stands in the question."""
    prep = inside[0].lower if inside and inside[0].pos == "ADP" else ""
    body = inside[1:] if prep else inside
    ends = len(body) > 1 and body[-1].lower in {"one", "ones"}
    said = body[:-1] if ends else body
    plural = ends and body[-1].lower == "ones"
    determined = len(said) > 1 and said[0].pos == "DET"
    if not (determined or plural) or said[0].lower in cc.WH | {"every", "no", "other"}:
        return None
    qualities = {"ADJ", "NUM", "NOUN", "PROPN"} if ends else {"ADJ", "NUM"}
    if any(
        w.pos not in qualities or w.lower in {"other", "same", "others"} for w in said[determined:]
    ):
        return None
    return Fragment(" ".join(w.text for w in said), None, prep, HEADLESS, plural)


def _belongs_to_a_clause(word: Word, last: Word) -> bool:
    """A verb or pronoun; not "furnished" of "a furnished unit"."""
    participle = word.tag in {"VBN", "VBG"} and word.pos == "VERB" and word is not last
    return word.pos in {"VERB", "AUX", "PRON", "SCONJ"} and not word.kind and not participle


def _number_label(body: list[Word]) -> str:
    return NUMBER if all(word.pos == "NUM" for word in body) else ""


def _mention_at(analysis: Analysis, start: int) -> Mention | None:
    """None for phrases that name nothing by themselves ("the others")."""
    found = (m for m in mentions_in(analysis, 0) if m.start == start and not m.parts)
    return next(found, None)
