"""Pronouns, bare demonstratives and places: it, they, him, this, that, there."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from kds.brain.turn import Edit
from kds.router.discourse.mentions import Mention, acts, is_individual, is_somebody, is_time
from kds.router.discourse.salience import Candidate, Need
from kds.router.english import words
from kds.router.language import closed_class as cc
from kds.router.language.lexicon import AGREEING, agreeing, is_plural, readings, third_person
from kds.router.language.words import Word
from kds.router.references.caution import reservation
from kds.router.references.nouns import varied
from kds.router.references.rendering import bare_text, definite, in_place_of, possessive
from kds.router.references.ruleset import Rule
from kds.router.references.scene import Choice, Found, Scene, abstained, choose, covered, written

_POSSESSIVE_PRONOUNS: Final = frozenset("its their his theirs hers whose".split())
_FAMILIES: Final = (
    frozenset({"it", "its"}),
    frozenset({"they", "them", "their", "theirs"}),
    frozenset({"he", "him", "his"}),
    frozenset({"she", "her", "hers"}),
)
"""Forms of one pronoun: the first in a message is written out, later ones follow from it."""
_CLITICS: Final = {
    **{"'ll": "will", "'ve": "have", "'re": "are"},
    **{"ll": "will", "ve": "have", "re": "are"},  # "theyre"
}
_HAS: Final = frozenset("been got had become".split())


def find_pronouns(scene: Scene, rule: Rule) -> Iterator[Found]:
    """The rule's words where they stand as pronouns, and point out of the message."""
    subject: tuple[int, str] | None = None
    for i, word in enumerate(scene.words):
        stands = _is_alone(scene, i) if _points_at(rule) else _is_pronoun(word)
        if word.lower not in rule.signal.lemma or not stands:
            continue
        if covered(rule, scene.analysis.text, word.start, word.end) or _is_said_again(scene, i):
            continue
        clause, here = scene.analysis.clause_of(i), scene
        if subject is not None and subject[0] == clause and word.pos == "PRON":
            here = replace(scene, used=scene.used | {subject[1]})  # "may it drop it": two things
        elif _antecedent_inside(scene, i, rule):
            continue
        found = _resolve(here, rule, i)
        if found.reference and word.pos == "PRON" and scene.role_at(i) == "subj":
            subject = clause, found.reference.target
        yield found


def _points_at(rule: Rule) -> bool:
    return rule.signal.kind == "demonstrative"


def _is_pronoun(word: Word) -> bool:
    owned = word.pos == "DET" and word.lower in _POSSESSIVE_PRONOUNS | {"her"}
    return word.pos == "PRON" or owned


def _is_alone(scene: Scene, i: int) -> bool:
    """ "this"; and "these" of "are these included", which is not a plural noun. Not a relative
    "that", which opens a subordinate clause of its own.
    """
    word, clause = scene.words[i], scene.clause(i)
    if clause.subordinate and clause.start == i and i > 0 and word.lower == "that":
        return False
    follows, english = scene.words[i + 1 : i + 2], scene.analysis.english
    participle = any(w.lower.endswith("ed") and not is_plural(w.text, english) for w in follows)
    asked = scene.lower(i - 1) in {"are", "were"} and word.lower in {"these", "those"}
    return word.pos == "PRON" or (asked and participle)


def _resolve(scene: Scene, rule: Rule, i: int) -> Found:
    """The reference at word ``i``; when nothing is good enough, a Found that only says so."""
    word, need = scene.words[i], _need(scene, rule, i)
    pool = _pool(scene, rule, i, need)
    choice = choose(scene, pool, rule.antecedent)
    if choice is not None and not _agrees(choice.mention, rule):
        choice = None
    if need.number == "pl" and (choice is None or _is_one_of_many(choice.mention)):
        if pair := varied(scene):
            both = " and ".join(definite(part) for part in pair)
            return written(scene, rule, scene.chars(i, i + 1), both, bare_text(both))
        choice = None
    if choice is None:
        return Found(None, (), abstained(scene, word.text, pool, rule), left=word.text)
    if against := reservation(scene, i, choice):
        return Found(None, (), f"'{word.text}' is left: {against} ({rule.id})", left=word.text)
    return _taken(scene, rule, i, choice)


