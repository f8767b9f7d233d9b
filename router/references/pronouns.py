"""Pronouns, bare demonstratives and places: it, they, him, this, that, there."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from kds.brain.turn import Edit
from kds.router.discourse.mentions import (
    POSSIBLY,
    Mention,
    acts,
    agency,
    is_individual,
    is_somebody,
    is_time,
)
from kds.router.discourse.salience import WHEN, Candidate, Need
from kds.router.english import words
from kds.router.language import closed_class as cc
from kds.router.language.lexicon import AGREEING, agreeing, third_person
from kds.router.language.words import Word
from kds.router.references.caution import reservation
from kds.router.references.rendering import definite, in_place_of, possessive
from kds.router.references.ruleset import Rule
from kds.router.references.scene import Found, Scene, abstained, choose, covered, written

_POSSESSIVE_PRONOUNS: Final = frozenset("its their his theirs hers whose".split())
_FAMILIES: Final = (
    frozenset({"it", "its"}),
    frozenset({"they", "them", "their", "theirs"}),
    frozenset({"he", "him", "his"}),
    frozenset({"she", "her", "hers"}),
)
"""Forms of one pronoun: the first in a message is written out, later ones follow from it."""
_CLITICS: Final = {
    **{"'s": "is", "'ll": "will", "'ve": "have", "'re": "are"},
    **{"s": "is", "ll": "will", "ve": "have", "re": "are"},  # "thats", "theyre"
}
_SOMEBODY: Final = frozenset("somebody someone anybody anyone everybody everyone nobody".split())
_AT_REST: Final = frozenset("in at on inside".split())
_LOCATING: Final = words("function_words", "locating")
_POINTS: Final = words("nouns", "points")
_TELLING: Final = words("verbs", "telling")
_GOAL_VERBS: Final = words("verbs", "to_a_place")

LOCATED: Final = 2.5
"""Lead of a place named as one over a thing that could also be a place."""


def find_pronouns(scene: Scene, rule: Rule) -> Iterator[Found]:
    """The rule's words where they stand as pronouns, and point out of the message."""
    used, subject_of = scene.used, -1
    for i, word in enumerate(scene.words):
        if word.lower not in rule.signal.lemma or not _stands(scene, i, rule):
            continue
        clause = scene.analysis.clause_of(i)
        second = subject_of == clause and word.pos == "PRON"  # "may it drop it": two things
        if not second and _antecedent_inside(scene, i, rule):
            continue
        found = _resolve(scene, rule, i, used)
        if found.reference and word.pos == "PRON" and scene.role_at(i) == "subj":
            subject_of, used = clause, used | {found.reference.target}
        yield found


def _points_at(rule: Rule) -> bool:
    return rule.signal.kind == "demonstrative"


def _stands(scene: Scene, i: int, rule: Rule) -> bool:
    """Whether it is a pronoun there; no relative "that", which opens a clause of its own."""
    word, clause = scene.words[i], scene.clause(i)
    relative = word.lower == "that" and clause.subordinate and clause.start == i > 0
    owned = not _points_at(rule) and _is_owned(word)
    stands = (word.pos == "PRON" and not relative) or owned
    outside = not covered(rule, scene.analysis.text, word.start, word.end)
    return stands and outside and not _is_said_again(scene, i)


def _is_owned(word: Word) -> bool:
    """ "Its tone", "their fee", "her report"."""
    return word.pos == "DET" and word.lower in _POSSESSIVE_PRONOUNS | {"her"}


def _resolve(scene: Scene, rule: Rule, i: int, used: frozenset[str]) -> Found:
    """The reference at word ``i``; when nothing is good enough, a Found that only says so."""
    word, need = scene.words[i], _need(scene, rule, i)
    pool = _pool(scene, rule, i, need, used)
    choice = choose(scene, pool, rule.antecedent)
    if choice is not None and (choice.mention.text in used or not _agrees(choice.mention, rule)):
        choice = None
    if choice is None:
        return Found(None, (), abstained(scene, word.text, pool, rule), left=word.text)
    if against := reservation(scene, i, choice):
        return Found(None, (), f"'{word.text}' is left: {against} ({rule.id})", left=word.text)
    # "How much does a gateway cost? / Drop it": that one; "tell me about its cost": any
    acted = scene.is_commanded(i) and need.verb.partition(" ")[0] not in _TELLING
    known = replace(choice.mention, topic=False) if acted else choice.mention
    target, sole = definite(known), scene.is_alone(choice)
    text = possessive(target) if word.lower in _POSSESSIVE_PRONOUNS or _is_owned(word) else target
    found = written(scene, rule, (word.start, word.end), text, choice=choice, sole=sole)
    return replace(found, edits=_agreeing(scene, i, in_place_of(word.text, text), choice.mention))


