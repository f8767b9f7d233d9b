"""Pronouns and bare demonstratives: it, they, him, this, that."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Final

from kds.brain.turn import Edit, Reference
from kds.router.discourse.fitness import Slot
from kds.router.discourse.inquiry import last_question
from kds.router.discourse.mention import Mention, acts, is_individual, is_somebody, is_time
from kds.router.discourse.salience import Candidate, Need
from kds.router.english import words
from kds.router.language import closed_class as cc
from kds.router.language.lexicon import is_plural, readings
from kds.router.language.word_forms import AGREEING, agreeing, third_person
from kds.router.language.words import Word
from kds.router.references.caution import reservation
from kds.router.references.enumerations import varied
from kds.router.references.rendering import (
    bare,
    bare_text,
    definite,
    in_place_of,
    possessive,
)
from kds.router.references.rule import AntecedentNeed, Rule
from kds.router.references.scene import (
    Choice,
    Found,
    Scene,
    abstained,
    choose,
    covered,
    explain,
    replaced,
)

_POSSESSIVE_PRONOUNS: Final = frozenset("its their his theirs hers whose".split())
_FAMILIES: Final = (
    frozenset({"it", "its"}),
    frozenset({"they", "them", "their", "theirs"}),
    frozenset({"he", "him", "his"}),
    frozenset({"she", "her", "hers"}),
)
"""Forms of one pronoun: the first in a message is written out, later ones follow from it."""


def find_pronouns(scene: Scene, rule: Rule) -> Iterator[Found]:
    """Personal pronouns with an antecedent outside the message."""
    yield from _pointing(scene, rule, lambda i: _is_pronoun(scene.words[i]))


def find_demonstratives(scene: Scene, rule: Rule) -> Iterator[Found]:
    """This, that, these, those standing alone."""
    yield from _pointing(
        scene, rule, lambda i: _is_alone(scene, i) and not _is_clause_marker(scene, i)
    )


def _pointing(scene: Scene, rule: Rule, stands: Callable[[int], bool]) -> Iterator[Found]:
    """The rule's words where they stand as pronouns, and point out of the message."""
    subject: tuple[int, str] | None = None
    for i, word in enumerate(scene.words):
        if word.lower not in rule.signal.lemma or not stands(i):
            continue
        if covered(rule, scene.analysis.text, word.start, word.end) or _is_said_again(scene, i):
            continue
        clause = scene.analysis.clause_of(i)
        here = scene
        if subject is not None and subject[0] == clause and scene.words[i].pos == "PRON":
            here = replace(scene, used=scene.used | {subject[1]})  # "may it drop it": two things
        elif "same_message" in rule.signal.excludes and _antecedent_inside(scene, i, rule):
            continue
        found = _resolve(here, rule, i)
        if found.references and scene.role_at(i) == "subj" and scene.words[i].pos == "PRON":
            subject = clause, found.references[0].target
        yield found


def _is_pronoun(word: Word) -> bool:
    return word.pos == "PRON" or (
        word.pos == "DET" and word.lower in _POSSESSIVE_PRONOUNS | {"her"}
    )


def _is_alone(scene: Scene, i: int) -> bool:
    """ "this"; and "these" of "are these included", which is not a plural noun."""
    word, follows = scene.words[i], scene.words[i + 1 : i + 2]
    english = scene.analysis.english
    participle = any(w.lower.endswith("ed") and not is_plural(w.text, english) for w in follows)
    asked = i > 0 and scene.words[i - 1].lower in {"are", "were"}
    return word.pos == "PRON" or (asked and participle and word.lower in {"these", "those"})


def _is_clause_marker(scene: Scene, i: int) -> bool:
    """A relative "that" opens a subordinate clause of its own."""
    clause = scene.analysis.clauses[scene.analysis.clause_of(i)]
    return clause.subordinate and clause.start == i and i > 0 and scene.words[i].lower == "that"


def _resolve(scene: Scene, rule: Rule, i: int) -> Found:
    """The reference at word ``i``; when nothing is good enough, a Found that only says so."""
    word, need = scene.words[i], _need(scene, rule, i)
    if need.role == "subj" and (doing := _doing(scene, rule)):
        return replaced(scene, rule, (word.start, word.end), doing, doing)
    pool = _pool(scene, rule, i, need)
    choice = choose(scene, pool, rule.antecedent)
    if choice is None or not _agrees(choice.mention, rule):
        choice = _fallback(scene, rule, i)
    if need.number == "pl" and not _is_several(choice):
        choice = None
    if choice is None and need.number == "pl" and (pair := varied(scene)):
        both = " and ".join(definite(part) for part in pair)
        return replaced(scene, rule, (word.start, word.end), both, bare_text(both))
    if choice is None:
        return Found((), (), abstained(scene, word.text, pool, rule), left=word.text)
    if against := reservation(scene, i, choice, plural=need.number == "pl"):
        note = f"'{word.text}' is left: {against} ({rule.id})"
        return Found((), (), note, left=word.text)
    return _taken(scene, rule, i, choice)


