"""Pronouns and bare demonstratives: it, they, him, this, that (DESIGN 5)."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Final

from kds.brain.turn import Edit, Reference
from kds.router import closed_class as cc
from kds.router.mention import Mention, is_time
from kds.router.rendering import bare, definite, in_place_of, possessive
from kds.router.rule import Rule
from kds.router.scene import Choice, Found, Scene, abstained, choose, covered, explain
from kds.router.words import Word

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
        scene, rule, lambda i: scene.words[i].pos == "PRON" and not _is_clause_marker(scene, i)
    )


def _pointing(scene: Scene, rule: Rule, stands: Callable[[int], bool]) -> Iterator[Found]:
    """The rule's words where they stand as pronouns, and point out of the message."""
    for i, word in enumerate(scene.words):
        if word.lower not in rule.signal.lemma or not stands(i):
            continue
        if covered(rule, scene.analysis.text, word.start, word.end):
            continue
        if "same_message" in rule.signal.excludes and _antecedent_inside(scene, i, rule):
            continue
        yield _resolve(scene, rule, i)


def find_events(scene: Scene, rule: Rule) -> Iterator[Found]:
    """ "When did this start?" after "The webhook is failing": start failing."""
    for i, word in enumerate(scene.words):
        if word.lower not in rule.signal.lemma or i + 1 >= len(scene.words):
            continue
        verb = scene.words[i + 1]
        event = _last_event(scene)
        if verb.pos != "VERB" or verb.lemma not in rule.signal.verbs or event is None:
            continue
        subject, doing = event
        target = definite(subject)
        yield Found(
            (Reference(word.text, word.start, word.end, bare(subject), rule.id, 0.8),),
            (
                Edit(word.start, word.end, in_place_of(word.text, target)),
                Edit(verb.end, verb.end, f" {doing}"),
            ),
            f"'{word.text} {verb.text}' -> '{target} ... {doing}' ({rule.id})",
        )


def _last_event(scene: Scene) -> tuple[Mention, str] | None:
    """Subject and -ing verb of the newest statement of an ongoing event."""
    if not scene.discourse:
        return None
    moment = scene.discourse.last
    for clause in moment.analysis.clauses:
        if clause.verb is None or moment.analysis.words[clause.verb].tag != "VBG":
            continue
        subject = next(
            (m for m in moment.mentions if m.role == "subj" and m.end <= clause.verb), None
        )
        if subject is not None:
            return subject, moment.analysis.words[clause.verb].text
    return None


def _is_pronoun(word: Word) -> bool:
    return word.pos == "PRON" or (
        word.pos == "DET" and word.lower in _POSSESSIVE_PRONOUNS | {"her"}
    )


def _is_clause_marker(scene: Scene, i: int) -> bool:
    """A relative "that" opens a subordinate clause of its own."""
    clause = scene.analysis.clauses[scene.analysis.clause_of(i)]
    return clause.subordinate and clause.start == i and i > 0 and scene.words[i].lower == "that"


def _resolve(scene: Scene, rule: Rule, i: int) -> Found:
    """The reference at word ``i``; when nothing is good enough, a Found that only says so."""
    word = scene.words[i]
    need = scene.need_at(i, base=rule.antecedent)
    if rule.signal.kind == "demonstrative":
        plural = word.lower in {"these", "those"}
        need = replace(need, number="pl" if plural else need.number, lenient=False)
    pool = scene.candidates(need, rule.antecedent, among=lambda m: not _said_here(scene, m, i))
    choice = choose(scene, pool, rule.antecedent)
    if (choice is not None and not _agrees(choice.mention, rule)) or choice is None:
        choice = _fallback(scene, rule, i)
    if choice is None:
        return Found((), (), abstained(word.text, pool, rule))
    target = definite(choice.mention)
    owned = word.lower in _POSSESSIVE_PRONOUNS or (word.lower == "her" and word.pos == "DET")
    text = possessive(target) if owned else target
    return Found(
        (Reference(word.text, word.start, word.end, bare(choice.mention), rule.id, choice.score),),
        (Edit(word.start, word.end, in_place_of(word.text, text)),),
        explain(word.text, choice, rule, target),
    )


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
    return (number is None or mention.number == number or either_number) and (
        person is None or mention.person == person or mention.name_like
    )


def _fallback(scene: Scene, rule: Rule, i: int) -> Choice | None:
    """They -> the Trustee: singular names of parties, when nothing plural was said."""
    if not rule.antecedent.fallback:
        return None
    labels = rule.antecedent.fallback
    base = rule.antecedent
    need = scene.need_at(i, base=type(base)(number=None, person=None))
    pool = scene.candidates(
        need, base, among=lambda m: m.label in labels or ("party" in labels and _is_party(m))
    )
    return choose(scene, pool, base)


def _is_party(mention: Mention) -> bool:
    """A singular name of someone who acts: person, agent noun in capitals, group of people."""
    acting = mention.head.endswith(("er", "or", "ee", "ist", "ant", "ent"))
    return mention.person or (acting and mention.head_text[:1].isupper())


def _can_own_here(mention: Mention) -> bool:
    """ "let users edit their comments": a known owner in the same clause, nothing new."""
    new = mention.determiner in {"a", "an", "some", "another"}
    made = mention.determiner == "" and mention.verb in {"add", "write", "create", "make", "build"}
    return not new and not made and (mention.role in {"subj", "obj"} or mention.grouped)


def _antecedent_inside(scene: Scene, i: int, rule: Rule) -> bool:
    """True when an earlier clause of the message holds a fitting noun or the same pronoun."""
    analysis = scene.analysis
    clause = analysis.clause_of(i)
    for mention in scene.mentions:
        if mention.end > i or is_time(mention) or not _agrees(mention, rule):
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
    return any(w.lower in same and _is_pronoun(w) for w in scene.words[:i])
