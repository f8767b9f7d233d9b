"""The fee, after a question about an appeal: nouns that need an "of" or a "for" to say which."""

from collections.abc import Iterator
from typing import Final

from kds.brain.turn import Edit, Reference
from kds.router.discourse.agency import acts
from kds.router.discourse.center import is_measure
from kds.router.discourse.history import Moment
from kds.router.discourse.mention import Mention, is_time
from kds.router.language import closed_class as cc
from kds.router.language.lexicon import singular
from kds.router.references.rendering import bare, definite
from kds.router.references.rule import Rule
from kds.router.references.scene import Found, Scene, covered

_SCORE: Final = 0.6
"""Shown for these: the only thing that was asked about completes them, and nothing competes."""
_FOR: Final = frozenset("fee charge price deadline limit form reason penalty".split())
_DEED_ENDINGS: Final = ("tion", "sion", "ment", "ance", "ence", "al")
_SHARED: Final = 5
"""Letters that a verb and the noun made from it share: "notify", "notification"."""


def find_complements(scene: Scene, rule: Rule) -> Iterator[Found]:
    """ "Do I get the fee back?" after a question about an appeal: the fee for an appeal."""
    things = [m for m in scene.mentions if not m.parts and not is_time(m)]
    if len(things) != 1 or not scene.discourse or any(_points(w.lower) for w in scene.words):
        return
    noun, moment = things[0], scene.discourse.last
    topic = _topic(moment)
    if topic is None or not _incomplete(scene, noun, moment) or noun.head == topic.head:
        return
    start, end = scene.words[noun.start].start, scene.words[noun.end - 1].end
    if covered(rule, scene.analysis.text, start, end):
        return
    said = scene.analysis.text[start:end]
    text = f"{'for' if noun.head in _FOR else 'of'} {definite(topic)}"
    yield Found(
        (Reference(said, start, end, bare(topic), rule.id, _SCORE),),
        (Edit(end, end, f" {text}"),),
        f"'{said}' -> '{said} {text}' ({rule.id})",
    )


def _points(word: str) -> bool:
    return word in cc.DEMONSTRATIVES or word in {"it", "its", "they", "them", "their", "one"}


def _incomplete(scene: Scene, noun: Mention, moment: Moment) -> bool:
    """A bare "the fee" in a question that nothing completes, and that was not named before."""
    clause = scene.analysis.clauses[scene.analysis.clause_of(noun.start)]
    if noun.determiner != "the" or noun.modifiers or noun.kind or noun.name:
        return False
    follows = scene.words[noun.end].pos if noun.end < len(scene.words) else ""
    if clause.mood != "question" or clause.subordinate or follows == "ADP":
        return False
    if any(known.head == noun.head for known in scene.discourse.mentions()):
        return False
    return is_measure(noun.head) or _is_deed(noun.head, moment)


def _is_deed(head: str, moment: Moment) -> bool:
    """ "the notification" after a question with "notify"."""
    return head.endswith(_DEED_ENDINGS) and any(
        w.pos == "VERB" and len(w.lemma) > _SHARED and w.lemma[:_SHARED] == head[:_SHARED]
        for w in moment.analysis.words
    )


def _topic(moment: Moment) -> Mention | None:
    """What the newest question is about, when that is one thing that nobody is."""
    if all(clause.mood != "question" for clause in moment.analysis.clauses):
        return None
    things = [
        m
        for m in moment.mentions
        if not m.parts and not is_time(m) and not acts(m) and m.determiner not in cc.WH
    ]
    things = [m for m in things if not is_measure(singular(m.head)) and m.role not in {"poss"}]
    topics = [m for m in things if m.topic]
    outer = [m for m in things if m.role != "of"] or things
    found = topics or outer
    return found[0] if len(found) == 1 and not found[0].subordinate else None
