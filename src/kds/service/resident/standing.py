"""How the service of a workspace stands: answering, on its way, stuck, or not there."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from kds.brain.workspace import Workspace
from kds.service.resident import background
from kds.service.resident.address import ServiceAddress
from kds.service.resident.process import noted

State = Literal["running", "starting", "not answering", "not running"]


@dataclass(frozen=True, slots=True)
class Standing:
    """What can be said of the service: ``health`` is its own word when it answers."""

    state: State
    pid: int | None = None
    health: Mapping[str, Any] | None = None
    socket: str | None = None
    http: str | None = None


def standing_of(workspace: Workspace) -> Standing:
    """Look at the service of ``workspace``. Raises WorkspaceError when that may not be done."""
    health = background.health(workspace)
    written = noted(ServiceAddress(workspace.brain))
    socket, http = _text(written, "socket"), _text(written.get("http"), "url")
    if health is not None:
        return Standing("running", health["pid"], health, socket, http)
    if background.is_running(workspace):
        pid = written.get("pid")
        listens = socket is not None or http is not None
        known = pid if isinstance(pid, int) else None
        return Standing("not answering" if listens else "starting", known, None, socket, http)
    pid = background.coming(workspace)
    return Standing("not running") if pid is None else Standing("starting", pid)


def _text(data: object, key: str) -> str | None:
    value = data.get(key) if isinstance(data, Mapping) else None
    return value if isinstance(value, str) else None