def _doing(scene: Scene, rule: Rule) -> str:
    """ "charging", of "When does charging stop?": "it" behind that has no noun to stand for."""
    question = last_question(scene.discourse)
    if question is None or rule.antecedent.number != "sg" or rule.antecedent.person is not False:
        return ""
    first, stop = question.subject
    named = stop - first == 1 and question.words[first].tag == "VBG"
    said = question.analysis is scene.discourse.last.analysis
    return question.subject_text if named and said and question.subject_mention is None else ""


def _need(scene: Scene, rule: Rule, i: int) -> Need:
    """What the word asks for; "these" are several, and "this" in a question is a thing."""
    need = scene.need_at(i, base=rule.antecedent)
    if rule.signal.kind != "demonstrative":
        return need
    number = "pl" if scene.lower(i) in {"these", "those"} else need.number
    slot: Slot = "thing" if need.mood != "imperative" else ""
    return replace(need, number=number, lenient=False, slot=slot)


def _pool(scene: Scene, rule: Rule, i: int, need: Need) -> list[Candidate]:
    """What it may be, the likeliest first."""
    thing = need.role != "subj" and rule.antecedent.person is False and _somebody_acts(scene, i)
    pool = scene.candidates(
        need,
        rule.antecedent,
        among=lambda m: (
            not _said_here(scene, m, i)
            and not (thing and is_somebody(m))
            and not (rule.antecedent.person and _is_plain_thing(scene, m))
        ),
    )
    return _several_first(scene, pool) if need.number == "pl" else pool


def _is_plain_thing(scene: Scene, mention: Mention) -> bool:
    """ "May the Landlord enter the Premises?": "he" is not the Premises, nor, behind "What is the
    Warranty Period?", the period.
    """
    if not mention.determiner or acts(mention):
        return False
    return mention.role != "subj" or any(
        one.verb == "be" and one.same_thing(mention) and _asks_what(scene, one)
        for one in scene.discourse.mentions()
    )


def _asks_what(scene: Scene, mention: Mention) -> bool:
    opening = scene.discourse.moments[mention.turn].analysis.words[:1]
    return any(w.lower in {"what", "when", "which"} for w in opening)


def _taken(scene: Scene, rule: Rule, i: int, choice: Choice) -> Found:
    word, end = scene.words[i], _end_of_name(scene, rule, i, choice.mention)
    target = definite(choice.mention)
    owned = word.lower in _POSSESSIVE_PRONOUNS or (word.lower == "her" and word.pos == "DET")
    text = possessive(target) if owned else target
    said = scene.analysis.text[word.start : end]
    reference = Reference(
        said,
        word.start,
        end,
        bare(choice.mention),
        rule.id,
        choice.score,
        scene.is_sole(i, choice),
    )
    return Found(
        (reference,),
        (Edit(word.start, end, in_place_of(word.text, text)),)
        if end > word.end
        else _written(scene, i, in_place_of(word.text, text), choice.mention),
        explain(said, choice, rule, target),
    )


def _end_of_name(scene: Scene, rule: Rule, i: int, mention: Mention) -> int:
    """Where "that modal" ends, although "modal" was taken for what the settings modal becomes."""
    follows = scene.word(i + 1)
    named = follows is not None and follows.lower == mention.head_text.lower()
    if follows is not None and named and rule.signal.kind == "demonstrative":
        return follows.end
    return scene.words[i].end


_CLITICS: Final = {"'ll": "will", "'ve": "have", "'re": "are"}
_HAS: Final = frozenset("been got had become".split())


