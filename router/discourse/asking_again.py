"""A question asked again with something else in one of its places."""

from dataclasses import replace

from kds.router.discourse.mention import Mention
from kds.router.discourse.parallels import Fragment, Slot, substitute
from kds.router.discourse.question import Question
from kds.router.discourse.question_slots import slot_at
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
    first = question.fronted[0] if question.fronted[0] < question.fronted[1] else question.start
    if question.indirect:
        first = 0
    tail = len(question.analysis.text) - words[question.end - 1].end
    cut = text[words[first].start : len(text) - tail] if tail else text[words[first].start :]
    mark = question.analysis.text[words[question.end - 1].end :][:1]
    aux = question.aux
    if aux is not None and slot.start == words[question.subject[0]].start and not governed:
        cut = _agree(cut, words[aux], words[first].start, fragment)
    return cut + (mark if mark in {"?", "."} else "")


def asked_of_another(question: Question, fragment: Fragment) -> str:
    """ "a paid one" after "with a free key": the question with "a paid key"; "" when unclear."""
    words = question.words
    pool = [m for m in question.mentions if m.determiner not in cc.WH and not m.parts]
    governed = [m for m in pool if fragment.prep and m.prep == fragment.prep]
    fitting = [m for m in (governed if fragment.prep else pool) if _told_apart(words, m)]
    number = "pl" if fragment.plural else "sg"
    fitting = [m for m in fitting if m.number == number] or fitting
    alike = [m for m in fitting if words[_quality(words, m) - 1].pos in {"ADJ", "NUM"}]
    mention = next(iter(alike or fitting), None)
    if mention is None and fragment.plural:
        mention = next((m for m in pool if m.number == "pl" and not m.prep), None)
    if mention is None:
        return ""
    noun = question.analysis.span(_quality(words, mention), mention.end)
    named = Fragment(f"{fragment.text} {noun}", mention, fragment.prep, "")
    return asked_again(question, slot_at(question, mention), named)


def _told_apart(words: tuple[Word, ...], mention: Mention) -> bool:
    """True for a phrase with something in front of its noun."""
    return sum(words[i].pos != "DET" for i in range(mention.start, mention.end)) > 1


def _quality(words: tuple[Word, ...], mention: Mention) -> int:
    """First word of a phrase behind what tells it from others of its kind."""
    start = mention.start
    while start < mention.end - 1 and words[start].pos == "DET":
        start += 1
    told = start
    while told < mention.end - 1 and words[told].pos in {"ADJ", "NUM"}:
        told += 1
    return told if told > start else min(start + 1, mention.end - 1)


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
