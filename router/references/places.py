"""There: the place that was talked about, with the preposition that suits it."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from kds.brain.turn import Edit, Reference
from kds.router.discourse.mention import Mention
from kds.router.discourse.salience import Candidate
from kds.router.english import words
from kds.router.references.rendering import bare, definite
from kds.router.references.rule import Rule
from kds.router.references.scene import Found, Scene, choose, covered, explain

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
        if choice is None:
            continue
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
