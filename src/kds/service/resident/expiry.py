"""The context leaves the disk after two hours, although the service ends after half an hour.

A service that ends leaves a process behind that sleeps until the oldest line has expired (9 MB; no
code of KDS is loaded), has the context put in order, as each read does, and goes on until no line
is left. Where it is ended, at a shutdown say, the next use of KDS does that.
"""

import subprocess
import sys
from typing import Final

from kds.brain.context.conversations import Contexts
from kds.brain.context.journal import MAX_AGE
from kds.brain.errors import KdsError
from kds.brain.workspace import Workspace

_SLEEPER: Final = """\
import datetime, json, os, subprocess, sys, time
file, age_s, *command = sys.argv[1:]
before = None
while True:
    try:
        with open(file, encoding="utf-8") as text:
            lines = text.read().splitlines()
        oldest = datetime.datetime.fromisoformat(json.loads(lines[0])["timestamp"])
    except (OSError, ValueError, LookupError, TypeError):
        break
    left = oldest.timestamp() + float(age_s) - time.time()
    if left < 0 and lines == before:
        break
    if left < 0:
        subprocess.run(command)
        before = lines
    time.sleep(min(max(left, 1), 60))
"""
"""A line of exactly MAX_AGE is still kept; one that cannot be put in order is left."""


def expire_later(workspace: Workspace) -> None:
    """Have lines of the context of ``workspace`` leave the disk when they expire.

    Nothing happens where there is none, or it cannot be read.
    """
    try:
        if not Contexts(workspace).journal().load().entries:
            return
    except KdsError:
        return
    tidy = (sys.executable, "-P", "-m", "kds", "context", "load", "--workspace")
    process = subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", _SLEEPER, str(workspace.context_path),
         str(MAX_AGE.total_seconds()), *tidy, str(workspace.root)],
        cwd="/",
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )  # fmt: skip
    process.returncode = 0  # nobody waits for it, and Python need not warn of that
