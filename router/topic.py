"""Topic switches: "Actually, let's work on dark mode first" (DESIGN 3).

A switch needs a cue and something that the context does not know. A correction ("Actually,
use X, not Y") has no cue of its own kind and stays in the topic.
"""

from kds.router.discourse import Discourse
from kds.router.knowledge import Knowledge
from kds.router.mention import Mention, is_time, mentions_in
from kds.router.rule import Rule
from kds.router.words import Analysis


def switches_topic(analysis: Analysis, discourse: Discourse, rules: tuple[Rule, ...]) -> str | None:
    """The id of the rule that sees a switch in the message, or None."""
    if not discourse:
        return None
    for rule in rules:
        if any(p.search(analysis.text) for p in rule.signal.unless):
            continue
        if any(p.search(analysis.text) for p in rule.signal.cues) and _something_new(
            analysis, discourse
        ):
            return rule.id
    return None


def _something_new(analysis: Analysis, discourse: Discourse) -> bool:
    known = list(discourse.mentions())
    mentions = [m for m in mentions_in(analysis, 0) if not is_time(m) and not m.parts]
    return any(
        not _in_context(mention, known)
        for mention in mentions
        if mention.role in {"obj", "pobj", "none", "subj"}
    )


def _in_context(mention: Mention, known: list[Mention]) -> bool:
    return any(mention.same_thing(other) or mention.head == other.head for other in known)


def moved_focus(
    analysis: Analysis, rules: tuple[Rule, ...], knowledge: Knowledge
) -> Mention | None:
    """ "Wrong file! It is in a/b.py": the thing of that type, named instead, is in focus now.

    The rule's cue has a group ``type`` that holds the type noun.
    """
    for rule in rules:
        for pattern in rule.signal.cues:
            match = pattern.search(analysis.text)
            wanted = (match.groupdict().get("type") or "").lower() if match else ""
            for mention in mentions_in(analysis, 0):
                if wanted and mention.head != wanted and knowledge.is_a(mention, wanted):
                    return mention
    return None


def feature(analysis: Analysis) -> Mention | None:
    """What a message sets out to build: the main object, else the first thing named."""
    mentions = [
        m for m in mentions_in(analysis, 0) if not is_time(m) and not m.parts and m.role != "poss"
    ]
    for wanted in ("obj", "pobj", "subj", "none"):
        for mention in mentions:
            if mention.role == wanted and not mention.subordinate:
                return mention
    return mentions[0] if mentions else None
