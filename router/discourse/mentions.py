"""The mentions of a message: its noun phrases, as far as they are things."""

from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from typing import Final

from kds.router.discourse.center import is_topic
from kds.router.discourse.mention import Mention
from kds.router.discourse.purport import brings_up, mood_of
from kds.router.english import English, words
from kds.router.language.lexicon import forms, readings, singular
from kds.router.language.names import is_name_like, is_person, is_person_like
from kds.router.language.words import Analysis, Phrase

KEPT: Final = 512
"""Analyses whose mentions are kept; twice as many as there are analyses in the language layer."""

_COMPLEMENTING: Final = frozenset("of on for to against about over between".split())
"""Prepositions that say what a limit, a fee or a discount is of, and not where it is."""
_NAMING: Final = frozenset("called named titled labelled".split())
_REPLACING: Final = {
    "replace": ("with", "by"),
    "swap": ("for", "with"),
    "rename": ("to", "as"),
    "turn": ("into",),
}
"""Verbs whose prepositional object is the thing there is afterwards."""


@lru_cache(maxsize=KEPT)
def mentions_in(analysis: Analysis, turn: int) -> tuple[Mention, ...]:
    """Every mention of an analysed message, in text order; coordinations come as one more."""
    found = _first_mentions(analysis)
    return tuple(replace(mention, turn=turn) for mention in found) if turn else found


@lru_cache(maxsize=KEPT)
def _first_mentions(analysis: Analysis) -> tuple[Mention, ...]:
    """The mentions as of turn 0. Kept, because each turn looks at the same messages again."""
    singles = [_mention(analysis, phrase, 0) for phrase in analysis.phrases]
    own = [
        m
        for m in singles
        if not _names_the_one_before(analysis, m) and _is_thing(m) and not _is_split(analysis, m)
    ]
    return tuple(own) + tuple(_groups(analysis, singles))


_EMPTY: Final = words("nouns", "empty")
_POINTING: Final = words("nouns", "pointing")

LONGEST: Final = 6
"""Words of a thing. What is longer is a clause that was read as one: none of the antecedents that
people accept in the dev chats is longer, and every right edit there has fewer."""

SHORT: Final = 3
"""Letters of a word that no lexicon has and is not a thing: "u", "nt", "pls". Longer unknown words
are as often the name of a thing."""

FEW: Final = 2
"""Unknown words that a name may have: "fastify swagger"; with more of them it is a foreign text."""

_PAIRED: Final = ("`", '"')


def _is_thing(mention: Mention) -> bool:
    """No clause, nothing across lines or half in quotes, and no word that nobody knows: "u"; nor
    a verb in the past: "configured" of "where is that configured".
    """
    if mention.head in _EMPTY or _is_torn(mention.text) or _is_foreign(mention):
        return False
    return _POINTING.isdisjoint(mention.modifiers) and _is_nominal(mention)


def _is_nominal(mention: Mention) -> bool:
    if mention.kind or mention.label or not mention.head_text.islower():
        return True
    word = readings(mention.head)
    if word.known:  # the lexicon has "bar" as a verb alone: only what is inflected is surely one
        return bool(word.noun) or word.verb in {"", mention.head} or mention.head.endswith("ing")
    return bool(mention.determiner) or len(mention.head) > SHORT


def _is_torn(text: str) -> bool:
    """A clause, or a piece of one: across lines, half in quotes or brackets, or too long."""
    halves = any(text.count(mark) % 2 for mark in _PAIRED) or text.count("(") != text.count(")")
    return halves or "\n" in text or len(text.split()) > LONGEST


def _is_foreign(mention: Mention) -> bool:
    """ "füge einen Knopf": more than two words that no lexicon has, and no article."""
    if mention.determiner or mention.label:
        return False
    said = [*mention.modifiers, mention.head]
    unknown = sum(word.isalpha() and not readings(word).known for word in said)
    return unknown > FEW and unknown * 2 > len(said)


def _is_split(analysis: Analysis, mention: Mention) -> bool:
    """ "d command" of "the id command", where "id" was read as "I'd"."""
    if not mention.start:
        return False
    before, first = analysis.words[mention.start - 1 : mention.start + 1]
    return before.end == first.start and before.text.isalpha() and first.text.isalpha()


def _names_the_one_before(analysis: Analysis, mention: Mention) -> bool:
    """ "docs/adr" of "a folder called docs/adr" is a name, not a second thing."""
    return mention.start > 0 and analysis.words[mention.start - 1].lower in _NAMING


