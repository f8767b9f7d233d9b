"""The mentions of a message: the noun phrases that later messages can refer to, or who acts."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise
from typing import Final, Literal

from kds.router.english import words
from kds.router.language import closed_class as cc
from kds.router.language.lexicon import forms, readings, singular
from kds.router.language.words import Analysis, Clause, Number, Phrase, Role, Word

Mood = Literal["imperative", "question", "statement", "fragment"]

KEPT: Final = 512
"""Analyses whose mentions are kept; twice as many as there are analyses in the language layer."""

LONGEST: Final = 6
"""Words of a thing. What is longer is a clause that was read as one: none of the antecedents that
people accept in the dev chats is longer, and every right edit there has fewer."""

SHORT: Final = 3
"""Letters of a word that no lexicon has and is not a thing: "u", "nt", "pls". Longer unknown words
are as often the name of a thing."""

_ROLE_ENDINGS: Final = ("ee", "ist", "ant", "ian", "holder", "woman", "person")
POSSIBLY: Final = 0.5
"""The agency of what ends in -er: a server, or somebody who serves."""
_DOING_ENDINGS: Final = ("er", "or")
_ACTING_LABELS: Final = frozenset({"PARTY", "ROLE", "GROUP", "PERSON"})
_COUNTED: Final = cc.ORDINALS | cc.NUMBERS | {"few", "couple", "business", "working", "fiscal"}
_RELATIONAL: Final = words("nouns", "relational")
_EMPTY: Final = words("nouns", "empty")
_POINTING: Final = words("nouns", "pointing")
_OCCASIONS: Final = words("nouns", "occasions")
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
_REQUESTING: Final = {(modal, asked) for modal in "can could will would".split()
                      for asked in "you u we".split()}  # fmt: skip
_ORDER: Final = {"subj": 0, "obj": 1, "pobj": 2}
"""What a question is about: its subject rather than its object."""


@dataclass(frozen=True, slots=True)
class Mention:
    """A thing that was talked about.

    ``text`` is the phrase without its determiner ("FAB button"); ``head`` the lower-case
    singular of its last noun. ``turn`` counts from the oldest message of the context.
    """

    text: str
    determiner: str
    head: str
    head_text: str
    modifiers: tuple[str, ...]
    number: Number
    role: Role
    prep: str
    verb: str
    mood: Mood
    subordinate: bool
    turn: int
    start: int
    end: int
    compound: str = ""
    """The nouns that end in the head ("pull requests" of "open pull requests")."""
    kind: str = ""
    label: str = ""
    canonical: str = ""
    name: str = ""
    """ "new_nav" of "a feature flag called new_nav"."""
    called: bool = False
    """The name stands behind "called" and is not part of ``text``."""
    person: bool = False
    people: bool = False
    """Its head is a noun of people; ``group``: of several, or of one that no "he" means."""
    group: bool = False
    beside_subject: bool = False
    """Its clause has a noun phrase for subject."""
    negated: bool = False
    """Behind not, without, instead of."""
    reply: bool = False
    """Said by the assistant."""
    topic: bool = False
    """The clause makes it the subject of talk: "tell me about X", "what is X"."""
    grouped: bool = False
    """A member of a coordination, which is a mention of its own."""
    name_like: bool = False
    """A proper name by its capitals: may be a person or several (a band, a company)."""
    person_like: bool = False
    """Two or three capitalised words, the last no common noun: most likely a person."""
    result: bool = False
    """The new thing of "replace X with Y", "rename X to Y"."""
    brought_up: bool = False
    """New, in a command, a wish or a statement: "we need a footer"."""
    parts: tuple["Mention", ...] = ()
    """Members when this is a coordination ("a save button and a cancel button")."""
    conjunction: str = "and"

    @property
    def is_name(self) -> bool:
        """A name by shape or capitals: rendered without an article when it came without one."""
        return bool(self.kind) or (self.head_text[:1].isupper() and not self.determiner)

    def same_thing(self, other: "Mention") -> bool:
        """Same head, and the modifiers of one are all among the other's."""
        if self.parts or other.parts:
            return self.text.lower() == other.text.lower()
        if self.head != other.head or self.number != other.number:
            return bool(self.name) and self.name in (other.text, other.name)
        mine, theirs = set(self.modifiers), set(other.modifiers)
        return mine <= theirs or theirs <= mine


