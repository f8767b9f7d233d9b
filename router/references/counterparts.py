"""What is told apart from what was just talked about: "mine", "the other one"."""

from collections.abc import Iterator
from typing import Final

from kds.brain.turn import Edit, Reference
from kds.router.discourse.agency import acts
from kds.router.discourse.inquiry import last_question
from kds.router.discourse.mention import Mention, is_time
from kds.router.references.rendering import bare, definite
from kds.router.references.rule import Rule
from kds.router.references.scene import Found, Scene, search

_SCORE: Final = 0.8
"""Shown for what the form of the message settles, where no antecedents compete."""
_OWNERS: Final = {"mine": "my", "yours": "your", "ours": "our"}


def find_owned(scene: Scene, rule: Rule) -> Iterator[Found]:
    """ "Can I swap mine?" after "When does a night shift end?": my night shift."""
    match = next((m for p in rule.signal.cues if (m := search(p, scene.analysis.text))), None)
    thing = _topic(scene)
    if match is None or thing is None:
        return
    word = match["ref"]
    at = match.start("ref")
    if any(scene.words[m.start].start < at for m in scene.mentions if not m.parts):
        return  # "when does the chair become mine"
    text = f"{_OWNERS[word.lower()]} {thing.text}"
    start, end = match.span("ref")
    yield _found(scene, rule, start, end, text, bare(thing))


def _topic(scene: Scene) -> Mention | None:
    """The thing that the last question is about; nothing that somebody else owns."""
    question = last_question(scene.discourse)
    if question is None:
        return None
    things = [
        m
        for m in question.mentions
        if not m.parts and not is_time(m) and not acts(m) and m.role != "poss"
    ]
    own = next((m for m in things if m.determiner in {"my", "your", "our"}), None)
    return own or next((m for m in things if m.topic), None) or next(iter(things), None)


def find_others(scene: Scene, rule: Rule) -> Iterator[Found]:
    """ "more than the other one": of two of a kind, the one that was talked about before."""
    match = next((m for p in rule.signal.cues if (m := search(p, scene.analysis.text))), None)
    pair = pair_of_a_kind(scene)
    if match is None or pair is None:
        return
    start, end = match.span("ref")
    edits = [Edit(start, end, definite(pair[0]))]
    this = match.groupdict().get("this")
    if this:
        edits.insert(0, Edit(*match.span("this"), definite(pair[1])))
    found = _found(scene, rule, start, end, definite(pair[0]), bare(pair[0]))
    yield Found(found.references, tuple(edits), found.note)


def pair_of_a_kind(scene: Scene) -> tuple[Mention, Mention] | None:
    """The newest two things of one kind that something in front tells apart, oldest first."""
    newest: Mention | None = None
    for mention in scene.discourse.mentions():
        if mention.parts or mention.reply or is_time(mention) or not mention.modifiers:
            continue
        if newest is None:
            newest = mention if mention.topic else None
        elif mention.head == newest.head and not mention.same_thing(newest):
            return mention, newest
    return None


def _found(scene: Scene, rule: Rule, start: int, end: int, text: str, target: str) -> Found:
    said = scene.analysis.text[start:end]
    shown = text[0].upper() + text[1:] if said[:1].isupper() else text
    return Found(
        (Reference(said, start, end, target, rule.id, _SCORE),),
        (Edit(start, end, shown),),
        f"'{said}' -> '{shown}' ({rule.id})",
    )
