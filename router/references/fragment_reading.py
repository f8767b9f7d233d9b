"""Reads what a message says in place of a whole sentence: "(And) the Trustee?"."""

import re
from typing import Final

from kds.router.discourse.mention import Mention
from kds.router.discourse.mentions import mentions_in
from kds.router.discourse.parallels import NUMBER, Fragment
from kds.router.english import words
from kds.router.language import closed_class as cc
from kds.router.language.words import Analysis, Word
from kds.router.references.rule import Rule
from kds.router.references.scene import Scene, search

SAME_TAIL: Final = re.compile(
    r"\s*(?:(?:[-–—,;:(]+\s*)?\b(?:is (?:it|that) |(?:the |also )*)?(?:the )?same"
    r"(?: (?:rule|thing|deal|question|story|answer|procedure|there|here|applies))?\)?"
    r"|[\s,]+(?:please|pls|too|as well|also|then|though))+\W*$",
    re.I,
)
"""What people say behind a fragment without saying more: "- same rule?", "too?"."""
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
        fragment = _read(scene.analysis, start, start + len(rest.rstrip(" ?.!,")))
        if fragment is not None:
            return fragment, text[:start].strip()
    return None, ""


def _read(analysis: Analysis, start: int, end: int) -> Fragment | None:
    inside = [w for w in analysis.words if w.start >= start and w.end <= end]
    inside = _without_tails(inside)
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
