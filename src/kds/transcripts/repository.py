"""Which repository a folder belongs to.

The worktrees of a repository share its git folder. A clone names the same ``origin``, but so can a
folder that somebody else packed: it is the same repository only if it holds the first commit of it
as an object of its own. Who has no access to a repository cannot make that object, as its name is
a hash of what is in it. Of a public one anybody can: such a folder is told what a pull request is
told that was checked out.
"""

import hashlib
import os
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import Final

from kds.brain.environment import common_git_folder
from kds.brain.git import run_git

GIT_S: Final = 1.0
HISTORY_S: Final = 5.0
"""For going through the history of a repository: that of Linux takes about a second."""
CONFIG_CHARS: Final = 2**16
"""Of a repository's settings: the rest is not read."""

_BORROWING: Final = ("commondir", "objects/info/alternates")
"""Files in a git folder that name another one, whose objects git reads as well."""


def place_name(folder: str) -> str:
    """Return the name under which a folder's repository is known."""
    root = git_folder(folder) if folder else ""
    return f"git:{root}" if root else f"folder:{os.path.normpath(folder) if folder else ''}"


def git_folder(folder: str) -> str:
    """Return the git folder that all worktrees of a repository share; "" outside of one.

    A worktree counts only where the repository names it, too.
    """
    with suppress(OSError, ValueError):  # a name that no folder can have
        start = Path(os.path.realpath(folder))
        for here in (start, *start.parents):
            link = here / ".git"
            if link.is_dir():
                return str(link)
            if link.is_file():
                return os.path.realpath(common_git_folder(str(link)) or link)
    return ""


def git(*words: str, limit_s: float = GIT_S) -> bytes:
    """Return what git prints; nothing where it fails. No program that a project names is run."""
    with suppress(OSError, ValueError, subprocess.SubprocessError):
        return run_git(*words, timeout_s=limit_s)
    return b""


def git_lines(*words: str, limit_s: float = GIT_S) -> list[str]:
    """Return the lines that git prints, without empty ones."""
    lines = git(*words, limit_s=limit_s).decode(errors="replace").splitlines()
    return [line for line in lines if line]


def remote_of(root: str) -> str:
    """Return the ``origin`` of a git folder, in one spelling; "" without one."""
    text = section = ""
    with suppress(OSError, ValueError):
        path = Path(root, "config")
        if path.is_file():  # a pipe would be waited for
            with path.open(encoding="utf-8") as file:
                text = file.read(CONFIG_CHARS)
    for line in map(str.strip, text.splitlines()):
        name, _, value = (part.strip() for part in line.partition("="))
        if line.startswith("["):
            section = line
        elif section == '[remote "origin"]' and name == "url":
            return plain_remote(value.strip('"'))
    return ""


def plain_remote(url: str) -> str:
    """Return a remote without scheme, user, port and ending, so that every spelling is one.

    >>> plain_remote("ssh://git@GitHub.com:22/me/shop.git"), plain_remote("git@github.com:me/shop/")
    ('github.com/me/shop', 'github.com/me/shop')
    >>> plain_remote("https://me:secret@github.com/Me/Shop"), plain_remote("/srv/git/shop.git")
    ('github.com/me/shop', '/srv/git/shop')
    """
    _, has_scheme, rest = url.partition("://")
    host, slash, path = (rest if has_scheme else url).partition("/")
    if has_scheme:
        host = host.rpartition("@")[2].partition(":")[0]
    elif ":" in host:  # as scp has it: host:path
        host, _, begin = host.rpartition("@")[2].partition(":")
        path = begin + slash + path
    path = path.strip("/").removesuffix(".git").rstrip("/")
    return f"{host}/{path}".lower() if path else ""


def first_commit(root: str) -> str:
    """Return the name of the commit that a git folder begins with; "" where it has none."""
    query = ("rev-list", "--first-parent", "--max-parents=0", "HEAD")
    found = git_lines("--git-dir", root, *query, limit_s=HISTORY_S)
    return found[0] if found and holds(root, found[0]) else ""


def holds(root: str, commit: str) -> bool:
    """Whether a commit is among the objects of a git folder itself.

    Neither a link nor another folder that it names may lead out of it, and the object has to be
    what its name is a hash of.
    """
    top, name = Path(root), f"objects/{commit[:2]}/{commit[2:]}"
    try:
        packs = list((top / "objects/pack").iterdir())
    except (OSError, ValueError):
        return False
    own = (top, *map(top.joinpath, ("objects", "objects/pack", name[:10], name)), *packs)
    borrowing = (top / one for one in _BORROWING)
    if any(map(Path.is_symlink, own)) or any(map(os.path.lexists, borrowing)):
        return False
    text = git("--git-dir", root, "cat-file", "commit", commit)
    digest = hashlib.sha256 if len(commit) == 64 else hashlib.sha1  # git's own names
    return digest(b"commit %d\0" % len(text) + text).hexdigest() == commit