def _written(scene: Scene, i: int, text: str, mention: Mention) -> tuple[Edit, ...]:
    """The antecedent in the pronoun's place, and the verb in its number: "does the Tenant have"."""
    words, word = scene.words, scene.words[i]
    edit = Edit(word.start, word.end, text)
    follows = words[i + 1] if i + 1 < len(words) else None
    if word.pos != "PRON" or scene.role_at(i) != "subj":
        return (edit,)
    if follows is not None and follows.start == word.end and follows.lower in {"'s", *_CLITICS}:
        after = words[i + 2].lower if i + 2 < len(words) else ""
        full = _CLITICS.get(follows.lower) or ("has" if after in _HAS else "is")
        full = agreeing(full, plural=mention.number == "pl")
        return (Edit(word.start, follows.end, f"{text} {full}"),)
    if word.lower != "they" or mention.number == "pl" or not is_somebody(mention):
        return (edit,)
    verb = _finite(scene, i)
    if verb is None:
        return (edit,)
    plain = verb.lower not in AGREEING
    form = third_person(verb.text) if plain else agreeing(verb.text, plural=False)
    return (edit, Edit(verb.start, verb.end, form))


def _finite(scene: Scene, i: int) -> Word | None:
    """The verb that agrees with the subject at word ``i``; None behind "may" or "must"."""
    before = scene.word(i - 1)
    if before is not None and (before.pos == "AUX" or before.lower in AGREEING):
        return before if before.lower in AGREEING else None
    follows = next((w for w in scene.words[i + 1 : i + 4] if w.pos != "ADV"), None)
    if follows is None or follows.pos not in {"AUX", "VERB"}:
        return None
    if follows.lower in AGREEING:
        return follows
    return follows if follows.pos == "VERB" and follows.lower == follows.lemma else None


def _several_first(scene: Scene, pool: list[Candidate]) -> list[Candidate]:
    """ "they" is one party only where no people were named lately: "do they need a permit"."""
    people = any(
        c.mention.number == "pl" and acts(c.mention) and scene.discourse.age(c.mention) <= 1
        for c in pool
    )
    if not people:
        return pool
    return [c for c in pool if c.mention.number == "pl" or c.mention.name_like]


def _somebody_acts(scene: Scene, i: int) -> bool:
    """ "can they deduct it", "if he can't pay it": "they" and "he" are the one who acts."""
    clause = scene.analysis.clauses[scene.analysis.clause_of(i)]
    return any(word.lower in {"he", "she", "they"} for word in scene.words[clause.start : i])


def _said_here(scene: Scene, mention: Mention, i: int) -> bool:
    """Named beside the pronoun in its own clause: the pronoun means something else."""
    clause = scene.analysis.clause_of(i)
    return any(
        mention.same_thing(other)
        for other in scene.mentions
        if scene.analysis.clause_of(other.start) == clause and not other.parts
    )


def _agrees(mention: Mention, rule: Rule) -> bool:
    number, person = rule.antecedent.number, rule.antecedent.person
    either_number = mention.name_like and not mention.grouped
    somebody = number == "pl" and is_somebody(mention)
    return (number in {"any", mention.number} or either_number or somebody) and (
        person is None or mention.person == person or mention.name_like
    )


def _may_be(mention: Mention, rule: Rule) -> bool:
    """Agrees, or is a role that "he" and "she" may stand for in the same message."""
    return _agrees(mention, rule) or (bool(rule.antecedent.person) and is_individual(mention))


def _fallback(scene: Scene, rule: Rule, i: int) -> Choice | None:
    """They -> the Trustee: singular names of parties, when nothing plural was said."""
    if not rule.antecedent.fallback:
        return None
    labels = rule.antecedent.fallback
    base = rule.antecedent
    need = scene.need_at(i, base=AntecedentNeed())
    pool = scene.candidates(
        need, base, among=lambda m: m.label in labels or ("party" in labels and _is_party(m, rule))
    )
    return choose(scene, pool, base)


def _is_party(mention: Mention, rule: Rule) -> bool:
    """Someone who acts: person, role, agent noun in capitals; a group of people for "they"."""
    acting = mention.head.endswith("ent") and mention.head_text[:1].isupper()
    somebody = is_individual(mention) if rule.antecedent.person else is_somebody(mention)
    return mention.person or acting or somebody


def _is_several(choice: Choice | None) -> bool:
    """Not "a session ticket", which is one of its kind and nobody."""
    if choice is None:
        return False
    one = choice.mention.number == "sg" and choice.mention.determiner in {"a", "an"}
    return not one or is_somebody(choice.mention)


def _can_own_here(mention: Mention) -> bool:
    """ "let users edit their comments": a known owner in the same clause, nothing new."""
    new = mention.determiner in {"a", "an", "some", "another"}
    made = mention.determiner == "" and mention.verb in {"add", "write", "create", "make", "build"}
    known = not new and not made and (mention.role in {"subj", "obj"} or mention.grouped)
    return known or (new and mention.role == "subj")  # "a parcel is lost and its sender ..."


