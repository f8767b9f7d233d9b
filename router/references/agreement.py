"""Answers to the assistant: "yes", "go ahead", "do it", where the reply closes with an offer."""

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from kds.brain.turn import Edit, Reference
from kds.router.discourse.reply import as_command, closing_sentence, prose, without_purpose
from kds.router.references.ruleset import Rule
from kds.router.references.scene import Found, Scene, cued, search

if TYPE_CHECKING:
    import regex

ACTION_WORDS: Final = 12
"""A longer offer is a plan: "yes" to it says more than one would write."""

_SCORE: Final = 0.9
"""Shown for answers: the reply says in so many words what is answered."""

_ASKED: Final = re.compile(r"\?+")


def find_agreements(scene: Scene, rule: Rule) -> Iterator[Found]:
    """A message that only takes what the reply's last sentence offers.

    A cue must match the whole message. Its group ``deed`` is replaced by what was offered, which
    otherwise follows the message, behind "and" where the group ``on`` ends it. A ``verb`` must be
    that of the offer, and what matches ``weak`` answers the only question of a reply.
    """
    text, action = scene.analysis.text, _offered(scene.reply, rule)
    match = cued(rule, text) if action else None
    if match is None or match[0].strip() != text.strip() or not _answers(match, action, scene):
        return
    groups = match.groupdict()
    if groups.get("deed"):
        start, end = match.span("deed")
        edit = Edit(start, end, action)
    else:
        start, end, on = 0, len(text.rstrip(" .!,")), groups.get("on")
        joined = f" and {action}" if on else f", {action}"
        if on and action.lower().startswith(f"{on.lower()} "):
            joined = action[len(on) :]  # "go ahead with the release" says it once
        edit = Edit(end, end, joined)
    # the target is the assistant's: it is told, not kept
    said = text[start:end]
    note = f"'{said}' -> '{action}' ({rule.id}, from the end of the reply)"
    yield Found(Reference(said, start, end, "", rule.id, _SCORE), (edit,), note, whole=True)


def _answers(match: "regex.Match[str]", action: str, scene: Scene) -> bool:
    """ "Raise it" repeats the verb of what was offered; a mere "ok" answers the only question."""
    groups = match.groupdict()
    if verb := groups.get("verb"):
        return verb.lower() == action.partition(" ")[0].lower()
    sole = len(_ASKED.findall(prose(scene.reply))) == 1
    return not groups.get("weak") or (sole and closing_sentence(scene.reply).endswith("?"))


def _offered(reply: str, rule: Rule) -> str:
    """What the reply's last sentence offers to do; "" when it offers nothing that says enough."""
    closing = closing_sentence(reply) if reply else ""
    found = (search(pattern, closing) for pattern in rule.signal.offers)
    match = next((one for one in found if one is not None), None)
    if match is None:
        return ""
    offered = match.groupdict().get("action") or match[0]
    action = as_command(without_purpose(offered.strip(" .?!,")))
    return action if len(action.split()) <= ACTION_WORDS else ""
