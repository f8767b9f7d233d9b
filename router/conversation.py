"""What a message is read after: the discourse that a turn's conversation tells.

The steps ask for it with a function, so that the same steps serve a conversation that KDS
remembers itself and one that a client sends along.
"""

from collections.abc import Callable, Sequence

from kds.brain.turn import UNKNOWN, ContextEntry, Turn, Utterance
from kds.router.discourse.history import Discourse
from kds.router.language.other_languages import is_foreign
from kds.router.references.resolver import Known, Resolver, nothing_known

DiscourseOf = Callable[[Turn], Discourse]
"""Returns what a turn's message is read after."""


def remembered(resolver: Resolver, known: Known = nothing_known) -> DiscourseOf:
    """Reads the context that was remembered.

    ``known`` is asked for what the conversation referred to before its context begins. What was
    said in another language than English names nothing that can be referred to.
    """

    def discourse(turn: Turn) -> Discourse:
        return resolver.discourse(_in_english(turn.context), known())

    return discourse


def _in_english(context: Sequence[ContextEntry]) -> tuple[ContextEntry, ...]:
    return tuple(
        entry
        for entry in context
        if not is_foreign(entry.user_message, doubted=entry.intent == UNKNOWN)
    )


def sent_along(resolver: Resolver, known: Sequence[Utterance] = ()) -> DiscourseOf:
    """Reads the history of the turn, replies included, after what is ``known``."""
    return lambda turn: resolver.replay((*known, *turn.history))
