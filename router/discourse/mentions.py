"""The mentions of a message: its noun phrases, as far as they are things."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import pairwise
from typing import Final

from kds.router.discourse.mention import Mention, Mood
from kds.router.english import words
from kds.router.language import closed_class as cc
from kds.router.language.lexicon import forms, readings, singular
from kds.router.language.words import Analysis, Clause, Phrase, Word

KEPT: Final = 512
"""Analyses whose mentions are kept; twice as many as there are analyses in the language layer."""

LONGEST: Final = 6
"""Words of a thing. What is longer is a clause that was read as one: none of the antecedents that
people accept in the dev chats is longer, and every right edit there has fewer."""

SHORT: Final = 3
"""Letters of a word that no lexicon has and is not a thing: "u", "nt", "pls". Longer unknown words
are as often the name of a thing."""

RELATIONAL_NOUNS: Final = words("nouns", "relational")

_EMPTY: Final = words("nouns", "empty")
_POINTING: Final = words("nouns", "pointing")
_TELLING: Final = words("verbs", "telling")
_INFORMING: Final = words("verbs", "informing") | _TELLING
_ADDRESSING: Final = words("verbs", "addressing")
_DOING: Final = words("verbs", "of_doers")
_NAMING: Final = frozenset("called named titled labelled".split())
_REPLACING: Final = {
    "replace": ("with", "by"),
    "swap": ("for", "with"),
    "rename": ("to", "as"),
    "turn": ("into",),
}
"""Verbs whose prepositional object is the thing there is afterwards."""
_NEGATING: Final = frozenset({"instead of", "without", "except", "despite"})
_INDEFINITE: Final = frozenset({"a", "an", "another", "some"})
_EXPLAINING: Final = frozenset("describe explain discuss define introduce".split())
_ASKING: Final = frozenset("can could will would".split())
_ASKED: Final = frozenset("you u we".split())
_ORDER: Final = {"subj": 0, "obj": 1, "pobj": 2}
"""What a question is about: its subject rather than its object."""


@lru_cache(maxsize=KEPT)
def mentions_in(analysis: Analysis, turn: int) -> tuple[Mention, ...]:
    """Every mention of an analysed message, in text order; coordinations come as one more."""
    found = _first_mentions(analysis)
    return tuple(replace(mention, turn=turn) for mention in found) if turn else found


@lru_cache(maxsize=KEPT)
def _first_mentions(analysis: Analysis) -> tuple[Mention, ...]:
    """The mentions as of turn 0. Kept, because each turn looks at the same messages again."""
    singles = [_mention(analysis, phrase) for phrase in analysis.phrases]
    own = [one for one in singles if _is_thing(analysis, one)]
    return (*own, *_groups(analysis, singles))


def _is_thing(analysis: Analysis, mention: Mention) -> bool:
    """No clause, no "docs/adr" of "a folder called docs/adr", and no word that nobody knows: "u";
    nor a verb in the past: "configured" of "where is that configured".
    """
    if mention.start and analysis.words[mention.start - 1].lower in _NAMING:
        return False
    before, first = analysis.words[max(mention.start - 1, 0)], analysis.words[mention.start]
    if mention.start and before.end == first.start and before.text.isalpha():
        return False  # "d command" of "the id command", where "id" was read as "I'd"
    if mention.head in _EMPTY or not _POINTING.isdisjoint(mention.modifiers):
        return False
    if "\n" in mention.text or len(mention.text.split()) > LONGEST:
        return False
    if mention.kind or mention.label or not mention.head_text.islower():
        return True
    word = readings(mention.head)
    if word.known:  # the lexicon has "bar" as a verb alone: only what is inflected is surely one
        return bool(word.noun) or word.verb in {"", mention.head} or mention.head.endswith("ing")
    return bool(mention.determiner) or len(mention.head) > SHORT


def _mention(analysis: Analysis, phrase: Phrase) -> Mention:
    words, english = analysis.words, analysis.english
    head, clause = words[phrase.head], analysis.clauses[phrase.clause]
    verb = words[phrase.verb].lemma if phrase.verb is not None else ""
    label, canonical = next(
        (found for first, stop, *found in analysis.entities
         if stop == phrase.head + 1 and first >= phrase.start), ("", ""),
    )  # fmt: skip
    noun = head.lower if head.kind or head.pos == "PROPN" else singular(head.lower)
    topic = _is_topic(analysis, phrase)
    introduced = topic and phrase.role == "none" and verb == "be"  # "there is a lift"
    follows = words[phrase.end : phrase.end + 2]
    called = len(follows) == 2 and follows[0].lower in _NAMING
    called = called and follows[1].pos in {"NOUN", "PROPN", "VERB"}  # not "called in the morning"
    apposed = phrase.end > phrase.head + 1 and bool(words[phrase.end - 1].kind)
    compound = phrase.head
    while compound > phrase.core and words[compound - 1].pos in {"NOUN", "PROPN"}:
        compound -= 1
    before = words[phrase.start - 1].lower if phrase.start else ""
    return Mention(
        text=_text(analysis, phrase),
        determiner="the" if introduced else phrase.determiner,
        head=noun,
        head_text=head.text,
        modifiers=tuple(w.lower for w in words[phrase.core : phrase.head]),
        number=phrase.number,
        role=phrase.role,
        prep=phrase.prep,
        verb=verb,
        mood=mood_of(analysis, clause),
        subordinate=clause.subordinate,
        turn=0,
        start=phrase.start,
        end=phrase.end,
        compound=analysis.span(compound, phrase.head + 1),
        kind=head.kind,
        label=label,
        canonical=canonical,
        name=words[phrase.end - 1].text if apposed else follows[1].text if called else "",
        called=called,
        person=_is_person(analysis, phrase, label),
        people=singular(noun) in english.people["nouns"],
        group=noun in english.people["groups"],
        beside_subject=any(
            p.clause == phrase.clause and p.role == "subj" and p.end <= phrase.start
            for p in analysis.phrases
        ),
        topic=topic,
        grouped=phrase.group >= 0,
        negated=before == "not" or phrase.prep in _NEGATING,
        name_like=_is_name_like(analysis, phrase, label),
        person_like=_is_person_like(analysis, phrase),
        result=phrase.role == "pobj" and phrase.prep in _REPLACING.get(verb, ()),
        brought_up=_brings_up(analysis, phrase),
    )


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


def _groups(analysis: Analysis, singles: Sequence[Mention]) -> Iterator[Mention]:
    for group in sorted({phrase.group for phrase in analysis.phrases if phrase.group >= 0}):
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


def is_request(analysis: Analysis, clause: Clause) -> bool:
    """ "Can you add a footer?": asked in form, a command by what it is for."""
    if clause.mood != "question" or clause.verb is None:
        return False
    if analysis.words[clause.verb].lemma in _INFORMING:
        return False
    opening = [word.lower for word in analysis.words[clause.start : clause.verb]]
    return any(modal in _ASKING and asked in _ASKED for modal, asked in pairwise(opening))


def mood_of(analysis: Analysis, clause: Clause) -> Mood:
    """The mood by what the clause is for."""
    return "imperative" if is_request(analysis, clause) else clause.mood


def judged(analysis: Analysis, i: int) -> bool:
    """Whether the clause of the subject at word ``i`` finds fault: "it is too slow"."""
    clause = analysis.clauses[analysis.clause_of(i)]
    behind = analysis.words[i + 1 : clause.end]
    too = any(a.lower == "too" and b.pos in {"ADJ", "ADV"} for a, b in pairwise(behind))
    return too or any(word.lower in cc.NEGATIONS | {"enough"} for word in behind)


def _brings_up(analysis: Analysis, phrase: Phrase) -> bool:
    """ "A footer" of "add a footer", "we need a footer": new, and what comes next is about it."""
    clause = analysis.clauses[phrase.clause]
    if phrase.prep or clause.subordinate or phrase.role not in {"obj", "none", "subj"}:
        return False
    return phrase.determiner in _INDEFINITE and mood_of(analysis, clause) != "question"


def _is_topic(analysis: Analysis, phrase: Phrase) -> bool:
    """The center that a question or "tell me about" sets (Grosz, Joshi and Weinstein 1995).

    Of "the history of X" it is X, of "a breach of X" the breach; of "X's history" neither: X is
    a topic already, or it is the history that is new.
    """
    words = analysis.words
    possessed = any(w.lower in {"'s", "'"} for w in words[phrase.start : phrase.head])
    if possessed or phrase.determiner in cc.DEMONSTRATIVES:
        return False
    if phrase.prep != "of":
        return _is_center(analysis, phrase) and not _is_owned(words, phrase)
    owned = next((p for p in analysis.phrases if p.end == phrase.start - 1), None)
    if owned is None or not _is_owned(words, owned):
        return False
    return _is_relational(words, owned) or _is_center(analysis, owned)


def _is_center(analysis: Analysis, phrase: Phrase) -> bool:
    words, clause = analysis.words, analysis.clauses[phrase.clause]
    if _is_relational(words, phrase):
        return False
    verb = words[phrase.verb].lemma if phrase.verb is not None else ""
    if phrase.prep == "about" and words[phrase.start - 1].lower == "about":
        return verb in _TELLING or words[clause.start].lower in {"what", "how", "and", "about"}
    if phrase.role == "obj" and verb in _EXPLAINING:
        return True
    if introduced := _introduced(analysis, clause):
        return phrase is introduced
    if clause.mood != "question" or clause.subordinate:
        return False
    inside = (p for p in analysis.phrases if analysis.clauses[p.clause] is clause)
    rivals = [p for p in inside if p.determiner not in cc.WH]
    # "how many pages do the cartridges last" asks about the cartridges
    named = [p for p in rivals if not p.start or words[p.start - 1].lower != "how"] or rivals
    ranked = sorted(named, key=lambda p: _ORDER.get(p.role, len(_ORDER)))
    return bool(ranked) and phrase is ranked[0] and phrase.role in _ORDER


def _introduced(analysis: Analysis, clause: Clause) -> Phrase | None:
    """What "there is" brings up in a clause of a message that asks about it.

    "Is there a penalty for late delivery?", "There is a cap, isn't there?": the penalty, the cap.
    """
    words = analysis.words
    if clause.subordinate or all(c.mood != "question" for c in analysis.clauses):
        return None
    for i in range(clause.start, clause.end):
        beside = {word.lower for word in words[max(clause.start, i - 1) : i + 2]}
        if words[i].lower == "there" and beside & cc.BE:
            inside = (p for p in analysis.phrases if i < p.start < clause.end)
            return next((p for p in inside if not p.prep), None)
    return None


def _is_relational(words: Sequence[Word], phrase: Phrase) -> bool:
    return singular(words[phrase.head].lower) in RELATIONAL_NOUNS


def _is_owned(words: Sequence[Word], phrase: Phrase) -> bool:
    """ "the function of X": what is asked about is X; not "a rollback of X", "Section 2 of X"."""
    numbered = any(w.pos in {"NUM", "PROPN"} for w in words[phrase.head : phrase.end])
    new = phrase.determiner in {"a", "an"} and not _is_relational(words, phrase)
    of_follows = any(word.lower == "of" for word in words[phrase.end : phrase.end + 1])
    return of_follows and not numbered and not new


def _is_person(analysis: Analysis, phrase: Phrase, label: str) -> bool:
    """Surely a person: one is asked, told or thanked by name."""
    word = analysis.words[phrase.head]
    named = word.text[:1].isupper() and word.text[1:].islower() and not word.kind
    if not named or label or phrase.end - phrase.start > 1:
        return label == "PERSON"
    verb = analysis.words[phrase.verb].lemma if phrase.verb is not None else ""
    if phrase.role == "subj":
        return verb in _DOING and word.lower not in forms() and not readings(word.lower).verb
    return verb in _ADDRESSING and (phrase.role == "obj" or phrase.prep in {"to", "with"})


def _is_name_like(analysis: Analysis, phrase: Phrase, label: str) -> bool:
    """A proper name by its capitals: perhaps a person, perhaps several (a band, a company)."""
    word = analysis.words[phrase.head]
    if word.kind or word.in_capitals or not word.text[:1].isupper() or label in {"PARTY", "ROLE"}:
        return False
    if word.i == 0:
        return phrase.role == "subj" and phrase.number == "sg" and word.lower not in forms()
    return word.pos == "PROPN"


def _is_person_like(analysis: Analysis, phrase: Phrase) -> bool:
    """Two or three capitalised words, the last no common noun: "it" hardly ever means it."""
    words = analysis.words[phrase.start : phrase.end]
    capitals = all(w.text[:1].isupper() and w.text[1:].islower() for w in words)
    return 2 <= len(words) <= 3 and capitals and not readings(words[-1].lower).noun
