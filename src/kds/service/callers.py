"""Routing for a caller with settings of its own, without ever blocking the router on a model.

`KDS_MEMORY=on kds route ...` means that message: a command sends its variables along, and is
answered as if it had done the work itself. What a service is once and for all (its models, what
it learns) cannot change with a request: then it declines, and the command does the work.

A model that rewrites (docs/rewriting.md) may take seconds, and every window of the user would
wait. So the rules read the message first; where they would have a model asked, that is done
elsewhere; then the message is routed, and the rewriter has its answer already.
"""

import os
from collections import OrderedDict
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from kds.api.conversations import Conversations
from kds.api.turn_log import TurnLog
from kds.brain.config import LiveConfig
from kds.brain.discovery import OWN_SETTINGS
from kds.brain.environment import PLACES, routing_variables
from kds.brain.errors import KdsError, MessageError
from kds.brain.turn import Turn, Utterance
from kds.brain.workspace import Workspace
from kds.router.rewriting.writer import CheckedRewriter
from kds.service.errors import ConflictError
from kds.service.models import RouteRequest
from kds.service.service_client import SWITCHED_OFF

if TYPE_CHECKING:
    from kds.service.workspaces import ServedWorkspace

KEPT: Final = 8
"""Environments whose settings and open memory are kept: a user has one or two."""

SECTIONS: Final = frozenset({"service", "memory", "rewriting", "learning", "model"})
"""Settings in which a caller may differ from the service. Models and learning count only for
messages that neither ask a model nor teach anything."""

Variables = Mapping[str, str]


class _Caller:
    """One environment: its settings, and the workspace's conversations as they are there."""

    def __init__(self, workspace: Workspace, variables: Variables) -> None:
        self.config = LiveConfig(workspace, environ=variables)
        self.turns = TurnLog(workspace, environ=variables)
        self._variables = variables
        self._made: tuple[Conversations, Conversations] | None = None

    def conversations(self, default: Conversations) -> Conversations:
        """``default`` with the settings of this environment; made anew when that was reloaded."""
        if self._made is None or self._made[0] is not default:
            self._made = default, default.under(self._variables, turns=self.turns)
        return self._made[1]


class Callers:
    """The environments that the messages of one workspace come from. `find` is for one thread."""

    def __init__(
        self, workspace: Workspace, config: LiveConfig, environ: Variables = os.environ
    ) -> None:
        """``settings`` and ``environ`` are the service's own."""
        self._workspace = workspace
        self._config = config
        self._environ = environ
        self._kept: OrderedDict[frozenset[tuple[str, str]], _Caller] = OrderedDict()

    def find(
        self,
        variables: Variables | None,
        default: Conversations,
        *,
        log: bool,
        rewrite: bool | None,
    ) -> Conversations:
        """Return what routes a message for a caller with these ``variables``.

        Raises ConflictError when the service cannot stand in for it, SettingsError when the
        settings of the caller are wrong.
        """
        if variables is None:
            return default
        own = routing_variables(self._environ)
        variables = {OWN_SETTINGS: own[OWN_SETTINGS], **variables}
        if variables == own:
            _check_enabled(self._config)
            return default
        _check_alike(variables, own, but_for=SECTIONS)  # before any file of theirs is read
        caller = self._caller(variables)
        _check_enabled(caller.config)
        asks = rewrite is not False and caller.config.settings.rewriting.mode != "rules-only"
        matters = {*(("model",) if asks else ()), *(("learning",) if log else ())}
        _check_alike(variables, own, but_for=SECTIONS - matters)
        return caller.conversations(default)

    def close(self) -> None:
        """Let go of every memory that was opened for a caller."""
        for caller in self._kept.values():
            caller.turns.close()
        self._kept.clear()

    def _caller(self, variables: Variables) -> _Caller:
        key = frozenset(variables.items())
        if key not in self._kept:
            self._kept[key] = _Caller(self._workspace, dict(variables))
            if len(self._kept) > KEPT:
                self._kept.popitem(last=False)[1].turns.close()
        self._kept.move_to_end(key)
        return self._kept[key]


async def routed(served: "ServedWorkspace", asked: RouteRequest) -> Turn:
    """Route a message on the workspace's thread.

    Raises what `Conversations.route` and `Callers.find` raise.
    """
    worker = served.worker
    if served.person is not None:
        await worker.run(served.look)
    by = served.conversations
    if asked.variables is not None:
        by = await worker.run(lambda: _conversations(served, asked))
    how: dict[str, Any] = {
        "conversation": asked.conversation, "join": asked.join,
        "history": tuple(Utterance(one.content, one.role) for one in asked.history),
        "known": asked.known, "origin": asked.origin,
    }  # fmt: skip

    def read_by_rules() -> Turn:
        read = by.route(asked.message, log=False, rewrite=False, **how)
        return replace(read, rewrite=asked.rewrite)

    rewriter = None if asked.rewrite is False else _rewriter(by)
    if rewriter is not None:
        read = await worker.run(read_by_rules)
        if rewriter.wants(read):
            with suppress(KdsError):  # too slow, or stopping: it is routed by the rules
                ask = partial(rewriter.ask_ahead, read)
                await served.queries.speakers.run(ask, timeout_s=served.queries.rewriting_s)
        elif not asked.log and asked.rewrite is None:  # as the rules read it: once is enough
            served.turns += 1
            return read
    how |= {"log": asked.log, "rewrite": asked.rewrite}
    return await worker.run(lambda: served.route(asked.message, by=by, **how))


def _conversations(served: "ServedWorkspace", asked: RouteRequest) -> Conversations:
    if served.person is not None:
        raise MessageError(
            "a shared service takes no variables of its callers",
            where="variables",
            hint="leave them out: its operator sets them",
        )
    return served.callers.find(
        asked.variables, served.conversations, log=asked.log, rewrite=asked.rewrite
    )


def _rewriter(by: Conversations) -> CheckedRewriter | None:
    """The rewriter that may be asked; the turn itself reports what is wrong with it."""
    with suppress(KdsError):
        found = by.rewriter()
        return None if found is None or found.mode == "rules-only" else found
    return None


def _check_alike(theirs: Variables, own: Variables, *, but_for: Collection[str]) -> None:
    """Raise ConflictError when a variable differs here, except those of the sections."""
    others = [
        name
        for name in theirs.keys() | own.keys()
        if theirs.get(name) != own.get(name)
        and (name not in PLACES or PLACES[name][0] not in but_for)
    ]
    if others:
        raise ConflictError(
            f"the running service has another {', '.join(sorted(others))}",
            where="variables",
            hint="kds service stop: the next command starts one that has yours",
        )


def _check_enabled(config: LiveConfig) -> None:
    if not config.settings.service.enabled:
        raise ConflictError("the service is switched off for commands", where=SWITCHED_OFF)
