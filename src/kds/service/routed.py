"""Routing a message in the service: the thread that routes never waits for a model.

A rewriter (docs/rewriting.md) may take seconds, and every window of the user would wait. So the
rules read the message first; where they would have a model asked, that is done elsewhere; then
the message is routed, and the rewriter has its answer already, or rests because it failed.
"""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

from kds.brain.errors import KdsError
from kds.brain.turn import Turn
from kds.query.speakers import Speakers
from kds.router.rewriting import CheckedRewriter
from kds.service.worker import Worker
from kds.service.workspaces import ServedWorkspace


async def routed(
    served: ServedWorkspace,
    worker: Worker,
    message: str,
    *,
    conversation: str | None,
    join: bool,
    log: bool,
) -> Turn:
    """Route a message on the worker; see `Conversations.route` for what it takes and raises."""
    rewriter = _rewriter(served)
    if rewriter is not None:
        ask = await worker.run(
            lambda: _question(served, rewriter, message, conversation=conversation, join=join)
        )
        if ask is not None:
            await _asked(served.queries.speakers, ask, served.queries.rewriting_s)
    return await worker.run(
        lambda: served.route(message, conversation=conversation, join=join, log=log)
    )


def _rewriter(served: ServedWorkspace) -> CheckedRewriter | None:
    """The rewriter that may be asked at all; what is wrong with it, the turn itself will say."""
    with suppress(KdsError):
        found = served.conversations.rewriter()
        return None if found is None or found.mode == "rules-only" else found
    return None


def _question(
    served: ServedWorkspace,
    rewriter: CheckedRewriter,
    message: str,
    *,
    conversation: str | None,
    join: bool,
) -> Callable[[], object] | None:
    """What asks the model about a message, whose answer is then kept; None: it stands alone."""
    read = served.conversations.route(
        message, conversation=conversation, join=join, log=False, rewrite=False
    )
    turn = replace(read, rewrite=None)
    if not rewriter.wants(turn):
        return None
    return lambda: rewriter.ask_ahead(turn)


async def _asked(speakers: Speakers, ask: Callable[[], object], timeout_s: float) -> None:
    with suppress(KdsError):  # too slow, or stopping: it is routed by the rules
        await speakers.run(ask, timeout_s=timeout_s)