def _antecedent_inside(scene: Scene, i: int, rule: Rule) -> bool:
    """True when an earlier clause of the message holds a fitting noun or the same pronoun."""
    analysis = scene.analysis
    clause = analysis.clause_of(i)
    for mention in scene.mentions:
        if mention.end > i or is_time(mention) or not _may_be(mention, rule):
            continue
        if _is_covered(scene, rule, mention.start, mention.end):
            continue  # "if it's not too much work"
        asked_about = mention.prep == "about" and not mention.verb
        if mention.determiner in cc.WH or asked_about or _is_occasion(scene, mention):
            continue
        where = analysis.clause_of(mention.start)
        if where == clause:
            if scene.words[i].pos == "DET" and _can_own_here(mention):
                return True
            continue
        heads_relative = (
            analysis.clauses[clause].subordinate and mention.end == analysis.clauses[clause].start
        )
        if not heads_relative:
            return True
    same = next((family for family in _FAMILIES if scene.words[i].lower in family), frozenset())
    return any(
        w.lower in same
        and _is_pronoun(w)
        and not _is_covered(scene, rule, w.i, w.i + 1)
        and not _is_said_again(scene, w.i)
        for w in scene.words[:i]
    )


def _is_said_again(scene: Scene, i: int) -> bool:
    """ "unless it takes long, make it shorter": the command tells what is meant, and the clause
    before it may say something of no thing at all.
    """
    analysis, word = scene.analysis, scene.words[i]
    clause = analysis.clause_of(i)
    if not analysis.clauses[clause].subordinate or word.pos != "PRON":
        return False
    return any(
        later.lower == word.lower
        and later.pos == "PRON"
        and analysis.clause_of(later.i) != clause
        and not analysis.clauses[analysis.clause_of(later.i)].subordinate
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


def _is_covered(scene: Scene, rule: Rule, start: int, end: int) -> bool:
    first, last = scene.words[start], scene.words[end - 1]
    return covered(rule, scene.analysis.text, first.start, last.end)


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
        need = scene.need_at(i, base=rule.antecedent, role="pobj")
        newest = frozenset(w.lower for w in scene.discourse.last.analysis.words)
        places = scene.candidates(need, rule.antecedent, among=lambda m: _is_place(scene, rule, m))
        pool = _where_first(places, newest) or scene.candidates(need, rule.antecedent)
        choice = choose(scene, pool, rule.antecedent)
        if choice is None or any(m.head == choice.mention.head for m in scene.mentions):
            continue  # with the second: "the header should not be sticky there"
        text = _with_preposition(scene, i, choice.mention)
        yield Found(
            (
                Reference(
                    word.text, word.start, word.end, bare(choice.mention), rule.id, choice.score
                ),
            ),
            (Edit(word.start, word.end, text),),
            explain(word.text, choice, rule, text),
        )


def _where_first(places: list[Candidate], newest: frozenset[str]) -> list[Candidate]:
    """What stood behind a preposition of place, or is named again by the newest message, before
    what was acted on."""
    weighed = [
        replace(
            c,
            score=c.score
            * (LOCATED if c.mention.prep in _LOCATING else 1.0)
            * (LOCATED if c.mention.head in newest else 1.0),
        )
        for c in places
    ]
    return sorted(weighed, key=lambda c: -c.score)


def _is_place(scene: Scene, rule: Rule, mention: Mention) -> bool:
    if mention.prep in _AT_REST and mention.role == "pobj":
        return True
    return scene.knowledge.is_surface(mention) or any(
        scene.knowledge.is_a(mention, noun) for noun in rule.signal.nouns
    )


def _with_preposition(scene: Scene, i: int, mention: Mention) -> str:
    place = definite(mention)
    if scene.words[i - 1].pos == "ADP":
        return place
    clause = scene.analysis.clauses[scene.analysis.clause_of(i)]
    goes = clause.verb is not None and scene.words[clause.verb].lemma in _GOAL_VERBS
    reached = any(w.lower == "to" and w.pos == "ADP" for w in scene.words[clause.start : i])
    if goes and not reached:
        return f"to {place}"
    if mention.head in _POINTS or mention.head_text.lower() in _POINTS:
        return f"at {place}"
    return f"{'on' if scene.knowledge.is_surface(mention) else 'in'} {place}"
