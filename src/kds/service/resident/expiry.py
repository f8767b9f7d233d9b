"""The context leaves the disk after two hours, although the service ends after half an hour.

A service that ends for want of requests leaves a process behind that sleeps until the newest line
has expired (9 MB; no code of KDS is loaded) and then has the context put in order, as each read
does. Where it is ended, at a shutdown say, the next use of KDS does that.
"""

import subprocess
import sys
from datetime import timedelta
from typing import Final

from kds.brain.context.conversations import Contexts
from kds.brain.context.journal import MAX_AGE
from kds.brain.errors import KdsError
from kds.brain.workspace import Workspace

MARGIN: Final = timedelta(seconds=1)
"""A line of exactly MAX_AGE is still kept."""

_SLEEPER: Final = """\
import os, sys, time
ends, file, *words = sys.argv[1:]
while (left := float(ends) - time.time()) > 0:
    time.sleep(min(left, 60))
    if not os.path.exists(file):
        sys.exit()
os.execv(sys.executable, [sys.executable, "-P", "-m", "kds", *words])
"""


def expire_later(workspace: Workspace) -> None:
    """Have the context of ``workspace`` put in order once all of it has expired.

    Nothing happens where there is none, or it cannot be read.
    """
    try:
        entries = Contexts(workspace).journal().load().entries
    except KdsError:
        return
    if not entries:
        return
    ends = max(one.timestamp for one in entries) + MAX_AGE + MARGIN
    file = str(workspace.context_path)
    words = ("context", "load", "--workspace", str(workspace.root))
    process = subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", _SLEEPER, f"{ends.timestamp():.3f}", file, *words],
        cwd="/",
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    process.returncode = 0  # nobody waits for it, and Python need not warn of that
