"""Other readings of a message that points back; the one the user picks is learned."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Final

from kds.brain.learning.phrases import thing
from kds.brain.turn import Turn
from kds.router.conversation import remembered
from kds.router.references.rendering import in_place_of
from kds.router.references.resolver import Resolver
from kds.router.references.scene import Scene
from kds.router.references.taught import described, things

MOST: Final = 60
"""Most readings that are offered; a pasted page has hundreds."""


@dataclass(frozen=True, slots=True)
class Correction:
    """The message in other words: with ``antecedent`` where ``text`` points back."""

    text: str
    antecedent: str
    message: str


def corrections_of(turn: Turn, resolver: Resolver) -> tuple[Correction, ...]:
    """Every word that points back, with every other thing of the conversation in its place.

    Words that were left alone count, too, and "the button" that was resolved to nothing.
    """
    return tuple(islice(_corrections(turn, resolver), MOST))


def _corrections(turn: Turn, resolver: Resolver) -> Iterator[Correction]:
    discourse = remembered(resolver)(turn)
    named = things(discourse)
    scene = Scene(resolver.analyse(turn.message), discourse, resolver.knowledge)
    for (start, end), target in sorted(_open_words(turn, scene).items()):
        text = turn.message[start:end]
        for name in named:
            if thing(name) not in (thing(target), thing(text)):
                written = in_place_of(text, name)
                said = f"{turn.message[:start]}{written}{turn.message[end:]}"
                yield Correction(text, name, said)


def _open_words(turn: Turn, scene: Scene) -> dict[tuple[int, int], str]:
    """Where the message points back, and the antecedent that was taken; "" without one."""
    spans = dict.fromkeys(described(scene), "")
    for word in turn.unresolved:
        if found := re.search(rf"(?<!\w){re.escape(word)}(?!\w)", turn.message):
            spans.setdefault(found.span(), "")
    spans |= {(one.start, one.end): one.target for one in turn.references if one.text}
    return {
        (start, end): target
        for (start, end), target in spans.items()
        if not any(a <= start and end <= b and (a, b) != (start, end) for a, b in spans)
    }
