"""What the user taught: "the button" is the FAB button, wherever that was talked about.

The user's own word settles the reference: no rule is asked, and nothing is weighed. Where the
conversation has not mentioned the thing, and for every other description, nothing changes.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from kds.brain.learning.examples import LearnedReference
from kds.brain.learning.phrases import DETERMINERS, thing
from kds.brain.turn import Edit, Reference, Turn
from kds.router.discourse.history import Discourse
from kds.router.discourse.mention import Mention, is_time
from kds.router.language.words import Phrase
from kds.router.references.nouns import is_specified
from kds.router.references.rendering import bare, bare_text, definite, in_place_of
from kds.router.references.rule import Rule
from kds.router.references.scene import Found, Scene, choose, covered, replaced, search

TAUGHT: Final = "taught"
"""Stands for a rule in references that the user has settled."""

MOST_THINGS: Final = 12
"""Things that one is given to choose from."""

_WHERE: Final = frozenset("in on at with for behind below above under near".split())
"""Words behind a description that may say which one: "the button on the login page"."""


def find_taught(scene: Scene, taught: Sequence[LearnedReference]) -> Iterator[Found]:
    """Descriptions whose meaning was taught, where that is among what was talked about."""
    for phrase in _descriptions(scene) if taught else ():
        start, end = _span(scene, phrase)
        text = scene.analysis.text[start:end]
        settled = _settled(thing(text), taught, scene.discourse)
        if settled is None:
            continue
        lesson, mention = settled
        written = definite(mention)
        note = f"'{text}' -> '{written}' (you taught it: kds learn undo {lesson.id} takes it back)"
        reference = Reference(text, start, end, bare(mention), TAUGHT, 1.0)
        yield Found((reference,), (Edit(start, end, in_place_of(text, written)),), note)


def is_taught(turn: Turn, edit: Edit) -> bool:
    """Whether an edit writes out what the user taught, and so needs no decision."""
    return any(
        one.rule == TAUGHT and (one.start, one.end) == (edit.start, edit.end)
        for one in turn.references
    )


def described(scene: Scene) -> Iterator[tuple[int, int]]:
    """Where the message describes a thing without saying which: what may be taught."""
    return (_span(scene, phrase) for phrase in _descriptions(scene))


def things(discourse: Discourse) -> list[str]:
    """What was talked about, as it would be written out, the newest first."""
    named: dict[str, str] = {}
    for mention in discourse.mentions():
        if not is_time(mention):
            named.setdefault(thing(bare(mention)), definite(mention))
    return list(named.values())[:MOST_THINGS]


def _settled(
    key: str, taught: Sequence[LearnedReference], discourse: Discourse
) -> tuple[LearnedReference, Mention] | None:
    """What was taught last for a description of all that the conversation has mentioned."""
    for lesson in reversed(taught):
        if thing(lesson.text) == key:
            meant = thing(lesson.antecedent)
            for mention in discourse.mentions():
                if thing(bare(mention)) == meant:
                    return lesson, mention
    return None


def _descriptions(scene: Scene) -> Iterator[Phrase]:
    """ "the button", "that job"; not "the button in the header", which says which one."""
    for phrase in scene.analysis.phrases:
        describes = phrase.determiner in DETERMINERS and phrase.end - phrase.start > 1
        if describes and not phrase.possessor and not _says_which(scene, phrase):
            yield phrase


def _says_which(scene: Scene, phrase: Phrase) -> bool:
    follows = scene.lower(phrase.end)
    return follows in _WHERE or is_specified(scene, phrase)


def _span(scene: Scene, phrase: Phrase) -> tuple[int, int]:
    return scene.words[phrase.start].start, scene.words[phrase.end - 1].end


DEFINED: Final = 0.9
"""Shown for wordings that the user defined."""


def find_wordings(scene: Scene, rule: Rule) -> Iterator[Found]:
    """Every cue of the rule; its group ``ref`` (or all of it) is what gets replaced."""
    text = scene.analysis.text
    for pattern in rule.signal.cues:
        match = search(pattern, text)
        if match is None:
            continue
        start, end = match.span("ref") if "ref" in match.groupdict() else match.span()
        target = _target(scene, rule, start)
        if start >= end or covered(rule, text, start, end) or target is None:
            continue
        written, shown = target
        yield replaced(scene, rule, (start, end), written, shown, DEFINED)


def _target(scene: Scene, rule: Rule, start: int) -> tuple[str, str] | None:
    """What to write, and what `context_ref` shows."""
    if rule.render.text:
        return rule.render.text, bare_text(rule.render.text)
    at = next((w.i for w in scene.words if w.end > start), 0)
    need = scene.need_at(at, base=rule.antecedent)
    choice = choose(scene, scene.candidates(need, rule.antecedent), rule.antecedent)
    return None if choice is None else (definite(choice.mention), bare(choice.mention))