def is_time(mention: Mention) -> bool:
    """A point or span of time ("this week", "thirty seconds"): hardly ever an antecedent."""
    counted = (m in _COUNTED or m.isdigit() for m in mention.modifiers)
    return mention.head in cc.TIME_NOUNS and all(counted)


def agency(mention: Mention) -> float:
    """How surely it is somebody: 1 for a person, a party, a group or a role, 0 for a thing.

    Roles are known by their ending: -ee, -ist, -ant, -holder. What ends in -er or -or is one when
    it is written as a defined term ("the Servicer"), and may be a tool ("exporter") otherwise.
    """
    if mention.parts:
        return min(agency(part) for part in mention.parts)
    if any(word.isupper() and len(word) > 2 for word in mention.text.split()[:-1]):
        return 0.0  # "a REST client"
    if mention.person or mention.people or mention.label in _ACTING_LABELS:
        return 1.0
    if mention.is_name:
        return 0.0  # "Docker", "Norwegian": a name, which no ending tells about
    head = singular(mention.head.lower())
    if head.endswith(_ROLE_ENDINGS) and len(head) > 5 and not head.endswith("list"):
        return 1.0
    capital = mention.head_text[:1].isupper()
    return (1.0 if capital else POSSIBLY) if head.endswith(_DOING_ENDINGS) else 0.0


def acts(mention: Mention) -> bool:
    """True when it may be somebody."""
    return agency(mention) > 0


def is_individual(mention: Mention) -> bool:
    """True when "he" or "she" may mean it: somebody, and neither several nor a group."""
    return mention.number == "sg" and not mention.group and is_somebody(mention)


def is_somebody(mention: Mention) -> bool:
    """True when "they" may mean it: a person, a party, a role, one who does things.

    What ends in -er counts where it acts as a subject ("When does the importer ...").
    """
    sure = agency(mention)
    return sure == 1.0 or (sure > 0 and mention.role == "subj")


@lru_cache(maxsize=KEPT)
def mentions_in(analysis: Analysis, turn: int) -> tuple[Mention, ...]:
    """Every mention of an analysed message, in text order; coordinations come as one more."""
    if turn:  # each turn looks at the same messages again
        return tuple(replace(mention, turn=turn) for mention in mentions_in(analysis, 0))
    singles = [_mention(analysis, phrase) for phrase in analysis.phrases]
    own = [one for one in singles if _is_thing(analysis, one)]
    return (*own, *_groups(analysis, singles))


def _is_thing(analysis: Analysis, mention: Mention) -> bool:
    """No clause, no "docs/adr" of "a folder called docs/adr", and no word that nobody knows: "u";
    nor a verb in the past: "configured" of "where is that configured".
    """
    if mention.start and analysis.words[mention.start - 1].lower in _NAMING:
        return False
    before, first = analysis.words[mention.start - 1], analysis.words[mention.start]
    if mention.start and before.end == first.start and before.text.isalpha():
        return False  # "d command" of "the id command", where "id" was read as "I'd"
    if mention.head in _EMPTY or not _POINTING.isdisjoint(mention.modifiers):
        return False
    occasion = mention.determiner in cc.DEMONSTRATIVES and mention.head in _OCCASIONS
    if occasion and (mention.prep in {"in", "at"} or mention.head == "way"):
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
    words, people = analysis.words, analysis.english.people
    head, clause = words[phrase.head], analysis.clauses[phrase.clause]
    verb = words[phrase.verb].lemma if phrase.verb is not None else ""
    labels = (found[2:] for found in analysis.entities if found[1] == phrase.head + 1)
    label, canonical = next(labels, ("", ""))
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
    asked = mood_of(analysis, clause)
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
        mood=asked,
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
        person=_is_person(analysis, phrase, verb, label),
        people=singular(noun) in people["nouns"],
        group=noun in people["groups"] or label == "GROUP",
        beside_subject=any(
            p.clause == phrase.clause and p.role == "subj" and p.end <= phrase.start
            for p in analysis.phrases
        ),
        topic=topic,
        grouped=phrase.group >= 0,
        negated=before == "not" or phrase.prep in _NEGATING,
        name_like=head.pos == "PROPN" and head.text[0].isupper() and label not in {"PARTY", "ROLE"}
        and not (head.kind or head.in_capitals),
        person_like=_is_person_like(words[phrase.start : phrase.end]),
        result=phrase.role == "pobj" and phrase.prep in _REPLACING.get(verb, ()),
        # "a footer" of "add a footer", "we need a footer": what comes next is about it
        brought_up=phrase.determiner in _INDEFINITE
        and not (phrase.prep or clause.subordinate or asked == "question"),
    )  # fmt: skip