def _mention(analysis: Analysis, phrase: Phrase, turn: int) -> Mention:
    words = analysis.words
    head = words[phrase.head]
    clause = analysis.clauses[phrase.clause]
    verb = words[phrase.verb].lemma if phrase.verb is not None else ""
    named = bool(head.kind) or head.pos == "PROPN"
    label, canonical = _entity(analysis, phrase)
    text = _text(analysis, phrase)
    noun, english = head.lower if named else singular(head.lower), analysis.english
    topic = is_topic(analysis, phrase)
    introduced = topic and phrase.role == "none" and verb == "be"  # "there is a lift"
    return Mention(
        text=_asked_quality(analysis, phrase)
        + text
        + _complement(analysis, phrase, introduced) * topic,
        determiner="the" if introduced else phrase.determiner,
        head=noun,
        head_text=head.text,
        modifiers=tuple(w.lower for w in words[phrase.core : phrase.head]),
        number=phrase.number,
        role="subj" if introduced else phrase.role,
        prep=phrase.prep,
        verb=verb,
        mood=mood_of(analysis, clause),
        subordinate=clause.subordinate,
        turn=turn,
        start=phrase.start,
        end=phrase.end,
        compound=_compound(analysis, phrase),
        kind=head.kind,
        label=label,
        canonical=canonical,
        name=_name(analysis, phrase),
        called=_is_called(analysis, phrase),
        person=is_person(analysis, phrase, label),
        people=is_of_people(noun, english),
        group=noun in english.people["groups"],
        beside_subject=any(
            p.clause == phrase.clause and p.role == "subj" and p.end <= phrase.start
            for p in analysis.phrases
        ),
        topic=topic,
        grouped=phrase.group >= 0,
        negated=_is_negated(analysis, phrase),
        name_like=is_name_like(analysis, phrase, label),
        person_like=is_person_like(analysis, phrase),
        result=_is_result(phrase, verb),
        brought_up=brings_up(analysis, phrase),
    )


def _complement(analysis: Analysis, phrase: Phrase, introduced: bool) -> str:
    """ " on liability" of "there is a cap on liability", " of a queue" of "the attic of a queue":
    what tells it from others of its kind.
    """
    said = [word.lower for word in analysis.words[phrase.end : phrase.end + 2]]
    of_one = phrase.determiner == "the" and said in (["of", "a"], ["of", "an"])
    follower = next((p for p in analysis.phrases if p.start == phrase.end + 1), None)
    if follower is None or follower.prep not in _COMPLEMENTING or not (introduced or of_one):
        return ""
    return f" {analysis.span(phrase.end, follower.end)}"


def _text(analysis: Analysis, phrase: Phrase) -> str:
    """The phrase without its determiner, and without the capital of a sentence start."""
    text = analysis.span(phrase.core, phrase.end)
    first = analysis.words[phrase.core]
    opens = first.i == 0 or analysis.words[first.i - 1].text in {".", "!", "?"}
    if not opens or first.pos == "PROPN" or not first.text[1:].islower():
        return text
    usual = analysis.english.preferences
    common = first.lower in usual["noun_first"] | usual["adjective_first"] or first.lower in forms()
    longer = phrase.end - phrase.core > 1
    return text[0].lower() + text[1:] if common or longer else text


def _asked_quality(analysis: Analysis, phrase: Phrase) -> str:
    """ "flaky " of "which tests are flaky?": later on they are the flaky tests."""
    rest = [w for w in analysis.words[phrase.end : phrase.end + 3] if w.pos != "ADV"][:2]
    asked = phrase.determiner in {"which", "what"} and [w.pos for w in rest] == ["AUX", "ADJ"]
    return f"{rest[1].text} " if asked and rest[0].lemma == "be" else ""


def _entity(analysis: Analysis, phrase: Phrase) -> tuple[str, str]:
    for first, stop, label, canonical in analysis.entities:
        if stop == phrase.head + 1 and first >= phrase.start:
            return label, canonical
    return "", ""


def _compound(analysis: Analysis, phrase: Phrase) -> str:
    start = phrase.head
    while start > phrase.core and analysis.words[start - 1].pos in {"NOUN", "PROPN"}:
        start -= 1
    return analysis.span(start, phrase.head + 1)


def _name(analysis: Analysis, phrase: Phrase) -> str:
    words = analysis.words
    if phrase.end > phrase.head + 1 and words[phrase.end - 1].kind:
        return words[phrase.end - 1].text
    if _is_called(analysis, phrase):
        return words[phrase.end + 1].text
    return ""


def _is_called(analysis: Analysis, phrase: Phrase) -> bool:
    """ "a folder called legacy"; not "the officer called in the morning"."""
    follows = analysis.words[phrase.end : phrase.end + 2]
    return (
        len(follows) == 2
        and follows[0].lower in _NAMING
        and follows[1].pos in {"NOUN", "PROPN", "VERB"}
    )


def _is_negated(analysis: Analysis, phrase: Phrase) -> bool:
    before = analysis.words[phrase.start - 1].lower if phrase.start else ""
    return before == "not" or phrase.prep in {"instead of", "without", "except", "despite"}


def _is_result(phrase: Phrase, verb: str) -> bool:
    return phrase.role == "pobj" and phrase.prep in _REPLACING.get(verb, ())


def _groups(analysis: Analysis, singles: list[Mention]) -> Iterator[Mention]:
    ids = sorted({phrase.group for phrase in analysis.phrases if phrase.group >= 0})
    for group in ids:
        members = [
            mention
            for phrase, mention in zip(analysis.phrases, singles, strict=True)
            if phrase.group == group
        ]
        first, last = members[0], members[-1]
        between = analysis.words[members[-2].end : last.start]
        conjunction = "or" if any(w.lower == "or" for w in between) else "and"
        yield replace(
            first,
            text=f" {conjunction} ".join(m.text for m in members),
            determiner="",
            number="pl",
            end=last.end,
            name="",
            grouped=False,
            name_like=False,
            called=False,
            topic=first.topic and len(members) == 2,
            person=all(m.person for m in members),
            parts=tuple(members),
            conjunction=conjunction,
        )


def is_of_people(noun: str, english: English) -> bool:
    """True when a lower-case noun, or its singular, names people."""
    return singular(noun) in english.people["nouns"]
