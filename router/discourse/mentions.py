"""The mentions of a message: its noun phrases, as far as they are things."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import pairwise
from typing import Final

from kds.router.discourse.mention import Mention, Mood
from kds.router.english import English, words
from kds.router.language import closed_class as cc
from kds.router.language.lexicon import forms, readings, singular
from kds.router.language.words import Analysis, Clause, Phrase, Role, Word

KEPT: Final = 512
"""Analyses whose mentions are kept; twice as many as there are analyses in the language layer."""

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
    if mention.head in _EMPTY or _is_torn(mention.text):
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
        text=text,
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


_INDEFINITE: Final = frozenset({"a", "an", "another", "some"})
_ASKING: Final = frozenset({"can", "could", "will", "would"})
_ASKED: Final = frozenset({"you", "u", "we"})
_INFORMING: Final = words("verbs", "informing") | words("verbs", "telling")


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


def brings_up(analysis: Analysis, phrase: Phrase) -> bool:
    """ "A footer" of "add a footer", "we need a footer": new, and what comes next is about it."""
    clause = analysis.clauses[phrase.clause]
    if phrase.prep or clause.subordinate or phrase.role not in {"obj", "none", "subj"}:
        return False
    return phrase.determiner in _INDEFINITE and mood_of(analysis, clause) != "question"


def judged(analysis: Analysis, i: int) -> bool:
    """Whether the clause of the subject at word ``i`` finds fault: "it is too slow"."""
    clause = analysis.clauses[analysis.clause_of(i)]
    behind = analysis.words[i + 1 : clause.end]
    return any(
        word.lower == "enough" or (word.lower == "too" and _has_quality(behind[at + 1 : at + 2]))
        for at, word in enumerate(behind)
    ) or any(word.lower in cc.NEGATIONS for word in behind)


def _has_quality(after: Sequence[Word]) -> bool:
    return any(word.pos in {"ADJ", "ADV"} for word in after)


RELATIONAL_NOUNS: Final = words("nouns", "relational")

_NEW: Final = frozenset({"a", "an"})
""" "a rollback of a service": what is brought up is the rollback."""

_TELLING: Final = words("verbs", "telling")


def is_topic(analysis: Analysis, phrase: Phrase) -> bool:
    """The center that a question or "tell me about" sets (Grosz, Joshi and Weinstein 1995).

    Of "the history of X" it is X, of "a breach of X" the breach; of "X's history" neither: X is
    a topic already, or it is the history that is new.
    """
    if phrase.determiner in cc.DEMONSTRATIVES or _has_possessor(analysis.words, phrase):
        return False
    if phrase.prep == "of":
        owned = next((p for p in analysis.phrases if p.end == phrase.start - 1), None)
        if owned is None or not _is_owned(analysis.words, owned):
            return False
        relational = singular(analysis.words[owned.head].lower) in RELATIONAL_NOUNS
        return relational or (owned.determiner not in _NEW and _is_center(analysis, owned))
    return _is_center(analysis, phrase) and not _is_owned(analysis.words, phrase)


def _is_center(analysis: Analysis, phrase: Phrase) -> bool:
    words = analysis.words
    if singular(words[phrase.head].lower) in RELATIONAL_NOUNS:
        return False
    clause = analysis.clauses[phrase.clause]
    verb = words[phrase.verb].lemma if phrase.verb is not None else ""
    if phrase.prep == "about" and words[phrase.start - 1].lower == "about":
        opening = words[clause.start].lower
        return verb in _TELLING or opening in {"what", "how", "and", "about"}
    if phrase.role == "obj" and verb in {"describe", "explain", "discuss", "define", "introduce"}:
        return True
    introduced = _introduced(analysis, phrase)
    if introduced is not None:
        return phrase is introduced
    asked = clause.mood == "question" and not clause.subordinate
    if not (asked or _is_asked_condition(analysis, phrase)) or phrase.determiner in cc.WH:
        return False
    rivals = [
        p for p in analysis.phrases if p.clause == phrase.clause and p.determiner not in cc.WH
    ]
    if len(named := [p for p in rivals if not _is_counted(words, p)]) > 0:
        rivals = named
    if phrase not in rivals:
        return False
    order: tuple[Role, ...] = ("subj", "obj", "pobj")
    best = next((role for role in order if any(p.role == role for p in rivals)), None)
    return phrase.role == best and phrase == next(p for p in rivals if p.role == best)


def _is_asked_condition(analysis: Analysis, phrase: Phrase) -> bool:
    """ "What happens if the date falls on a Sunday?" asks about the date."""
    clause = analysis.clauses[phrase.clause]
    opening = [w.lower for w in analysis.words[: clause.start + 1] if w.pos != "PUNCT"]
    while opening and opening[0] in {"and", "but", "so", "ok", "okay"}:
        opening.pop(0)
    asked = opening[:2] in (["what", "happens"], ["what", "if"])
    return asked and len(opening) <= 3 and clause.subordinate


def _introduced(analysis: Analysis, phrase: Phrase) -> Phrase | None:
    """What "there is" brings up in the clause of ``phrase``, when the message asks about it.

    "Is there a penalty for late delivery?", "There is a cap, isn't there?": the penalty, the cap.
    """
    words, clause = analysis.words, analysis.clauses[phrase.clause]
    if clause.subordinate or all(c.mood != "question" for c in analysis.clauses):
        return None
    for i in range(clause.start, clause.end):
        if words[i].lower != "there":
            continue
        beside = {w.lower for w in (*words[max(clause.start, i - 1) : i], *words[i + 1 : i + 2])}
        if beside & cc.BE:
            inside = (p for p in analysis.phrases if p.clause == phrase.clause and p.start > i)
            return next((p for p in inside if not p.prep), None)
    return None


def _is_counted(words: Sequence[Word], phrase: Phrase) -> bool:
    """ "how many pages do the cartridges last": asked for, and not asked about."""
    return phrase.start > 0 and words[phrase.start - 1].lower == "how"


def _is_owned(words: Sequence[Word], phrase: Phrase) -> bool:
    """ "the function of X", "X's function": what is asked about is X."""
    numbered = any(w.pos in {"NUM", "PROPN"} for w in words[phrase.head : phrase.end])
    new = phrase.determiner in _NEW and singular(words[phrase.head].lower) not in RELATIONAL_NOUNS
    of_follows = phrase.end < len(words) and words[phrase.end].lower == "of"
    of_follows = of_follows and not numbered and not new
    return of_follows or _has_possessor(words, phrase)


def _has_possessor(words: Sequence[Word], phrase: Phrase) -> bool:
    return any(w.lower in {"'s", "'"} for w in words[phrase.start : phrase.head])


_ADDRESSING: Final = words("verbs", "addressing")


_DOING: Final = words("verbs", "of_doers")


def is_person(analysis: Analysis, phrase: Phrase, label: str) -> bool:
    """Surely a person: one is asked, told or thanked by name."""
    if label == "PERSON":
        return True
    word = analysis.words[phrase.head]
    single = phrase.end - phrase.start == 1 and not label and not word.kind
    verb = analysis.words[phrase.verb].lemma if phrase.verb is not None else ""
    addressed = phrase.role == "obj" or phrase.prep in {"to", "with"}
    named = word.text[:1].isupper() and word.text[1:].islower()
    if phrase.role == "subj":
        unknown = word.lower not in forms() and not readings(word.lower).verb
        return single and named and unknown and verb in _DOING
    return single and named and addressed and word.i > 0 and verb in _ADDRESSING


def is_name_like(analysis: Analysis, phrase: Phrase, label: str) -> bool:
    """A proper name by its capitals: perhaps a person, perhaps several (a band, a company)."""
    word = analysis.words[phrase.head]
    spelled = word.in_capitals
    if word.kind or spelled or not word.text[:1].isupper():
        return False
    if label in {"PARTY", "ROLE"}:
        return False
    if word.i == 0 and phrase.end - phrase.start == 1:
        return phrase.role == "subj" and phrase.number == "sg" and word.lower not in forms()
    return word.pos == "PROPN"


def is_person_like(analysis: Analysis, phrase: Phrase) -> bool:
    """Two or three capitalised words, the last no common noun: "it" hardly ever means it."""
    words = analysis.words[phrase.start : phrase.end]
    capitals = all(w.text[:1].isupper() and w.text[1:].islower() for w in words)
    return 2 <= len(words) <= 3 and capitals and not readings(words[-1].lower).noun