def _text(analysis: Analysis, phrase: Phrase) -> str:
    """The phrase without its determiner, and without the capital of a sentence start."""
    text = analysis.span(phrase.core, phrase.end)
    first = analysis.words[phrase.core]
    opens = first.i == 0 or analysis.words[first.i - 1].text in {".", "!", "?"}
    if not opens or first.pos == "PROPN" or not first.text[1:].islower():
        return text
    plain = phrase.end - phrase.core > 1 or readings(first.lower).known
    return text[0].lower() + text[1:] if plain else text


def _groups(analysis: Analysis, singles: Sequence[Mention]) -> Iterator[Mention]:
    for group in sorted({phrase.group for phrase in analysis.phrases if phrase.group >= 0}):
        pairs = zip(analysis.phrases, singles, strict=True)
        members = [mention for phrase, mention in pairs if phrase.group == group]
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
    return not _REQUESTING.isdisjoint(pairwise(opening))


def mood_of(analysis: Analysis, clause: Clause) -> Mood:
    """The mood by what the clause is for."""
    return "imperative" if is_request(analysis, clause) else clause.mood


def judged(analysis: Analysis, i: int) -> bool:
    """Whether the clause of the subject at word ``i`` finds fault: "it is too slow"."""
    clause = analysis.clauses[analysis.clause_of(i)]
    behind = analysis.words[i + 1 : clause.end]
    too = any(a.lower == "too" and b.pos in {"ADJ", "ADV"} for a, b in pairwise(behind))
    return too or any(word.lower in cc.NEGATIONS | {"enough"} for word in behind)


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
    if phrase.prep == "about" and words[phrase.start - 1].lower == "about":
        verb = words[phrase.verb].lemma if phrase.verb is not None else ""
        return verb in _TELLING or words[clause.start].lower in {"what", "how", "and", "about"}
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
    """What "there is" brings up in a message that asks: "Is there a penalty for late delivery?"."""
    words = analysis.words
    if clause.subordinate or all(c.mood != "question" for c in analysis.clauses):
        return None
    for i in range(clause.start, clause.end):
        beside = {word.lower for word in words[max(clause.start, i - 1) : i + 2]}
        if words[i].lower == "there" and beside & cc.BE:
            return next((p for p in analysis.phrases if i < p.start and not p.prep), None)
    return None


def _is_relational(words: Sequence[Word], phrase: Phrase) -> bool:
    return singular(words[phrase.head].lower) in _RELATIONAL


def _is_owned(words: Sequence[Word], phrase: Phrase) -> bool:
    """ "the function of X": what is asked about is X; not "a rollback of X", "Section 2 of X"."""
    numbered = any(w.pos in {"NUM", "PROPN"} for w in words[phrase.head : phrase.end])
    new = phrase.determiner in {"a", "an"} and not _is_relational(words, phrase)
    of_follows = any(word.lower == "of" for word in words[phrase.end : phrase.end + 1])
    return of_follows and not numbered and not new


def _is_person(analysis: Analysis, phrase: Phrase, verb: str, label: str) -> bool:
    """Surely a person: one is asked, told or thanked by name."""
    word = analysis.words[phrase.head]
    named = word.text[:1].isupper() and word.text[1:].islower() and not word.kind
    if not named or label or phrase.end - phrase.start > 1:
        return label == "PERSON"
    if phrase.role == "subj":
        return verb in _DOING and word.lower not in forms() and not readings(word.lower).verb
    return verb in _ADDRESSING and (phrase.role == "obj" or phrase.prep in {"to", "with"})


def _is_person_like(words: Sequence[Word]) -> bool:
    capitals = all(w.text[:1].isupper() and w.text[1:].islower() for w in words)
    return 2 <= len(words) <= 3 and capitals and not readings(words[-1].lower).noun
