"""A thing of a kind, and several of the kind: "a session ticket", "Who issues them?"."""

from dataclasses import replace
from typing import Final

from kds.router.discourse.agency import is_somebody
from kds.router.discourse.mention import Mention, is_time
from kds.router.references.rendering import in_plural
from kds.router.references.scene import Choice, Scene

_KINDS_LAST: Final = 1
"""Messages back within which "them" may be things of the kind that was asked about."""
_KIND: Final = 0.6
"""Shown for them: nothing competes, and nothing was said in the plural."""


def is_generic(mention: Mention) -> bool:
    """ "a session ticket": one of its kind, and nobody."""
    singular = mention.number == "sg" and mention.determiner in {"a", "an"}
    return singular and not is_somebody(mention)


def of_the_kind(scene: Scene) -> Choice | None:
    """Things of the kind that the latest questions are about: "Who issues them?" after "How long
    is a session ticket valid?" means session tickets."""
    topics = [m for m in scene.discourse.topics() if scene.discourse.age(m) <= _KINDS_LAST]
    if not topics or topics[-1].determiner not in {"a", "an"} or is_time(topics[-1]):
        return None
    one = topics[-1]
    several = replace(one, text=in_plural(one), determiner="", number="pl")
    return Choice(several, _KIND, 1.0, scene.discourse.age(one))
