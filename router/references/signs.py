"""What is known of an edit before it is written: the signs that the decision weighs.

Signs are names and numbers: where a word stands and what it was taken for, how long the messages
are, and where the antecedent's words were said.
"""

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Final

from kds.brain.turn import Edit, Reference, Turn, Utterance
from kds.router.english import words

LONG_WORDS: Final = 15
LONG_TARGET: Final = 3
LONG_BEFORE: Final = 25
BRIEF_WORDS: Final = 6
BRIEF_BEFORE: Final = 10
SHORT_BEFORE: Final = 8
LATE: Final = 5
"""Messages from which on much was talked about that a word may point to."""
TAIL_CHARS: Final = 300
"""The end of a reply: its summary, its options, its question."""

_STOP: Final = words("function_words", "unsaid")
_WORD: Final = re.compile(r"[a-z0-9_./@-]+")
_OWN: Final = re.compile(r"['’]s\b")
_NAMED: Final = re.compile(r"[A-Z_/.@0-9]")
_CODE: Final = re.compile(r"[`{}@/\\_]")

Signs = dict[str, float]


def behind(turn: Turn, edit: Edit) -> Reference | None:
    """The reference that an edit writes out: the one it touches, or the last one before it."""
    touching = (one for one in turn.references if one.start <= edit.end and edit.start <= one.end)
    before = (one for one in reversed(turn.references) if one.end <= edit.start)
    first = turn.references[0] if turn.references else None
    return next(touching, next(before, first))


def edit_signs(turn: Turn, edit: Edit) -> Signs:
    """What is known of an edit before it is written: names and numbers, 0 and 1 for no and yes."""
    reference = behind(turn, edit)
    if reference is None or not reference.rule.startswith(_OF_REPLIES):
        turn = replace(turn, history=())
    text = (reference.target if reference else "") or edit.text.strip(" ,()")
    target = content_words(text)
    found = {**_of_rule(turn, edit, reference), **_of_message(turn.message, edit, target)}
    found |= _of_target(text, target, reference)
    found |= _of_conversation(turn, target)
    found |= _of_kind(found)
    if is_answered(turn):
        found |= {f"{name}, reply known": found.get(name, 0.0) for name in _DIFFERENT}
    return found


READ_CHARS: Final = 8_000
"""Characters of a message that are searched for the antecedent's words, for each edit anew."""

_OF_REPLIES: Final = "answer."
"""Rules that answer the assistant. For the others a reply counts before: where it brings up
something newer nothing is proposed, and where it brings up nothing it says nothing."""

_DIFFERENT: Final = (
    *("kind pron", "kind np", "kind dem", "score", "head in message", "head in last message"),
    *("head in reply", "words", "earlier messages"),
)
"""Signs that weigh differently where the assistant's reply is known."""


def is_answered(turn: Turn) -> bool:
    """Whether the assistant's reply to the last message is known."""
    return bool(turn.history) and turn.history[-1].role == "assistant"


@lru_cache(maxsize=64)
def content_words(text: str) -> tuple[str, ...]:
    """The words of a text that carry meaning, in lower case. Kept: each edit asks for the same."""
    found = (word.strip("./-") for word in _WORD.findall(_OWN.sub("", text.lower())))
    return tuple(word for word in found if word and word not in _STOP)


def _of_rule(turn: Turn, edit: Edit, reference: Reference | None) -> Signs:
    rule = reference.rule if reference else "none"
    return {
        f"kind {rule.partition('.')[0]}": 1.0,
        "score": reference.score if reference else 0.0,
        "unresolved": float(len(turn.unresolved)),
        "several edits": float(len(turn.edits) > 1),
        "far into the message": edit.start / max(1, len(turn.message)),
        "characters before it": math.log1p(edit.start),
    }


def _of_message(message: str, edit: Edit, target: Sequence[str]) -> Signs:
    count = len(message.split())
    others = set(content_words(f"{message[: edit.start]} {message[edit.end : READ_CHARS]}"))
    return {
        "words": math.log1p(count),
        "long": float(count > LONG_WORDS),
        "head in message": float(_head(target) in others),
        "all in message": float(bool(target) and others.issuperset(target)),
        "words before it": math.log1p(len(content_words(message[: edit.start]))),
        "lines": float("\n" in message),
        "code": float(_CODE.search(message) is not None),
        "question": float("?" in message),
    }