def _need(scene: Scene, rule: Rule, i: int) -> Need:
    """What the word asks for; "these" are several, and "this" in a question is a thing."""
    need = scene.need_at(i, rule.antecedent)
    if not _points_at(rule):
        return need
    number = "pl" if scene.lower(i) in {"these", "those"} else need.number
    asked = need.mood != "imperative"
    return replace(need, number=number, lenient=False, slot="thing" if asked else "")


def _pool(scene: Scene, rule: Rule, i: int, need: Need) -> list[Candidate]:
    """What it may be, the likeliest first.

    What is named in its own clause is something else, and "he" is not "the Premises". "They" is
    one party only where no people were named lately ("do they need a permit").
    """
    clause = scene.clause(i)
    beside = [m for m in scene.mentions if scene.clause(m.start) is clause and not m.parts]
    pool = scene.candidates(
        need,
        rule.antecedent,
        among=lambda m: (
            not any(m.same_thing(other) for other in beside)
            and not (rule.antecedent.person and m.determiner and not acts(m))
        ),
    )
    several = [c for c in pool if c.mention.number == "pl"]
    people = any(acts(c.mention) and scene.discourse.age(c.mention) <= 1 for c in several)
    if need.number != "pl" or not people:
        return pool
    return [c for c in pool if c.mention.number == "pl" or c.mention.name_like]


def _agrees(mention: Mention, rule: Rule) -> bool:
    number, person = rule.antecedent.number, rule.antecedent.person
    either_number = mention.name_like and not mention.grouped
    somebody = number == "pl" and is_somebody(mention)
    counted = number in {"any", mention.number} or either_number or somebody
    return counted and (person is None or mention.person == person or mention.name_like)


def _is_one_of_many(mention: Mention) -> bool:
    """ "A session ticket": one of its kind, and nobody."""
    one = mention.number == "sg" and mention.determiner in {"a", "an"}
    return one and not is_somebody(mention)


def _taken(scene: Scene, rule: Rule, i: int, choice: Choice) -> Found:
    word, mention, target = scene.words[i], choice.mention, definite(choice.mention)
    owned = word.lower in _POSSESSIVE_PRONOUNS or (word.lower == "her" and word.pos == "DET")
    text = possessive(target) if owned else target
    end, sole = word.end, scene.is_sole(i, choice)
    if _points_at(rule) and scene.lower(i + 1) == mention.head_text.lower():
        end = scene.words[i + 1].end  # "that modal", where "modal" was not read as its noun
    found = written(scene, rule, (word.start, end), text, choice=choice, sole=sole)
    if end > word.end:
        return found
    return replace(found, edits=_agreeing(scene, i, in_place_of(word.text, text), mention))


def _agreeing(scene: Scene, i: int, text: str, mention: Mention) -> tuple[Edit, ...]:
    """The antecedent in the pronoun's place, and the verb in its number: "does the Tenant have"."""
    word, follows = scene.words[i], scene.lower(i + 1)
    edit = Edit(word.start, word.end, text)
    if word.pos != "PRON" or scene.role_at(i) != "subj":
        return (edit,)
    if follows in {"'s", *_CLITICS} and scene.words[i + 1].start == word.end:
        full = _CLITICS.get(follows) or ("has" if scene.lower(i + 2) in _HAS else "is")
        full = agreeing(full, plural=mention.number == "pl")
        return (Edit(word.start, scene.words[i + 1].end, f"{text} {full}"),)
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
    clause, owned = scene.clause(i), scene.words[i].pos == "DET"
    for mention in scene.mentions:
        role = bool(rule.antecedent.person) and is_individual(mention)  # "he" may be an officer
        fits = mention.end <= i and not is_time(mention) and (_agrees(mention, rule) or role)
        span = scene.chars(mention.start, mention.end)
        if not fits or covered(rule, scene.analysis.text, *span):
            continue  # "if it's not too much work"
        asked_about = mention.prep == "about" and not mention.verb
        if mention.determiner in cc.WH or asked_about or _is_occasion(scene, mention):
            continue
        if scene.clause(mention.start) is clause:
            if owned and _can_own_here(mention):
                return True
        elif not clause.subordinate or mention.end != clause.start:  # "the file that it writes"
            return True
    same = next((family for family in _FAMILIES if scene.lower(i) in family), frozenset())
    return any(
        w.lower in same
        and _is_pronoun(w)
        and not covered(rule, scene.analysis.text, w.start, w.end)
        and not _is_said_again(scene, w.i)
        for w in scene.words[:i]
    )


