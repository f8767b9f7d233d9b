"""Who routes for a surface: the running service of the workspace, else this very process."""

from typing import Protocol

import kds
from kds.brain.turn import Turn
from kds.brain.workspace import Workspace
from kds.service.client import ServiceUnavailableError, reach


class Desk(Protocol):
    """Routes messages of a workspace, wherever the work is done."""

    def route(
        self, message: str, *, conversation: str | None = None, join: bool = False, log: bool = True
    ) -> Turn:
        """Route ``message``; see `kds.conversations.Conversations.route`."""
        ...


class _NearestDesk:
    """Asks the service at each call, and does the work here when there is none."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._own: kds.Conversations | None = None

    def route(
        self, message: str, *, conversation: str | None = None, join: bool = False, log: bool = True
    ) -> Turn:
        if (client := reach(self._workspace)) is not None:
            try:
                return client.route(message, conversation=conversation, join=join, log=log)
            except ServiceUnavailableError:
                pass  # it went away: what it cannot do any more is done here
        if self._own is None:
            self._own = kds.Conversations.open(self._workspace)
        return self._own.route(message, conversation=conversation, join=join, log=log)


def open_desk(workspace: Workspace) -> Desk:
    """Return the desk of a workspace: its service while one runs, else this process.

    Rules and prompts are loaded at the first call that finds no service.
    """
    return _NearestDesk(workspace)