def _of_target(text: str, target: Sequence[str], reference: Reference | None) -> Signs:
    repeated = reference is not None and _head(target) in content_words(reference.text)
    return {
        "words of target": float(len(target)),
        "long target": float(len(target) > LONG_TARGET),
        "named target": float(_NAMED.search(text) is not None),
        "capital target": float(text[:1].isupper()),
        "head repeated": float(bool(target) and repeated),
    }


def _of_conversation(turn: Turn, target: Sequence[str]) -> Signs:
    said = _said(turn)
    users = [content_words(one.text) for one in said if one.role == "user"]
    ages = (age for age, words in enumerate(reversed(users)) if _head(target) in words)
    age = next(ages, None)
    last = next((one.text for one in reversed(said) if one.role == "user"), "")
    found = {
        "reply known": float(is_answered(turn)),
        "earlier messages": math.log1p(len(users)),
        "head in last message": float(age == 0),
        "head in message before": float(age == 1),
        "head further back": float(age is not None and age > 1),
        "head nowhere": float(age is None),
        "all in last message": float(bool(users) and set(users[-1]).issuperset(target)),
        "introduced": float(_introduces(last, target)),
        "opened with it": float(len(users) == 1 and _introduces(last, target)),
    }
    lengths = _of_lengths(len(last.split()), len(turn.message.split()))
    return {**found, **lengths, **dict(_of_reply(said, target))}


def _of_kind(found: Signs) -> Signs:
    """What tells more of one kind than of the others. The capital at the start tells nothing: the
    shift key is not evidence.
    """
    pronoun, noun = found.get("kind pron", 0.0), found.get("kind np", 0.0)
    further = 1.0 - found["head in last message"]
    late = float(found["earlier messages"] >= math.log1p(LATE))
    return {
        "late": late,
        "pronoun, late": pronoun * late,
        "pronoun, not in last message": pronoun * further,
        "noun, not in last message": noun * further,
    }


def _of_lengths(before: int, now: int) -> Signs:
    """Words of the last message and of this one: what is said in passing is said briefly."""
    return {
        "words of last message": math.log1p(before),
        "long last message": float(before > LONG_BEFORE),
        "short last message": float(0 < before <= SHORT_BEFORE),
        "both short": float(0 < before <= BRIEF_BEFORE and now <= BRIEF_WORDS),
    }


def is_plain(turn: Turn) -> bool:
    """Whether the talk so far is one of short requests, without code."""
    said = [turn.message, *(one.text for one in _said(turn) if one.role == "user")]
    return all(len(text.split()) <= LONG_WORDS and not _CODE.search(text) for text in said)


def _introduces(message: str, target: Sequence[str]) -> bool:
    """ "I want to add a FAB button" brings up a FAB button, which "the" would take for known."""
    named = re.escape(" ".join(target))
    pattern = rf"\b(?:a|an|another|new)\s+(?:[\w-]+\s+){{0,3}}?{named}\b"
    return bool(target) and re.search(pattern, message.lower()) is not None


def _of_reply(said: Sequence[Utterance], target: Sequence[str]) -> Iterator[tuple[str, float]]:
    reply = next((one.text for one in reversed(said) if one.role == "assistant"), None)
    if reply is None:
        return
    words = content_words(reply)
    yield "head in reply", float(_head(target) in words)
    yield "all in reply", float(set(words).issuperset(target))
    yield "head at the end of the reply", float(_head(target) in content_words(reply[-TAIL_CHARS:]))


def _said(turn: Turn) -> Sequence[Utterance]:
    """What was said before; where only the context tells, with what each message referred to."""
    if turn.history:
        return turn.history
    return [Utterance(f"{one.user_message} {one.context_ref or ''}") for one in turn.context]


def _head(target: Sequence[str]) -> str:
    return target[-1] if target else ""
