"""Answers to the assistant: yes to what it offers to do, one of the options that it lists.

A stranger who reads "yes, do it" or "option B" must see the reply too; with what it offered
written out, the message says by itself what is wanted.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from kds.brain.turn import Edit, Reference
from kds.router.discourse.reply import (
    Option,
    as_command,
    closing_sentence,
    options_in,
    prose,
    without_purpose,
)
from kds.router.references.nouns import ORDINALS
from kds.router.references.rule import Rule
from kds.router.references.scene import Found, Scene, search

if TYPE_CHECKING:
    import regex

ACTION_WORDS: Final = 12
"""A longer offer is a plan: "yes" to it says more than one would write."""

_SCORE: Final = 0.9
"""Shown for answers: the reply says in so many words what is answered."""

_PAIR: Final = 2
_FEW: Final = 3
"""More are not written out behind "all": their names would outgrow the message."""

_ASKED: Final = re.compile(r"\?+")

_Span = tuple[int, int]
_LABEL: Final = re.compile(r"\b(?:\d{1,2}|[a-h])\b", re.IGNORECASE)
_ORDINALS: Final = {**ORDINALS, "1st": 0, "2nd": 1, "3rd": 2, "4th": 3}


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


def find_choices(scene: Scene, rule: Rule) -> Iterator[Found]:
    """ "2", "option B", "do 1 and 3", "the last one", "both", where the reply lists what there is.

    The cue's groups say which: ``labels``, ``ordinal`` or ``every``; ``ref`` is where the name of
    the one that is chosen is written behind.
    """
    options = options_in(scene.reply) if scene.reply else ()
    match = _first(scene.analysis.text, rule) if options else None
    if match is None:
        return
    chosen = dict(_chosen(match, options))
    if all(chosen.values()):
        for span, named in chosen.items():
            edit = Edit(span[1], span[1], f" ({named})")
            whole = match.groupdict().get("labels") is None
            yield _found(rule, scene.analysis.text, span, edit, named, whole=whole)


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


def _chosen(match: "regex.Match[str]", options: Sequence[Option]) -> Iterator[tuple[_Span, str]]:
    """Where an answer picks something, and its name; "" where the list has no such."""
    groups = match.groupdict()
    span = match.span("ref") if "ref" in groups else match.span()
    if groups.get("labels"):
        yield from _labelled(match["labels"], match.start("labels"), options)
    elif ordinal := groups.get("ordinal"):
        at = _ORDINALS.get(ordinal.lower(), len(options))
        yield span, options[at].text if at < len(options) else ""
    elif every := groups.get("every"):
        few = len(options) == _PAIR if every.lower() == "both" else len(options) <= _FEW
        yield span, " and ".join(one.text for one in options) if few else ""


def _labelled(labels: str, start: int, options: Sequence[Option]) -> Iterator[tuple[_Span, str]]:
    """Each of "1, 3 and 4", which begin ``start`` characters into the message."""
    names = {option.label: option.text for option in options}
    for label in _LABEL.finditer(labels):
        span = (start + label.start(), start + label.end())
        yield span, names.get(label.group().upper(), "")


def _found(
    rule: Rule, text: str, span: _Span, edit: Edit, target: str, *, whole: bool = True
) -> Found:
    """``target`` is told, not kept: it is the assistant's."""
    start, end = span
    return Found(
        (Reference(text[start:end], start, end, "", rule.id, _SCORE),),
        (edit,),
        f"'{text[start:end]}' -> '{target}' ({rule.id}, from the end of the reply)",
        whole=whole,
    )
