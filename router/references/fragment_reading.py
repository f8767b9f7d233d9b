"""Reads what a message says in place of a whole sentence: "(And) the Trustee?", "a paid one"."""

import re
from typing import Final

from kds.router.discourse.inquiry import last_question
from kds.router.discourse.mention import Mention
from kds.router.discourse.mentions import is_of_people, mentions_in
from kds.router.discourse.parallels import NUMBER, Fragment
from kds.router.discourse.question_slots import HEADLESS
from kds.router.english import words
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
_ONES: Final = frozenset({"one", "ones"})
_VAGUE: Final = cc.WH | {"every", "no", "other", "others", "same"}


def read_fragment(scene: Scene, rule: Rule) -> tuple[Fragment | None, str]:
    """The part behind the cue, when it is one phrase (with or without a preposition)."""
    text = scene.analysis.text
    asks = rule.signal.kind == "question"
    read = _behind_question if asks else _phrase
    found = (search(pattern, text) for pattern in rule.signal.cues)
    for match in (m for m in found if m is not None and m.start() == 0):
        rest = match.groupdict().get("rest") or text[match.end() :]
        start = text.rfind(rest)
        rest = SAME_TAIL.sub("", rest) if asks else rest
        inside = _inside(scene.analysis, start, start + len(rest.rstrip(" ?.!,")))
        fragment = read(scene, inside)
        if fragment is not None:
            return fragment, text[:start].strip()
    return None, ""


def _behind_question(scene: Scene, inside: list[Word]) -> Fragment | None:
    """What may be less than a phrase."""
    return _headless(inside) or _phrase(scene, inside) or _named(scene, inside)


def _inside(analysis: Analysis, start: int, end: int) -> list[Word]:
    """The words between two characters, without "too" behind them and dashes in front."""
    inside = [w for w in analysis.words if w.start >= start and w.end <= end]
    while inside and inside[-1].lower in {"too", "also", "then", "instead", "please", "well", "as"}:
        inside.pop()
    while inside and inside[0].text in {",", "-", "–", "—"}:
        inside.pop(0)
    return inside


def _governed(inside: list[Word]) -> tuple[str, list[Word]]:
    """The preposition in front, else "", and what stands behind it."""
    governed = bool(inside) and inside[0].pos == "ADP"
    return inside[0].lower if governed else "", inside[governed:]


def _headless(inside: list[Word]) -> Fragment | None:
    """ "a paid one", "the second": the noun stands in the question."""
    prep, body = _governed(inside)
    last = body[-1].lower if len(body) > 1 else ""
    said = body[: len(body) - (last in _ONES)]
    determined = len(said) > 1 and said[0].pos == "DET"
    qualities = {"ADJ", "NUM", "NOUN", "PROPN"} if last in _ONES else {"ADJ", "NUM"}
    if not (determined or last == "ones") or any(w.pos not in qualities for w in said[determined:]):
        return None
    text = " ".join(w.text for w in said)
    return None if _is_vague(text) else Fragment(text, None, prep, HEADLESS, last == "ones")


def _is_vague(text: str) -> bool:
    """ "the other ones", "which one"."""
    return not _VAGUE.isdisjoint(text.lower().split())


def _phrase(scene: Scene, inside: list[Word]) -> Fragment | None:
    """A noun phrase, a value or an adverb."""
    analysis = scene.analysis
    if not inside or any(_belongs_to_a_clause(w, inside[-1]) for w in inside):
        return None
    prep, body = _governed(inside)
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


def _named(scene: Scene, inside: list[Word]) -> Fragment | None:
    """ "storm", "PUT", "snowboarding": read as a verb for want of a sentence around it."""
    question, english = last_question(scene.discourse), scene.analysis.english
    if question is None or question.subject_text.lower() in ADDRESSED or len(inside) != 1:
        return None
    word = inside[0]
    if not _may_name(word):
        return None
    text = word.text if word.in_capitals else word.lower
    number: Number = "pl" if is_plural(word.text, english) and word.tag != "VBG" else "sg"
    mention = Mention(
        text=text,
        determiner="",
        head=word.lower,
        head_text=text,
        modifiers=(),
        number=number,
        role="none",
        prep="",
        verb="",
        mood="fragment",
        subordinate=False,
        turn=0,
        start=word.i,
        end=word.i + 1,
        people=is_of_people(word.lower, english),
        group=word.lower in english.people["groups"],
    )
    return Fragment(text, mention, "", "")


def _may_name(word: Word) -> bool:
    doing = word.tag == "VBG" and word.i > 0
    noun = doing or word.in_capitals or bool(readings(word.lower).noun)
    return word.pos == "VERB" and noun


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
