"""What git would commit of a workspace: git itself is asked, and runs no other program.

A project can bring a ``kds-brain/.gitignore`` with ``!*``, or have ``memory.db`` in its index: then
`git add -A` takes the conversation along. Only git knows how its rules add up.
"""

import os
import shlex
import stat
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from shutil import which
from typing import Final

from kds.brain.errors import ExposedError
from kds.brain.message import one_line
from kds.brain.workspace import IGNORED, Workspace

CONVERSATION: Final = (
    *("conversation-context.jsonl", "conversation-context.jsonl.bad", "conversations/", "work/"),
    *("memory.db", "memory.db-wal", "learning.jsonl", "backups/"),
)
"""What in ``kds-brain`` holds messages of the user. A folder has to be ignored as a whole: then no
rule inside it counts."""

DOCUMENT_FILES: Final = ("documents.db", "documents.db-wal", "uploads/")
"""What in ``kds-brain`` holds the text of documents, which may lie outside of the project."""

TIMEOUT_S: Final = 2.0
"""A question takes 1 to 3 ms; in a repository of a million files it stays below a second. A pattern
of many stars can take git for ever, on names that only KDS asks about."""

FRESH_S: Final = 60.0
"""How long an answer counts while no file that `_marks` looks at has changed. The other sources of
rules are the user's own, such as ``core.excludesFile``."""

_SHOWN: Final = 2
_GITFILE_LIMIT: Final = 4096
"""Bytes. It holds one path."""


@dataclass(frozen=True, slots=True)
class Exposure:
    """What git would commit of the conversations of a workspace; false when that is nothing."""

    tracked: tuple[str, ...] = ()
    """Names in ``kds-brain`` that git has in its index: no rule keeps them out."""
    let_through: tuple[str, ...] = ()
    """Names in ``kds-brain`` that no rule ignores."""
    rule: str = ""
    """The rule that lets the first of them through, as ``file:line: pattern``; "" for none."""
    unknown: str = ""
    """Why git could not say: then it could not commit either."""
    hangs: bool = False
    """Whether git gave no answer in time."""

    def __bool__(self) -> bool:
        return bool(self.tracked or self.let_through or self.hangs)

    def as_error(self, brain: Path) -> ExposedError:
        """Say what is wrong, and what mends it."""
        names = self.tracked or self.let_through
        shown = ", ".join(names[:_SHOWN])
        if len(names) > _SHOWN:
            shown += f" and {len(names) - _SHOWN} more"
        if self.hangs:
            message = f"git took over {TIMEOUT_S:g} s to say what of it a commit would hold"
            hint = "look for long patterns in the .gitignore files of the project"
        elif self.tracked:
            message = f"git tracks {shown}: the next commit would hold what is private"
            hint = shlex.join(["git", "-C", str(brain), "rm", "-r", "--cached", *names])
        else:
            by = f" (rule {self.rule})" if self.rule else ""
            message = f"git does not ignore {shown}{by}: `git add -A` would take them along"
            hint = "run `kds doctor --fix`"
        return ExposedError(message, where=str(brain), hint=hint)


_Marks = tuple[tuple[int, ...], ...]
_found: dict[tuple[str, tuple[str, ...]], tuple[float, _Marks, Exposure]] = {}
"""When git was last asked of each workspace, how the files were that decide it, and the answer.
What a user can mend by one command is asked each time."""


def keep_private(workspace: Workspace, names: tuple[str, ...] = CONVERSATION) -> None:
    """Make the folder of the workspace, and see that git would commit none of ``names`` in it.

    A folder without a ``.gitignore`` gets one first. An answer is kept while the ignore files and
    the index stay as they are, so this may be asked before every message.

    Raises ExposedError when git would, and WorkspaceError as `Workspace.ensure` does.
    """
    workspace.ensure()
    asked = str(workspace.brain), names
    marks, now = tuple(_marks(_real(workspace))), time.monotonic()
    at, before, found = _found.get(asked, (now, (), Exposure()))
    if marks != before or now - at >= FRESH_S:
        found = exposure(workspace, names)
        if found.let_through and not os.path.lexists(workspace.brain / ".gitignore"):
            ignore_conversations(workspace)
            found = exposure(workspace, names)
        if found.hangs or not found:
            _found[asked] = (now, marks, found)
    if found:
        raise found.as_error(workspace.brain)


def exposure(workspace: Workspace, names: tuple[str, ...] = CONVERSATION) -> Exposure:
    """Ask git what it would commit of ``names``; nothing outside of a repository."""
    found, brain = Exposure(), _real(workspace)
    for folder in (brain, *brain.parents):
        if os.path.lexists(folder / ".git"):  # it holds a repository, or names one
            found = _asked(folder, brain, names)
            if not found.unknown:
                break
    return found


