"""Starting the service in the background, for `kds-hook --start`.

Part of `kds.hook`: imports next to nothing until it starts something.
"""

import os
import sys
import time

STAMP_NAME = "service.starting"
PAUSE_S = 60
"""A service takes some seconds to load: after a minute a start has worked, or has failed."""


def start_service(root: str, brain: str) -> bool:
    """Start the service of ``root``, detached, unless it was tried within PAUSE_S seconds.

    Does not wait for it. Tells whether it was started. Raises OSError when it cannot be.
    """
    if not sys.executable or not _may_start(os.path.join(brain, STAMP_NAME)):
        return False
    import subprocess  # 11 ms: once a minute at most

    # -P: a `kds` folder or a `json.py` in the user's project must not be taken for ours
    command = [sys.executable, "-P", "-m", "kds", "service", "start", "--no-wait"]
    process = subprocess.Popen(
        [*command, "--workspace", root],
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

    Two hooks that find an old mark at the same moment may both start: the service's lock leaves
    one. A mark from the future (the clock was put back) is an old one.
    """
    try:
        if abs(time.time() - os.lstat(stamp).st_mtime) < PAUSE_S:
            return False
        os.unlink(stamp)
    except FileNotFoundError:
        pass
    try:
        os.close(os.open(stamp, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    except FileExistsError:
        return False
    return True
