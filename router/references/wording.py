"""Wordings of the user's own: a pattern stands for a text, or for what is being worked on.

For rule files in a workspace: "the usual place" -> "the staging cluster", or "dat ding" ->
the antecedent.
"""

from collections.abc import Iterator
from typing import Final

from kds.brain.turn import Edit, Reference
from kds.router.references.rendering import bare, bare_text, definite, in_place_of
from kds.router.references.rule import Rule
from kds.router.references.scene import Found, Scene, choose, covered, search

_SCORE: Final = 0.9
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
        yield Found(
            (Reference(text[start:end], start, end, shown, rule.id, _SCORE),),
            (Edit(start, end, in_place_of(text[start:end], written)),),
            f"'{text[start:end]}' -> '{written}' ({rule.id})",
        )


def _target(scene: Scene, rule: Rule, start: int) -> tuple[str, str] | None:
    """What to write, and what `context_ref` shows."""
    if rule.render.text:
        return rule.render.text, bare_text(rule.render.text)
    at = next((w.i for w in scene.words if w.end > start), 0)
    need = scene.need_at(at, base=rule.antecedent)
    choice = choose(scene, scene.candidates(need, rule.antecedent), rule.antecedent)
    return None if choice is None else (definite(choice.mention), bare(choice.mention))
