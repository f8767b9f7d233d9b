"""Topic switches: "Actually, let's work on dark mode first".

A switch needs a cue and something that the context does not know. A correction ("Actually,
use X, not Y") has no cue of its own kind and stays in the topic.
"""

from kds.router.discourse.history import Discourse
from kds.router.discourse.knowledge import Knowledge
from kds.router.discourse.mention import Mention, is_time
from kds.router.discourse.mentions import mentions_in
from kds.router.language.words import Analysis
from kds.router.references.rule import Rule
from kds.router.references.scene import cued, search


def switches_topic(analysis: Analysis, discourse: Discourse, rules: tuple[Rule, ...]) -> str | None:
    """The id of the rule that sees a switch in the message, or None."""
    if not discourse:
        return None
    for rule in rules:
        if any(search(p, analysis.text) for p in rule.signal.unless):
            continue
        if any(search(p, analysis.text) for p in rule.signal.cues) and _something_new(
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
    """What a correction puts in the place of something else.

    A cue of the rule has a group ``type`` with a type noun: after "Wrong file! It is in a/b.py" the
    path is in focus.
    """
    mentions = mentions_in(analysis, 0)
    for rule in rules:
        match = cued(rule, analysis.text)
        wanted = (match.groupdict().get("type") or "").lower() if match is not None else ""
        meant = (m for m in mentions if m.head != wanted and knowledge.is_a(m, wanted))
        if wanted and (found := next(meant, None)) is not None:
            return found
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
