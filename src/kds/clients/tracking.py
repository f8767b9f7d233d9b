"""What git has of a project."""

import subprocess
from pathlib import Path
from shutil import which
from typing import Final

GIT_TIMEOUT_S: Final = 5.0
"""A question about one file takes milliseconds, also in a large repository."""


def is_tracked(folder: Path, name: str) -> bool:
    """Whether git has a file of the folder; False where there is no git, or no repository."""
    git = which("git")
    if git is None:
        return False
    # a monitor of the file system is a program that the repository names: not for a question
    command = [git, "-c", "core.fsmonitor=false", "-C", str(folder),
               "ls-files", "--error-unmatch", "--", name]  # fmt: skip
    try:
        done = subprocess.run(
            command, capture_output=True, timeout=GIT_TIMEOUT_S, check=False,
            stdin=subprocess.DEVNULL,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0
