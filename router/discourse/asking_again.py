"""A question asked again with something else in one of its places."""

from dataclasses import replace

from kds.router.discourse.parallels import Fragment, Slot, substitute
from kds.router.discourse.question import Question
from kds.router.language import closed_class as cc
from kds.router.language.inflection import agreeing
from kds.router.language.words import Word


def asked_again(question: Question, slot: Slot, fragment: Fragment) -> str:
    """The question with the slot filled by the fragment, without what stood around it."""
    governed = slot.outer < slot.start
    given = fragment if governed else Fragment(fragment.text, fragment.mention, "", fragment.label)
    words = question.words
    slot = _with_article(words, slot, fragment)
    text = substitute(question.analysis, slot, given)
    first = 0 if question.indirect else question.first
    tail = len(question.analysis.text) - words[question.end - 1].end
    cut = text[words[first].start : len(text) - tail] if tail else text[words[first].start :]
    mark = question.analysis.text[words[question.end - 1].end :][:1]
    aux = question.aux
    if aux is not None and slot.start == words[question.subject[0]].start and not governed:
        cut = _agree(cut, words[aux], words[first].start, fragment)
    return cut + (mark if mark in {"?", "."} else "")


def _with_article(words: tuple[Word, ...], slot: Slot, fragment: Fragment) -> Slot:
    """An article before the slot goes when the fragment brings its own."""
    before = next((w for w in words if w.end == slot.start - 1), None)
    brings = fragment.text.split(" ", 1)[0].lower() in cc.ARTICLES | cc.POSSESSIVES
    if before is None or not brings or before.lower not in cc.ARTICLES | cc.POSSESSIVES:
        return slot
    outer = min(slot.outer, before.start)
    return replace(slot, start=before.start, outer=outer)


def _agree(text: str, aux: Word, offset: int, fragment: Fragment) -> str:
    mention = fragment.mention
    if mention is None or aux.start < offset:
        return text
    start, end = aux.start - offset, aux.end - offset
    form = agreeing(text[start:end], plural=mention.number == "pl")
    return text[:start] + form + text[end:]
