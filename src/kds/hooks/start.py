"""Starting the service in the background at its first use: for `kds-hook` and the commands.

Imports next to nothing until it starts something. The settings are YAML, too much for a hook to
read, so what is started (`kds service start --auto`) reads them.
"""

import os
import sys
import time

from kds.brain.discovery import OFF, runtime_folder

STARTING_NAME = "service.starting"
"""In the runtime folder: when a service was last started."""

PAUSE_S = 60
"""A service takes some seconds to load: after a minute a start has worked, or has failed."""


def start_service(root: str) -> bool:
    """Start the user's service, detached, unless that is switched off or was just tried.

    Does not wait for it. Returns whether one was started. Raises OSError when it cannot be.
    """
    wanted = (os.environ.get(name, "").strip() for name in ("KDS_SERVICE_AUTO", "KDS_SERVICE"))
    if not sys.executable or any(one.lower() in OFF for one in wanted):
        return False
    if not _may_start(os.path.join(runtime_folder(), STARTING_NAME)):
        return False
    import subprocess  # 11 ms: where there is no service, and nowhere else

    # -P: a `kds` folder or a `json.py` in the user's project must not be taken for ours
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "kds", "service", "start", "--auto", "--workspace", root],
        cwd=root,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        creationflags=getattr(subprocess, "DETACHED_PROCESS", 0),
    )
    process.returncode = 0  # nobody waits for it, and Python need not warn of that
    return True


def _may_start(stamp: str) -> bool:
    """Leave a mark, and tell whether there was none within PAUSE_S.

    Of two that start at the same moment, the service's lock leaves one. A mark from the future (the
    clock was put back) is an old one.
    """
    os.makedirs(os.path.dirname(stamp), 0o700, exist_ok=True)
    try:
        if abs(time.time() - os.lstat(stamp).st_mtime) < PAUSE_S:
            return False
        os.utime(stamp)
    except FileNotFoundError:
        os.close(os.open(stamp, os.O_WRONLY | os.O_CREAT, 0o600))
    return True
