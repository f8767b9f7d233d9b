"""There: the place that was talked about, with the preposition that suits it."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from kds.brain.turn import Edit, Reference
from kds.router.mention import Mention
from kds.router.rendering import bare, definite
from kds.router.rule import Rule
from kds.router.salience import Candidate
from kds.router.scene import Found, Scene, choose, covered, explain

LOCATED: Final = 2.5
"""Lead of a place named as one over a thing that could also be a place."""

_LOCATING: Final = frozenset("in on to into onto at inside from within".split())
_GOAL_VERBS: Final = frozenset(
    "move copy send push deploy upload migrate go navigate transfer port".split()
)


def find_places(scene: Scene, rule: Rule) -> Iterator[Found]:
    """A locative "there" (not "there is")."""
    for i, word in enumerate(scene.words):
        if word.lower not in rule.signal.lemma or word.pos != "ADV" or i == 0:
            continue
        if covered(rule, scene.analysis.text, word.start, word.end):
            continue
        need = scene.need_at(i, base=rule.antecedent, role="pobj")
        places = scene.candidates(need, rule.antecedent, among=lambda m: _is_place(scene, rule, m))
        pool = _where_first(places) or scene.candidates(need, rule.antecedent)
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


def _where_first(places: list[Candidate]) -> list[Candidate]:
    """What stood behind a preposition of place before what was acted on."""
    weighed = [
        replace(c, score=c.score * (LOCATED if c.mention.prep in _LOCATING else 1.0))
        for c in places
    ]
    return sorted(weighed, key=lambda c: -c.score)


def _is_place(scene: Scene, rule: Rule, mention: Mention) -> bool:
    return scene.knowledge.is_surface(mention) or any(
        scene.knowledge.is_a(mention, noun) for noun in rule.signal.nouns
    )


def _with_preposition(scene: Scene, i: int, mention: Mention) -> str:
    place = definite(mention)
    if scene.words[i - 1].pos == "ADP":
        return place
    clause = scene.analysis.clauses[scene.analysis.clause_of(i)]
    if clause.verb is not None and scene.words[clause.verb].lemma in _GOAL_VERBS:
        return f"to {place}"
    return f"{'on' if scene.knowledge.is_surface(mention) else 'in'} {place}"
