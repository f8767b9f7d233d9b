"""What a message is read after: the discourse that a turn's conversation tells.

The steps ask for it with a function, so that the same steps serve a conversation that KDS
remembers itself and one that a client sends along.
"""

from collections.abc import Callable, Sequence

from kds.brain.turn import Turn, Utterance
from kds.router.discourse.history import Discourse
from kds.router.references.decision import is_answered
from kds.router.references.resolver import Known, Resolver, nothing_known

DiscourseOf = Callable[[Turn], Discourse]
"""Returns what a turn's message is read after."""


def remembered(resolver: Resolver, known: Known = nothing_known) -> DiscourseOf:
    """Reads the context that was remembered.

    ``known`` is asked for what the conversation referred to before its context begins.
    """

    def discourse(turn: Turn) -> Discourse:
        return resolver.discourse(turn.context, known(), as_said=is_answered(turn))

    return discourse


def sent_along(resolver: Resolver, known: Sequence[Utterance] = ()) -> DiscourseOf:
    """Reads the history of the turn, replies included, after what is ``known``."""
    return lambda turn: resolver.replay((*known, *turn.history))
