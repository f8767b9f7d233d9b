"""What the user taught or wrote as a rule: "the button" is the FAB button, wherever that was talked
about.

The user's own word settles the reference: no rule is asked, and nothing is weighed. Where the
conversation has not mentioned the thing, and for every other description, nothing changes.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from kds.brain.learning.examples import LearnedReference
from kds.brain.learning.phrases import DETERMINERS, thing
from kds.brain.turn import Edit, Reference, Turn
from kds.router.discourse.history import Discourse
from kds.router.discourse.mentions import Mention
from kds.router.references.nouns import is_specified
from kds.router.references.rendering import bare, bare_text, definite, in_place_of
from kds.router.references.ruleset import Rule
from kds.router.references.scene import Found, Scene, Span, covered, search, written

TAUGHT: Final = "taught"
"""Stands for a rule in references that the user has settled."""

DEFINED: Final = 0.9
"""Shown for wordings that the user defined."""

_WHERE: Final = frozenset("in on at with for behind below above under near".split())
"""Words behind a description that may say which one: "the button on the login page"."""


def find_taught(scene: Scene, taught: Sequence[LearnedReference]) -> Iterator[Found]:
    """Descriptions whose meaning was taught, where that is among what was talked about."""
    for start, end in described(scene) if taught else ():
        text = scene.analysis.text[start:end]
        settled = _settled(thing(text), taught, scene.discourse)
        if settled is None:
            continue
        lesson, mention = settled
        name = definite(mention)
        note = f"'{text}' -> '{name}' (you taught it: kds learn undo {lesson.id} takes it back)"
        reference = Reference(text, start, end, bare(mention), TAUGHT, 1.0)
        yield Found(reference, (Edit(start, end, in_place_of(text, name)),), note)


def _settled(
    key: str, taught: Sequence[LearnedReference], discourse: Discourse
) -> tuple[LearnedReference, Mention] | None:
    """What was taught last for a description of all that the conversation has mentioned."""
    for lesson in reversed(taught):
        meant = thing(lesson.antecedent) if thing(lesson.text) == key else None
        for mention in discourse.mentions() if meant is not None else ():
            if thing(bare(mention)) == meant:
                return lesson, mention
    return None


def is_taught(turn: Turn, edit: Edit) -> bool:
    """Whether an edit writes out what the user taught, and so needs no decision."""
    span = edit.start, edit.end
    return any(one.rule == TAUGHT and (one.start, one.end) == span for one in turn.references)


def described(scene: Scene) -> Iterator[Span]:
    """Where the message describes a thing without saying which: what may be taught.

    "The button", "that job"; not "the button in the header".
    """
    for phrase in scene.analysis.phrases:
        describes = phrase.determiner in DETERMINERS and phrase.end - phrase.start > 1
        which = scene.lower(phrase.end) in _WHERE or is_specified(scene, phrase)
        if describes and not phrase.possessor and not which:
            yield scene.chars(phrase.start, phrase.end)


def find_wordings(scene: Scene, rule: Rule) -> Iterator[Found]:
    """Every cue of the rule; its group ``ref`` (or all of it) is what gets replaced."""
    text = scene.analysis.text
    for match in (search(pattern, text) for pattern in rule.signal.cues):
        if match is None:
            continue
        start, end = match.span("ref" if "ref" in match.groupdict() else 0)
        if start >= end or covered(rule, text, start, end):
            continue
        if said := rule.render.text:
            yield written(scene, rule, (start, end), said, bare_text(said), score=DEFINED)
            continue
        at = next((w.i for w in scene.words if w.end > start), 0)
        need = scene.need_at(at, rule.antecedent)
        choice = scene.chosen(need, rule.antecedent)
        if choice is not None:
            name = bare(choice.mention)
            yield written(scene, rule, (start, end), definite(choice.mention), name, score=DEFINED)