def _need(scene: Scene, rule: Rule, i: int) -> Need:
    """What the word asks for; "these" are several, and "this" in a question is a thing."""
    need = scene.need_at(i, rule.antecedent)
    if not _points_at(rule):
        return need
    number = "pl" if scene.lower(i) in {"these", "those"} else need.number
    asked = need.mood != "imperative"
    return replace(need, number=number, lenient=False, slot="thing" if asked else "")


def _pool(scene: Scene, rule: Rule, i: int, need: Need, used: frozenset[str]) -> list[Candidate]:
    """What it may be, the likeliest first.

    What is named in its own clause is something else, and "he" is not "the Premises". "They" is
    one party only where no people were named lately ("do they need a permit").
    """
    clause = scene.clause(i)
    beside = [m for m in scene.mentions if scene.clause(m.start) is clause and not m.parts]

    def among(mention: Mention) -> bool:
        other = any(mention.same_thing(one) for one in beside)
        other = other or (mention.text in used and not _points_at(rule))
        manner = mention.prep == "by" and not (mention.determiner or mention.is_name)
        return not (other or manner or mention.prep in WHEN) and not (
            rule.antecedent.person and mention.determiner and not acts(mention)
        )

    pool = scene.candidates(need, rule.antecedent, among)
    several = [c for c in pool if c.mention.number == "pl"]
    lately = any(scene.discourse.age(c.mention) <= 1 for c in several)
    if need.number == "pl" and lately:  # buttons, and not the stepper that has them
        pool = [c for c in pool if c.mention.number == "pl" or not _is_thing(c.mention)]
    people = any(acts(c.mention) and scene.discourse.age(c.mention) <= 1 for c in several)
    if need.number != "pl" or not people:
        return pool
    return [c for c in pool if c.mention.number == "pl" or c.mention.name_like]


def _is_thing(mention: Mention) -> bool:
    """A slider or a parser: it ends as somebody would, and has a label."""
    return bool(mention.label) and agency(mention) == POSSIBLY


def _agrees(mention: Mention, rule: Rule) -> bool:
    number, person = rule.antecedent.number, rule.antecedent.person
    either_number = mention.name_like and not mention.grouped
    somebody = number == "pl" and is_somebody(mention)
    counted = number in {"any", mention.number} or either_number or somebody
    return counted and (person is None or mention.person == person or mention.name_like)


def _agreeing(scene: Scene, i: int, text: str, mention: Mention) -> tuple[Edit, ...]:
    """The antecedent in the pronoun's place, and the verb in its number: "does the Tenant have"."""
    word, follows = scene.words[i], scene.words[i + 1 : i + 2]
    edit = Edit(word.start, word.end, text)
    if word.pos != "PRON" or scene.role_at(i) != "subj":
        return (edit,)
    if follows and follows[0].lower in _CLITICS and follows[0].start == word.end:
        perfect = follows[0].lower in {"'s", "s"} and scene.lower(i + 2) in {"been", "got", "had"}
        full = "has" if perfect else _CLITICS[follows[0].lower]
        full = agreeing(full, plural=mention.number == "pl")
        return (Edit(word.start, follows[0].end, f"{text} {full}"),)
    verb = _finite(scene, i)
    one = word.lower == "they" and mention.number != "pl" and is_somebody(mention)
    if verb is None or not one:
        return (edit,)
    plain = verb.lower not in AGREEING
    form = third_person(verb.text) if plain else agreeing(verb.text, plural=False)
    return (edit, Edit(verb.start, verb.end, form))


def _finite(scene: Scene, i: int) -> Word | None:
    """The verb that agrees with the subject at word ``i``; None behind "may" or "must"."""
    if scene.pos(i - 1) == "AUX" or scene.lower(i - 1) in AGREEING:
        return scene.words[i - 1] if scene.lower(i - 1) in AGREEING else None
    verb = next((w for w in scene.words[i + 1 : i + 4] if w.pos != "ADV"), None)
    if verb is None or verb.pos not in {"AUX", "VERB"}:
        return None
    plain = verb.pos == "VERB" and verb.lower == verb.lemma
    return verb if plain or verb.lower in AGREEING else None


