"""Routing a message in the service: the thread that routes never waits for a model.

A rewriter (docs/rewriting.md) may take seconds, and every window of the user would wait. So the
rules read the message first; where they would have a model asked, that is done elsewhere; then
the message is routed, and the rewriter has its answer already, or rests because it failed. What
stands as the rules read it, and is not logged, is not routed twice.
"""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any

from kds.api.conversations import Conversations
from kds.brain.errors import KdsError, MessageError
from kds.brain.turn import Turn, Utterance
from kds.query.speakers import Speakers
from kds.router.rewriting.writer import CheckedRewriter
from kds.service.wire.schemas import RouteRequest
from kds.service.worker import Worker
from kds.service.workspaces import ServedWorkspace


async def routed(served: ServedWorkspace, worker: Worker, asked: RouteRequest) -> Turn:
    """Route a message on the worker; raises what `Conversations.route` and `Callers.find` raise."""
    if served.person is not None:
        await worker.run(served.look)
    by = served.conversations
    if asked.variables is not None:
        by = await worker.run(lambda: _conversations(served, asked))
    rewriter = None if asked.rewrite is False else _rewriter(by)
    if rewriter is not None:
        read = await worker.run(lambda: _read(by, asked))
        if rewriter.wants(read):
            ask = partial(rewriter.ask_ahead, read)
            await _asked(served.queries.speakers, ask, served.queries.rewriting_s)
        elif not asked.log and asked.rewrite is None:
            served.turns += 1
            return read
    how = _how(asked) | {"log": asked.log, "rewrite": asked.rewrite}
    return await worker.run(lambda: served.route(asked.message, by=by, **how))


def _conversations(served: ServedWorkspace, asked: RouteRequest) -> Conversations:
    if served.person is not None and asked.variables is not None:
        raise MessageError(
            "a shared service takes no variables of its callers",
            where="variables",
            hint="leave them out: its operator sets them",
        )
    return served.callers.find(
        asked.variables, served.conversations, log=asked.log, rewrite=asked.rewrite
    )


def _how(asked: RouteRequest) -> dict[str, Any]:
    history = tuple(Utterance(one.content, one.role) for one in asked.history)
    return {
        "conversation": asked.conversation, "join": asked.join, "history": history,
        "known": asked.known, "origin": asked.origin,
    }  # fmt: skip


def _rewriter(by: Conversations) -> CheckedRewriter | None:
    """The rewriter that may be asked at all; what is wrong with it, the turn itself will say."""
    with suppress(KdsError):
        found = by.rewriter()
        return None if found is None or found.mode == "rules-only" else found
    return None


def _read(by: Conversations, asked: RouteRequest) -> Turn:
    """The message as the rules alone read it."""
    read = by.route(asked.message, log=False, rewrite=False, **_how(asked))
    return replace(read, rewrite=asked.rewrite)


async def _asked(speakers: Speakers, ask: Callable[[], object], timeout_s: float) -> None:
    with suppress(KdsError):  # too slow, or stopping: it is routed by the rules
        await speakers.run(ask, timeout_s=timeout_s)