def _can_own_here(mention: Mention) -> bool:
    """ "let users edit their comments": a known owner in the same clause, nothing new."""
    new = mention.determiner in {"a", "an", "some", "another"}
    made = mention.determiner == "" and mention.verb in {"add", "write", "create", "make", "build"}
    if new:
        return mention.role == "subj"  # "a parcel is lost and its sender ..."
    return not made and (mention.role in {"subj", "obj"} or mention.grouped)


def _is_said_again(scene: Scene, i: int) -> bool:
    """ "unless it takes long, make it shorter": the command tells what is meant, and the clause
    before it may say something of no thing at all.
    """
    word, clause = scene.words[i], scene.clause(i)
    if not clause.subordinate or word.pos != "PRON":
        return False
    return any(
        later.lower == word.lower
        and later.pos == "PRON"
        and not scene.clause(later.i).subordinate
        and scene.is_commanded(later.i)
        for later in scene.words[i + 1 :]
    )


def _is_occasion(scene: Scene, mention: Mention) -> bool:
    """ "before the demo, ...", "after renaming, ...": when it is to be done, and not what with."""
    if scene.lower(mention.end) != ",":
        return False
    verb = readings(mention.head).verb
    gerund = mention.head.endswith("ing") and verb not in {"", mention.head}
    done = gerund and not mention.determiner and mention.prep in {"after", "while"}
    return done or mention.prep in {"before", "until", "till", "as"}


LOCATED: Final = 2.5
"""Lead of a place named as one over a thing that could also be a place."""

_LOCATING: Final = words("function_words", "locating")
_AT_REST: Final = frozenset("in at on inside".split())
_POINTS: Final = words("nouns", "points")
_GOAL_VERBS: Final = words("verbs", "to_a_place")


def find_places(scene: Scene, rule: Rule) -> Iterator[Found]:
    """A locative "there" (not "there is")."""
    for i, word in enumerate(scene.words):
        if word.lower not in rule.signal.lemma or word.pos != "ADV" or i == 0:
            continue
        if covered(rule, scene.analysis.text, word.start, word.end):
            continue
        need = scene.need_at(i, rule.antecedent, role="pobj")
        places = scene.candidates(need, rule.antecedent, among=lambda m: _is_place(scene, rule, m))
        pool = _where_first(scene, places) or scene.candidates(need, rule.antecedent)
        choice = choose(scene, pool, rule.antecedent)
        here = {m.head for m in scene.mentions}  # "the header should not be sticky there"
        if choice is not None and choice.mention.head not in here:
            text = _with_preposition(scene, i, choice.mention)
            yield written(scene, rule, (word.start, word.end), text, choice=choice)


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
    knowledge = scene.knowledge
    return knowledge.is_surface(mention) or any(
        knowledge.is_a(mention, noun) for noun in rule.signal.nouns
    )


def _with_preposition(scene: Scene, i: int, mention: Mention) -> str:
    place, clause = definite(mention), scene.clause(i)
    if scene.pos(i - 1) == "ADP":
        return place
    goes = clause.verb is not None and scene.words[clause.verb].lemma in _GOAL_VERBS
    reached = any(w.lower == "to" and w.pos == "ADP" for w in scene.words[clause.start : i])
    if goes and not reached:
        return f"to {place}"
    if mention.head in _POINTS or mention.head_text.lower() in _POINTS:
        return f"at {place}"
    return f"{'on' if scene.knowledge.is_surface(mention) else 'in'} {place}"