def _antecedent_inside(scene: Scene, i: int, rule: Rule) -> bool:
    """True when an earlier clause of the message holds a fitting noun or the same pronoun."""
    clause, owned, text = scene.clause(i), _is_owned(scene.words[i]), scene.analysis.text
    for mention in scene.mentions:
        role = bool(rule.antecedent.person) and is_individual(mention)  # "he" may be an officer
        fits = mention.end <= i and not is_time(mention) and (_agrees(mention, rule) or role)
        if not fits or covered(rule, text, *scene.chars(mention.start, mention.end)):
            continue  # "if it's not too much work"
        occasion = mention.prep in {"before", "until", "as"} and scene.lower(mention.end) == ","
        if mention.determiner in cc.WH or occasion:
            continue
        if scene.clause(mention.start) is clause:
            if owned:
                return True
        elif not clause.subordinate or mention.end != clause.start:  # "the file that it writes"
            return True
    if rule.antecedent.number == "pl" and any(w.lower in _SOMEBODY for w in scene.words[:i]):
        return True  # "if somebody loses their phone"
    same = next((family for family in _FAMILIES if scene.lower(i) in family), frozenset())
    return any(w.lower in same and _stands(scene, w.i, rule) for w in scene.words[:i])


def _is_said_again(scene: Scene, i: int) -> bool:
    """ "unless it takes long, make it shorter": the command tells what is meant, and the clause
    before it may say something of no thing at all.
    """
    word = scene.words[i]
    return scene.clause(i).subordinate and any(
        later.lower == word.lower
        and not scene.clause(later.i).subordinate
        and scene.is_commanded(later.i)
        for later in scene.words[i + 1 :]
    )


def find_places(scene: Scene, rule: Rule) -> Iterator[Found]:
    """A locative "there" (not "there is"): a place, and nothing that the message names."""
    for i, word in enumerate(scene.words):
        if word.lower not in rule.signal.lemma or word.pos != "ADV" or i == 0:
            continue
        if covered(rule, scene.analysis.text, word.start, word.end):
            continue
        need = scene.need_at(i, rule.antecedent, role="pobj")
        pool = scene.candidates(need, rule.antecedent)
        places = [one for one in pool if _is_place(scene, rule, one.mention)]
        choice = choose(scene, _where_first(scene, places) or pool, rule.antecedent)
        here = {m.head for m in scene.mentions}  # "the header should not be sticky there"
        if choice and choice.mention.head not in here and choice.mention.text not in scene.used:
            text, sole = _with_preposition(scene, i, choice.mention), scene.is_sole(i, choice)
            yield written(scene, rule, (word.start, word.end), text, choice=choice, sole=sole)


def _where_first(scene: Scene, places: list[Candidate]) -> list[Candidate]:
    """What stood behind a preposition of place, or is named again by the newest message, before
    what was acted on."""
    newest = {w.lower for w in scene.discourse.last.analysis.words}
    weighed = []
    for one in places:
        twice = (one.mention.prep in _LOCATING) + (one.mention.head in newest)
        weighed.append(replace(one, score=one.score * LOCATED**twice))
    return sorted(weighed, key=lambda c: -c.score)


def _is_place(scene: Scene, rule: Rule, mention: Mention) -> bool:
    if mention.prep in _AT_REST and mention.role == "pobj":
        return True
    kinds = (scene.knowledge.is_a(mention, noun) for noun in rule.signal.nouns)
    return scene.knowledge.is_surface(mention) or any(kinds)


def _with_preposition(scene: Scene, i: int, mention: Mention) -> str:
    place, clause = definite(mention), scene.clause(i)
    if scene.pos(i - 1) == "ADP":
        return place
    if mention.role == "pobj" and mention.prep in _AT_REST and mention.name_like:
        return f"{mention.prep} {place}"  # "fails on Windows"
    if clause.verb is not None and scene.words[clause.verb].lemma in _GOAL_VERBS:
        return f"to {place}"
    if mention.head in _POINTS:
        return f"at {place}"
    return f"{'on' if scene.knowledge.is_surface(mention) else 'in'} {place}"
