"""Who asks from an environment of its own: the settings there count, not those of the service.

`KDS_MEMORY=on kds route ...` means that message. So a command sends its variables along, and is
answered as if it had done the work itself. What a service is once and for all (its models, what
it learns) cannot change with a request: then it declines, and the command does the work.
"""

import os
from collections import OrderedDict
from collections.abc import Collection, Mapping
from typing import Final

from kds.api.conversations import Conversations
from kds.api.turn_log import TurnLog
from kds.brain.sessions.live_settings import LiveSettings
from kds.brain.settings import Settings
from kds.brain.settings_variables import PLACES, routing_variables
from kds.brain.whereabouts import OWN_SETTINGS
from kds.brain.workspace import Workspace
from kds.service.resident.service_client import SWITCHED_OFF
from kds.service.wire.errors import ConflictError

KEPT: Final = 8
"""Environments whose settings and open memory are kept: a user has one or two."""

SECTIONS: Final = frozenset({"service", "memory", "rewriting", "learning", "model"})
"""What a caller may have otherwise than the service. Its models and what it learns then count
only for messages that neither ask a model nor teach anything."""


class _Caller:
    """One environment: its settings, and the workspace's conversations as they are there."""

    def __init__(self, workspace: Workspace, variables: Mapping[str, str]) -> None:
        self.settings = LiveSettings(workspace, environ=variables)
        self.turns = TurnLog(workspace, environ=variables)
        self._variables = variables
        self._made: tuple[Conversations, Conversations] | None = None

    def conversations(self, default: Conversations) -> Conversations:
        """``default`` with the settings of this environment; made anew when that was reloaded."""
        if self._made is None or self._made[0] is not default:
            self._made = default, default.under(self._variables, turns=self.turns)
        return self._made[1]


class Callers:
    """The environments that the messages of one workspace come from. For any threads but `find`,
    which is for one."""

    def __init__(
        self,
        workspace: Workspace,
        settings: LiveSettings,
        environ: Mapping[str, str] = os.environ,
    ) -> None:
        """``settings`` and ``environ`` are the service's own."""
        self._workspace = workspace
        self._settings = settings
        self._environ = environ
        self._kept: OrderedDict[frozenset[tuple[str, str]], _Caller] = OrderedDict()

    def find(
        self,
        variables: Mapping[str, str] | None,
        default: Conversations,
        *,
        log: bool,
        rewrite: bool | None,
    ) -> Conversations:
        """Return what routes a message for a caller with these ``variables``; None: for nobody.

        Raises ConflictError when the service cannot stand in for it, SettingsError when the
        settings of the caller are wrong.
        """
        if variables is None:
            return default
        own = routing_variables(self._environ)
        variables = {OWN_SETTINGS: own[OWN_SETTINGS], **variables}
        if variables == own:
            _check_enabled(self._settings.current())
            return default
        # Before anything is read: a request must not have any file opened that it names.
        _check_alike(variables, own, but_for=SECTIONS)
        caller = self._caller(variables)
        settings = caller.settings.current()
        _check_enabled(settings)
        asks = rewrite is not False and settings.rewriting.mode != "rules-only"
        matters = {*(("model",) if asks else ()), *(("learning",) if log else ())}
        _check_alike(variables, own, but_for=SECTIONS - matters)
        return caller.conversations(default)

    def close(self) -> None:
        """Let go of every memory that was opened for a caller."""
        for caller in self._kept.values():
            caller.turns.close()
        self._kept.clear()

    def _caller(self, variables: Mapping[str, str]) -> _Caller:
        key = frozenset(variables.items())
        if key not in self._kept:
            self._kept[key] = _Caller(self._workspace, dict(variables))
            if len(self._kept) > KEPT:
                self._kept.popitem(last=False)[1].turns.close()
        self._kept.move_to_end(key)
        return self._kept[key]


def _check_alike(
    theirs: Mapping[str, str], own: Mapping[str, str], *, but_for: Collection[str]
) -> None:
    """Raise ConflictError when a variable is another one here, but for those of sections."""
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


def _check_enabled(settings: Settings) -> None:
    if not settings.service.enabled:
        raise ConflictError("the service is switched off for commands", where=SWITCHED_OFF)
