"""What the service says of itself at /healthz."""

import os
import sys
import time
from pathlib import Path
from typing import Final

from kds.brain.clock import utc_now
from kds.brain.installation import kds_version
from kds.service.wire.replies import HealthReply, WorkspaceReply
from kds.service.workspaces import Workspaces

_MEMORY: Final = Path("/proc/self/statm")


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

    def report(self, workspaces: Workspaces) -> HealthReply:
        """The reply of /healthz. ``degraded``: what was changed is wrong, what was before holds."""
        each = list(workspaces)
        return HealthReply(
            status="degraded" if any(one.degraded for one in each) else "ok",
            version=self.version,
            pid=self.pid,
            started_at=self.started_at,
            uptime_s=self.uptime_s(),
            rss_bytes=resident_bytes(),
            turns=sum(one.turns for one in each),
            workspaces=[WorkspaceReply.model_validate(one) for one in each],
        )


def resident_bytes() -> int | None:
    """Memory that the process occupies now; None where the system does not say it simply."""
    try:
        pages = int(_MEMORY.read_text().split()[1])
    except (OSError, ValueError, IndexError):
        return None
    return pages * os.sysconf("SC_PAGE_SIZE") if sys.platform != "win32" else None
