"""How the service is, and opening a workspace. None of it holds a text, a token or a query."""

import os
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from fastapi import APIRouter, Request

from kds.brain.clock import utc_now
from kds.brain.installation import kds_version
from kds.service.requests import Served, named_root
from kds.service.workspaces import ServedWorkspace, is_same

_TOLD: Final = ("root", "turns", "reload", "settings_error", "warnings")
"""Of each open workspace."""


class Vitals:
    """The process: its version, age and memory."""

    def __init__(self) -> None:
        self.version = kds_version()
        self.pid = os.getpid()
        self.started_at = utc_now()
        self._started = time.monotonic()

    def report(
        self, workspaces: Iterable[ServedWorkspace], *, named: str | None = None
    ) -> dict[str, Any]:
        """The reply of /healthz; the status is that of the ``named`` workspace, if any.

        degraded: a changed file is wrong, and its earlier content stays in use.
        """
        each = [{name: getattr(one, name) for name in _TOLD} for one in workspaces]
        asked = [one for one in each if named is None or is_same(one["root"], named)]
        wrong = any(one["reload"].error or one["settings_error"] for one in asked)
        pages = None
        with suppress(OSError, ValueError, IndexError):  # a system that does not tell
            pages = int(Path("/proc/self/statm").read_text().split()[1])
        return {
            "status": "degraded" if wrong else "ok",
            "version": self.version,
            "pid": self.pid,
            "started_at": self.started_at,
            "uptime_s": round(time.monotonic() - self._started, 3),
            "rss_bytes": pages and pages * os.sysconf("SC_PAGE_SIZE"),
            "turns": sum(one["turns"] for one in each),
            "workspaces": each,
        }


router = APIRouter()


@router.get("/healthz")
async def healthz(request: Request) -> dict[str, Any]:
    """Tell how the service is: its process, the open workspaces, and whether a reload failed.

    Opens none. `status` is that of the named workspace, of all where none is named.
    """
    vitals: Vitals = request.app.state.vitals
    return vitals.report(request.app.state.workspaces, named=named_root(request))


@router.post("/open")
async def open_workspace(request: Request, served: Served) -> dict[str, Any]:
    """Open the named workspace, which takes a second, and tell how the service is."""
    return await healthz(request)
