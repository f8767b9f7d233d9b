"""Answers to the assistant: yes to what it offers to do, with the offer written out."""

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Final

from kds.brain.turn import Edit, Reference
from kds.router.discourse.reply import as_command, closing_sentence, prose, without_purpose
from kds.router.references.rule import Rule
from kds.router.references.scene import Found, Scene, search

if TYPE_CHECKING:
    import regex

ACTION_WORDS: Final = 12
"""A longer offer is a plan: "yes" to it says more than one would write."""

_SCORE: Final = 0.9
"""Shown for answers: the reply says in so many words what is answered."""


_ASKED: Final = re.compile(r"\?+")

_Span = tuple[int, int]


def find_agreements(scene: Scene, rule: Rule) -> Iterator[Found]:
    """ "yes", "go ahead", "do it", where the reply closes with an offer.

    A cue must match the whole message. Its group ``deed`` is replaced by what was offered, which
    otherwise follows the message, behind "and" where the group ``on`` ends it. A ``verb`` must be
    that of the offer, and what matches ``weak`` answers the only question of a reply.
    """
    action = _offered(scene.reply, rule)
    match = _whole(scene.analysis.text, rule) if action else None
    groups = match.groupdict() if match is not None else {}
    if match is None or not _is_answered(groups, action, scene.reply):
        return
    text = scene.analysis.text
    if groups.get("deed"):
        start, end = match.span("deed")
        yield _found(rule, text, (start, end), Edit(start, end, action), action)
        return
    end = len(text.rstrip(" .!,"))
    joint = " and " if groups.get("on") else ", "
    yield _found(rule, text, (0, end), Edit(end, end, joint + action), action)


def _is_answered(groups: Mapping[str, str | None], action: str, reply: str) -> bool:
    """ "Raise it" repeats the verb of what was offered; a mere "ok" answers the only question."""
    if verb := groups.get("verb"):
        return verb.lower() == action.partition(" ")[0].lower()
    asked = _ASKED.findall(prose(reply))
    return not groups.get("weak") or (len(asked) == 1 and closing_sentence(reply).endswith("?"))


def _offered(reply: str, rule: Rule) -> str:
    """What the reply's last sentence offers to do; "" when it offers nothing that says enough."""
    closing = closing_sentence(reply) if reply else ""
    for pattern in rule.signal.offers:
        match = search(pattern, closing)
        if match is not None:
            offered = match.groupdict().get("action") or match.group()
            action = as_command(without_purpose(offered.strip(" .?!,")))
            return action if len(action.split()) <= ACTION_WORDS else ""
    return ""


def _whole(text: str, rule: Rule) -> "regex.Match[str] | None":
    found = _first(text, rule)
    return found if found is not None and found.group().strip() == text.strip() else None


def _first(text: str, rule: Rule) -> "regex.Match[str] | None":
    matches = (search(pattern, text) for pattern in rule.signal.cues)
    return next((match for match in matches if match is not None), None)


def _found(rule: Rule, text: str, span: _Span, edit: Edit, target: str) -> Found:
    """``target`` is told, not kept: it is the assistant's."""
    start, end = span
    return Found(
        (Reference(text[start:end], start, end, "", rule.id, _SCORE),),
        (edit,),
        f"'{text[start:end]}' -> '{target}' ({rule.id}, from the end of the reply)",
        whole=True,
    )
