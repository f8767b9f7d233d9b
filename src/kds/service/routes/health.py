"""How the service is, and opening a workspace. None of it holds a text, a token or a query."""

import os
import time
from collections.abc import Iterable
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Final, Literal

from fastapi import APIRouter, Request

from kds.brain.clock import utc_now
from kds.brain.installation import kds_version
from kds.service.models import Reply
from kds.service.requests import Served, named_root
from kds.service.workspaces import Reload, ServedWorkspace, Workspaces, is_same

_MEMORY: Final = Path("/proc/self/statm")


class WorkspaceReply(Reply):
    """One served workspace."""

    root: str
    turns: int
    reload: Reload
    settings_error: str | None
    """Set while changed settings are wrong: those before stay in use."""
    warnings: list[str]


class HealthReply(Reply):
    """The service itself."""

    status: Literal["ok", "degraded"]
    """degraded: a changed file is wrong, and its earlier content stays in use."""
    version: str
    pid: int
    started_at: datetime
    uptime_s: float
    rss_bytes: int | None
    """Resident memory; null where the system does not tell."""
    turns: int
    workspaces: list[WorkspaceReply]


class Vitals:
    """The process: its version, age and memory."""

    def __init__(self) -> None:
        self.version = kds_version()
        self.pid = os.getpid()
        self.started_at = utc_now()
        self._started = time.monotonic()

    def uptime_s(self) -> float:
        """Seconds since the service began."""
        return round(time.monotonic() - self._started, 3)

    @property
    def rss_bytes(self) -> int | None:
        """Memory that the process occupies now; None where the system does not say it simply."""
        with suppress(OSError, ValueError, IndexError, AttributeError):
            return int(_MEMORY.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
        return None

    def report(
        self, workspaces: Iterable[ServedWorkspace], *, named: str | None = None
    ) -> HealthReply:
        """The reply of /healthz; the status is that of the ``named`` workspace, if any."""
        each = list(workspaces)
        asked = [one for one in each if named is None or is_same(one.root, named)]
        return HealthReply(
            status="degraded" if any(one.degraded for one in asked) else "ok",
            version=self.version,
            pid=self.pid,
            started_at=self.started_at,
            uptime_s=self.uptime_s(),
            rss_bytes=self.rss_bytes,
            turns=sum(one.turns for one in each),
            workspaces=[WorkspaceReply.model_validate(one) for one in each],
        )


router = APIRouter()


@router.get("/healthz")
async def healthz(request: Request) -> HealthReply:
    """Tell how the service is: its process, the open workspaces, and whether a reload failed.

    Opens none. `status` is that of the named workspace, of all where none is named.
    """
    vitals: Vitals = request.app.state.vitals
    workspaces: Workspaces = request.app.state.workspaces
    return vitals.report(workspaces, named=named_root(request))


@router.post("/open")
async def open_workspace(request: Request, served: Served) -> HealthReply:
    """Open the named workspace, which takes a second, and tell how the service is."""
    return await healthz(request)
