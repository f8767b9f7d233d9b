"""What git would commit of a workspace: git itself is asked, and runs no other program.

A project can bring a ``kds-brain/.gitignore`` with ``!*``, or have ``memory.db`` in its index: then
`git add -A` takes the conversation along. Only git knows how its rules add up.
"""

import os
import shlex
import stat
import subprocess
import time
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
"""A question takes 1 to 3 ms; in a repository of a million files it stays below a second. A git
that takes longer on a pattern of many stars would not get to commit either."""

FRESH_S: Final = 5.0
"""How long it counts that nothing is exposed, while ``kds-brain/.gitignore`` stays as it is."""

_SHOWN: Final = 2


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

    def __bool__(self) -> bool:
        return bool(self.tracked or self.let_through)

    def as_error(self, brain: Path) -> ExposedError:
        """Say what is wrong, and what mends it."""
        names = self.tracked or self.let_through
        more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
        shown = ", ".join(names[:_SHOWN]) + more
        if self.tracked:
            message = f"git tracks {shown}: the next commit would hold what is private"
            hint = shlex.join(["git", "-C", str(brain), "rm", "-r", "--cached", *names])
        else:
            by = f" (rule {self.rule})" if self.rule else ""
            message = f"git does not ignore {shown}{by}: `git add -A` would take them along"
            hint = "run `kds doctor --fix`"
        return ExposedError(message, where=str(brain), hint=hint)


_safe: dict[tuple[str, tuple[str, ...], float], float] = {}
"""Until when nothing is exposed of names in a workspace, whose rules were last changed then."""


def keep_private(workspace: Workspace, names: tuple[str, ...] = CONVERSATION) -> None:
    """Make the folder of the workspace, and see that git would commit none of ``names`` in it.

    A folder without a ``.gitignore`` gets one first.

    Raises ExposedError when git would, and WorkspaceError as `Workspace.ensure` does.
    """
    workspace.ensure()
    rules = workspace.brain / ".gitignore"
    asked = str(workspace.brain), names, rules.lstat().st_mtime if os.path.lexists(rules) else 0.0
    if time.monotonic() < _safe.get(asked, 0.0):
        return
    found = exposure(workspace, names)
    if found.let_through and not asked[2]:
        ignore_conversations(workspace)
        found = exposure(workspace, names)
    if found:
        raise found.as_error(workspace.brain)
    _safe[asked] = time.monotonic() + FRESH_S


def exposure(workspace: Workspace, names: tuple[str, ...] = CONVERSATION) -> Exposure:
    """Ask git what it would commit of ``names``; nothing outside of a repository."""
    found, brain = Exposure(), Path(os.path.realpath(workspace.brain))
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
        listed = run_git("-C", str(folder), "--literal-pathspecs", "ls-files", "-z", "--", *paths)
        tracked = {one.removeprefix(inside) for one in os.fsdecode(listed).split("\0") if one}
        given = os.fsencode("\0".join((*paths, "")))
        asked = run_git("-C", str(folder), "check-ignore", "-zvn", "--stdin", given=given)
        fields = os.fsdecode(asked).split("\0")
    except (OSError, subprocess.SubprocessError) as error:
        said = getattr(error, "stderr", None) or str(error).encode()
        return Exposure(unknown=one_line(said.decode(errors="replace").partition("\n")[0]))
    through = {}
    for source, line, pattern, path in zip(*(fields[n::4] for n in range(4)), strict=False):
        if paths.get(path) not in tracked and (not pattern or pattern.startswith("!")):
            through[paths[path]] = f"{source}:{line}: {pattern}" if pattern else ""
    rule = next(iter(through.values()), "")
    return Exposure(tuple(sorted(tracked)), tuple(through), one_line(rule))


_SAFE: Final = {
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "LC_ALL": "C",
}
"""A repository's settings name programs that a fetch would run (`core.sshCommand`): nothing is
fetched. No object stands for another. `gpg.program` is the caller's: `git log` is told
`--no-show-signature`."""


def run_git(*words: str, given: bytes = b"", timeout_s: float = TIMEOUT_S) -> bytes:
    """Return what git prints. Raises OSError, ValueError and SubprocessError.

    1 as its exit code is an answer: none was found.
    """
    if (git := which("git")) is None:
        raise FileNotFoundError("git is not installed")
    # A monitor of the file system is a program that the repository names: not for a question.
    command = [git, "-c", "core.fsmonitor=false", *words]
    # Variables that git sets for its hooks name another repository, or another way to read.
    environ = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    done = subprocess.run(
        command, input=given, capture_output=True, timeout=timeout_s, check=False,
        env=environ | _SAFE,
    )  # fmt: skip
    if done.returncode != 1:
        done.check_returncode()
    return done.stdout
