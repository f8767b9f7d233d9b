"""Pronouns and bare demonstratives: it, they, him, this, that."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Final

from kds.brain.turn import Edit, Reference
from kds.router.discourse.fitness import Slot
from kds.router.discourse.inquiry import last_question
from kds.router.discourse.mention import Mention, acts, is_individual, is_somebody, is_time
from kds.router.discourse.salience import Candidate, Need
from kds.router.language import closed_class as cc
from kds.router.language.inflection import AGREEING, agreeing, third_person
from kds.router.language.lexicon import is_plural
from kds.router.language.words import Word
from kds.router.references.caution import reservation
from kds.router.references.enumerations import varied
from kds.router.references.rendering import (
    bare,
    bare_text,
    definite,
    in_place_of,
    in_plural,
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
_ANY: Final = frozenset({"a", "an"})
_HAVING: Final = frozenset({"have", "get", "find"})


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
        if covered(rule, scene.analysis.text, word.start, word.end):
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
    if need.number == "pl" and need.role == "subj" and _asks_who_acts(scene):
        return Found((), (), f"'{word.text}' is left: nobody said who ({rule.id})", left=word.text)
    if need.role == "subj" and (doing := _doing(scene, rule)):
        return replaced(scene, rule, (word.start, word.end), doing, doing)
    pool = _pool(scene, rule, i, need)
    choice = choose(scene, pool, rule.antecedent)
    if choice is None or not _agrees(choice.mention, rule):
        choice = _fallback(scene, rule, i)
    if need.number == "pl" and not _is_several(choice):
        choice = _of_the_kind(scene) or choice
    if choice is None and need.number == "pl" and (pair := varied(scene)):
        both = " and ".join(definite(part) for part in pair)
        return replaced(scene, rule, (word.start, word.end), both, bare_text(both))
    if choice is None:
        return Found((), (), abstained(scene, word.text, pool, rule), left=word.text)
    if against := reservation(scene, i, choice, plural=need.number == "pl"):
        note = f"'{word.text}' is left: {against} ({rule.id})"
        return Found((), (), note, left=word.text)
    return _taken(scene, rule, i, choice)


def _asks_who_acts(scene: Scene) -> bool:
    """ "Who may remove the Trustee?": "they" are those, who have no name yet."""
    question = last_question(scene.discourse)
    if question is None or question.analysis is not scene.discourse.last.analysis:
        return False
    recent = (m for m in scene.discourse.mentions() if scene.discourse.age(m) <= _KINDS_LAST)
    if any(m.number == "pl" and acts(m) for m in recent):
        return False
    who = question.span(question.wh).lower() == "who"
    acting = question.verb is not None and question.verb.lemma != "be"
    return who and acting and not question.subject_text


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


_KINDS_LAST: Final = 1
"""Messages back within which "them" may be things of the kind that was asked about."""
_KIND: Final = 0.6
"""Shown for them: nothing competes, and nothing was said in the plural."""


def _is_several(choice: Choice | None) -> bool:
    """Not "a session ticket", which is one of its kind and nobody."""
    if choice is None:
        return False
    one = choice.mention.number == "sg" and choice.mention.determiner in _ANY
    return not one or is_somebody(choice.mention)


def _of_the_kind(scene: Scene) -> Choice | None:
    """Things of the kind that the latest questions are about: "Who issues them?" after "How long
    is a session ticket valid?" means session tickets."""
    topics = [m for m in scene.discourse.topics() if scene.discourse.age(m) <= _KINDS_LAST]
    if not topics or topics[-1].determiner not in _ANY or is_time(topics[-1]):
        return None
    one = topics[-1]
    several = replace(one, text=in_plural(one), determiner="", number="pl")
    return Choice(several, _KIND, 1.0, scene.discourse.age(one))


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
        if _is_addressed(scene, mention):
            continue
        asked_about = mention.prep == "about" and not mention.verb
        if mention.determiner in cc.WH or asked_about:
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
        w.lower in same and _is_pronoun(w) and not _is_covered(scene, rule, w.i, w.i + 1)
        for w in scene.words[:i]
    )


def _is_addressed(scene: Scene, mention: Mention) -> bool:
    """ "When you get a chance, ...": of the one who is asked, and no thing of the talk."""
    clause = scene.analysis.clauses[scene.analysis.clause_of(mention.start)]
    before = [w.lower for w in scene.words[clause.start : mention.start]]
    return clause.subordinate and mention.verb in _HAVING and "you" in before


def _is_covered(scene: Scene, rule: Rule, start: int, end: int) -> bool:
    first, last = scene.words[start], scene.words[end - 1]
    return covered(rule, scene.analysis.text, first.start, last.end)