def ignore_conversations(workspace: Workspace) -> None:
    """Have ``kds-brain/.gitignore`` leave out all but what a team shares; other rules stay above.

    Of git's rules the last one counts. Raises ExposedError when the file is a link, or no file.
    """
    path = workspace.brain / ".gitignore"
    with suppress(FileNotFoundError):
        if not stat.S_ISREG(path.lstat().st_mode):
            message, hint = "git reads no rules from a link or folder", "remove it, and try again"
            raise ExposedError(message, where=str(path), hint=hint)
    try:
        with path.open("a+b") as file:
            file.seek(0)
            before = file.read()
            file.write((b"" if before[-1:] in (b"", b"\n") else b"\n") + IGNORED.encode())
    except OSError as error:
        hint = "make it writable, and try again"
        message = f"cannot write it: {error.strerror}"
        raise ExposedError(message, where=str(path), hint=hint) from error


def _asked(folder: Path, brain: Path, names: tuple[str, ...]) -> Exposure:
    """Ask the repository of ``folder``, in which ``brain`` is."""
    inside = "" if folder == brain else f"{brain.relative_to(folder).as_posix()}/"
    paths = {f"{inside}{name}": name for name in names}
    try:
        code, listed, said = _git(folder, "--literal-pathspecs", "ls-files", "-z", "--", *paths)
        if code != 0:
            return Exposure(unknown=said)
        tracked = {one.removeprefix(inside) for one in listed.split("\0") if one}
        given = "\0".join((*paths, ""))
        code, listed, said = _git(folder, "check-ignore", "-zvn", "--stdin", given=given)
    except subprocess.TimeoutExpired:
        return Exposure(hangs=True)
    if code not in (0, 1):
        return Exposure(unknown=said)
    fields = listed.split("\0")
    through = {}
    for source, line, pattern, path in zip(*(fields[n::4] for n in range(4)), strict=False):
        if paths.get(path) not in tracked and (not pattern or pattern.startswith("!")):
            through[paths[path]] = f"{source}:{line}: {pattern}" if pattern else ""
    rule = next(iter(through.values()), "")
    return Exposure(tuple(sorted(tracked)), tuple(through), one_line(rule))


def _real(workspace: Workspace) -> Path:
    return Path(os.path.realpath(workspace.brain))


def _marks(brain: Path) -> Iterator[tuple[int, ...]]:
    """What tells the files apart that decide, when one is replaced or changed."""
    for folder in (brain, *brain.parents):
        yield _mark(folder / ".gitignore")
        repository = folder / ".git"
        if mark := _mark(repository):
            inner = repository
            with suppress(OSError, ValueError):  # of a worktree and a submodule, a file names it
                if repository.is_file() and repository.stat().st_size < _GITFILE_LIMIT:
                    named = repository.read_text(encoding="utf-8").strip()
                    inner = repository.parent / named.removeprefix("gitdir:").strip()
            yield from map(_mark, (inner / "index", inner / "info" / "exclude"))
            yield mark[:1]  # the folder itself changes with every lock in it


def _mark(path: Path) -> tuple[int, ...]:
    try:
        found = path.stat()
    except (OSError, ValueError):
        return ()
    return found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


def _git(folder: Path, *arguments: str, given: str = "") -> tuple[int, str, str]:
    """Ask git about ``folder``: its exit code, what it printed, and its first line of complaint.

    Raises subprocess.TimeoutExpired.
    """
    git = which("git")
    if git is None:
        return 127, "", "git is not installed"
    # A monitor of the file system is a program that the repository names: not for a question.
    command = [git, "-c", "core.fsmonitor=false", "-C", str(folder), *arguments]
    try:
        done = subprocess.run(
            command, input=given.encode(errors="surrogateescape"), capture_output=True,
            timeout=TIMEOUT_S, check=False, env=_environ(),
        )  # fmt: skip
    except OSError as error:
        return 127, "", error.strerror or str(error)
    printed = done.stdout.decode(errors="surrogateescape")
    said = done.stderr.decode(errors="replace").strip().splitlines()
    return done.returncode, printed, one_line(said[0]) if said else f"exit {done.returncode}"


_ELSEWHERE: Final = frozenset((
    *("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_PREFIX"),
    *("GIT_OBJECT_DIRECTORY", "GIT_NAMESPACE", "GIT_CEILING_DIRECTORIES"),
    *("GIT_GLOB_PATHSPECS", "GIT_NOGLOB_PATHSPECS", "GIT_ICASE_PATHSPECS"),
))  # fmt: skip
"""Variables that git sets for its hooks: they name another repository, or another way to read."""


def _environ() -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name not in _ELSEWHERE}
    return {**kept, "LC_ALL": "C", "GIT_OPTIONAL_LOCKS": "0", "GIT_NO_LAZY_FETCH": "1"}
