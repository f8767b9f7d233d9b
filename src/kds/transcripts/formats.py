"""What every reader of sessions gives: who said what, and what a tool did in one or two lines.

A reader yields the `Event`s of one session in order. `told` keeps of tool output its first line and
its error, and nothing of commands that merely look.
"""

import json
import os
import re
import stat
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path
from time import time
from typing import Any, Final, Literal

from kds.brain.message import well_formed
from kds.brain.secrets.redaction import redacted
from kds.brain.store.columns import within_reach

COMMAND_CHARS: Final = 300
LINE_CHARS: Final = 300
"""Of a command, and of a line of its output."""

SCANNED_CHARS: Final = 20_000
"""Of a text that is cut: secrets in so much go first, or the cut would hide what they are."""
SCANNED_BEYOND: Final = 2_000
"""The same of a command or a line, behind the cut. A token or key is known by its beginning, and
outputs of one long line (JSON, minified code) made an import ten times as long."""

FRESH_S: Final = 600.0
"""A session that changed less than this ago may still be written."""
MOST_HELD: Final = 1_000
"""Events behind a command that has no output yet."""

LATEST_NS: Final = 2**63 - 1
"""The year 2262: what SQLite can keep as nanoseconds."""

UNREADABLE: Final = (
    *(TypeError, AttributeError, LookupError, ArithmeticError, RecursionError, ValueError),
)
"""What reading an entry raises that has other types than its client writes, or is too deep."""

LOOKING: Final = frozenset("cat cd file find grep head ls pwd rg stat tail tree wc which".split())
"""Commands that only look: neither they nor what they print is kept."""

_PARTS: Final = re.compile(r"&&|\|\||;|\n")
_EDITS: Final = re.compile(r"edit|write|replace|patch|create", re.IGNORECASE)
_PATHS: Final = (
    *("file_path", "filePath", "path", "target_file", "notebook_path"),
    *("relativeWorkspacePath", "targetFile"),
)
_PATCHED: Final = re.compile(r"^\*\*\* (?:Add|Update|Delete) File: (.+)$", re.MULTILINE)
_FAILED: Final = re.compile(r"\bexit(?:ed)?(?: with)?(?: code)?:? [1-9]\d*\b", re.IGNORECASE)
ERROR_LINE: Final = re.compile(
    r"^\s*(?:E\s+)?(?:[\w.]*(?:Error|Exception|Panic)\b|error\b|fatal:|FAILED\b|npm ERR!)",
    re.IGNORECASE,
)
_WRAPPING: Final = re.compile(
    r"^(?:Chunk ID|Wall time|Process exited|Original token count|Exit Code|Process Group PGID"
    r"|<shellId|</?untrusted_context|Output:\s*$).*\n?|^Output: ",
    re.MULTILINE,
)
"""What Codex, Copilot CLI and Gemini CLI write around the output of a command."""

Kind = Literal["user", "assistant", "call", "result"]


@dataclass(frozen=True, slots=True)
class Source:
    """A session that a client keeps, and the stamp that says whether it has changed."""

    client: str
    path: Path
    session: str
    size: int
    changed: int

    @property
    def id(self) -> str:
        """The session's id in our store."""
        return f"{self.client}:{self.session}"

    @property
    def is_fresh(self) -> bool:
        """Whether it changed so lately that it may still be written."""
        return time() - self.changed / 1e9 < FRESH_S


@dataclass(slots=True)
class About:
    """What is known of a session; a reader fills in what it meets."""

    client: str
    session: str
    folder: str = ""
    branch: str = ""
    title: str = ""
    unfinished: bool = False
    """Something was held back that is still being written."""
    subagent: bool = False
    seen: set[str] = field(default_factory=set)
    """Ids of messages that a client writes down more than once."""
    unknown: Counter[str] = field(default_factory=Counter)
    """What could not be read, and how often."""


@dataclass(frozen=True, slots=True)
class Event:
    """A message, a call of a tool, or its result; ``end`` is the place behind it in the source."""

    kind: Kind
    text: str = ""
    end: int = 0
    at: datetime | None = None
    id: str = ""
    tool: str = ""
    arguments: Any = None
    failed: bool = False

    @property
    def role(self) -> Literal["user", "assistant", "tool"]:
        """Who speaks."""
        return self.kind if self.kind in ("user", "assistant") else "tool"


def called(name: Any, tool: Any, arguments: Any) -> Event:
    """Return the call of a tool, whose result has the same ``name``."""
    return Event("call", id=str(name or ""), tool=str(tool or ""), arguments=arguments)


def returned(name: Any, output: Any, failed: Any = False) -> Event:
    """Return what a call came to."""
    return Event("result", text_in(output), id=str(name or ""), failed=bool(failed))


class Reader(ABC):
    """Finds the sessions of one client and reads them."""

    client: str

    @abstractmethod
    def sources(self) -> Iterator[Source]:
        """The sessions that the client has on this machine."""

    @abstractmethod
    def read(self, source: Source, start: int, about: About) -> Iterator[Event]:
        """The events of a session behind the place ``start``.

        Raises OSError or sqlite3.Error when it cannot be read.
        """

    def continues(self, source: Source, start: int) -> bool:
        """Whether what was read up to ``start`` is still there, so that reading may go on."""
        return True


def told(events: Iterable[Event]) -> Iterator[Event]:
    """Reduce the text of events to what is kept; one that says nothing has an empty text."""
    commands: dict[str, bool] = {}
    for event in events:
        text = event.text.strip()
        if event.kind == "call":
            text = call_text(event.tool, event.arguments)
            commands[event.id] = text.startswith("$ ")
        elif event.kind == "result":
            text = result_text(event.text, event.failed, command=commands.pop(event.id, False))
        yield replace(event, text=text)


def settled(said: Iterable[Event], about: About) -> Iterator[Event]:
    """Hold back a command that still runs, from its line on: its output and error come later."""
    waiting: list[Event] = []
    running: set[str] = set()
    for _, line in groupby(said, lambda one: one.end):
        for one in line:
            waiting.append(one)
            if one.kind == "call" and one.text.startswith("$ "):
                running.add(one.id)
            elif one.kind == "result":
                running.discard(one.id)
            elif one.kind == "user" or len(waiting) > MOST_HELD:
                running.clear()  # it was interrupted, or nobody waits for it
        if not running:
            yield from waiting
            waiting.clear()
    about.unfinished = about.unfinished or bool(waiting)


def call_text(tool: str, arguments: Any) -> str:
    """Say what a call does: its command, or the files it changes; "" for anything else.

    >>> call_text("Bash", {"command": "make test"}), call_text("Read", {"file_path": "a.py"})
    ('$ make test', '')
    >>> call_text("Edit", '{"file_path": "a.py", "old_string": ""}')
    'edited a.py'
    """
    given = parsed(arguments)
    if isinstance(given, str):
        given = {"command" if "patch" not in tool else "input": given}
    if not isinstance(given, Mapping):
        return ""
    command = given.get("command") or given.get("cmd")
    if isinstance(command, list):
        command = str(command[-1]) if command else ""
    patched = _PATCHED.findall(str(given.get("input") or given.get("patch") or command or ""))
    if patched:
        return "edited " + ", ".join(patched)
    if isinstance(command, str) and command.strip():
        parts = [part.split()[0] for part in _PARTS.split(command) if part.strip()]
        return "" if LOOKING.issuperset(parts) else f"$ {_cut(command, COMMAND_CHARS)}"
    path = next((str(given[name]) for name in _PATHS if given.get(name)), "")
    return f"edited {path}" if path and _EDITS.search(tool) else ""


def result_text(output: str, failed: bool, *, command: bool) -> str:
    """Return the first line of a command's output, and of a failure its error.

    >>> result_text("one\\nImportError: no x\\nexit code: 1", False, command=True)
    '> one\\n! ImportError: no x'
    """
    failed = failed or any(map(_FAILED.search, (output[:400], output[-400:])))
    if not (command or failed):
        return ""
    lines = [line for line in _WRAPPING.sub("", output).splitlines() if line.strip()]
    if not lines:
        return ""
    kept = [f"> {_cut(lines[0], LINE_CHARS)}"] if command else []
    if failed:
        errors = [line for line in lines if ERROR_LINE.match(line)]
        error = _cut((errors or lines)[-1], LINE_CHARS)
        kept = [*(one for one in kept if one[2:] != error), f"! {error}"]
    return "\n".join(kept)


def moment(value: Any) -> datetime | None:
    """Read a time: ISO 8601, or milliseconds since 1970; None for anything else."""
    try:
        if isinstance(value, str):
            found = datetime.fromisoformat(value)
            return within_reach(found if found.tzinfo else found.replace(tzinfo=UTC))
        if isinstance(value, int | float) and value > 0:
            return within_reach(datetime.fromtimestamp(value / 1000, UTC))
    except (ValueError, OverflowError, OSError):
        pass
    return None


def nanoseconds(milliseconds: Any) -> int:
    """Return a client's moment as it is kept; 0 for what is not a number."""
    found = milliseconds if isinstance(milliseconds, int) else 0
    return max(0, min(found * 1_000_000, LATEST_NS))


def plain_folder(folder: str) -> str:
    """Return a folder that can be one; "" for a name that no file system has."""
    too_long = len(folder) > 4_000 or any(len(part) > 255 for part in folder.split("/"))
    return "" if too_long or "\0" in folder else well_formed(folder)


def inside(value: Any, path: str) -> Any:
    """Return what a value has behind a path of names; None where there is nothing.

    >>> inside({"git": {"branch": "main"}}, "git.branch"), inside({"git": []}, "git.branch")
    ('main', None)
    """
    for name in path.split("."):
        value = value.get(name) if isinstance(value, Mapping) else None
    return value


def text_at(value: Any, *paths: str) -> str:
    """Return what stands at the first of the paths that leads to anything, as text."""
    return next((str(found) for path in paths if (found := inside(value, path))), "")


def text_in(value: Any) -> str:
    """Return the text of a tool's result, whichever way a client nests it."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "\n".join(filter(None, map(text_in, value)))
    if isinstance(value, Mapping):
        inner = (value.get(name) for name in ("text", "content", "output", "error", "response"))
        return next((text for one in inner if (text := text_in(one))), "")
    return ""


def own_file(path: Path) -> os.stat_result | None:
    """Return the state of an ordinary file of this user; None for links, pipes and others'."""
    try:
        found = path.lstat()
    except (OSError, ValueError):
        return None
    foreign = hasattr(os, "getuid") and found.st_uid != os.getuid()
    return found if stat.S_ISREG(found.st_mode) and not foreign else None


def file_source(client: str, path: Path, session: str) -> Source | None:
    """Return the source of a session that has a file to itself; None where that is not ours."""
    found = own_file(path)
    if found is None or not session.isprintable():
        return None
    return Source(client, path, session, found.st_size, min(found.st_mtime_ns, LATEST_NS))


def parsed(text: Any) -> Any:
    """Return what JSON in a text says, anything else as it is."""
    try:
        return json.loads(text) if isinstance(text, str | bytes) else text
    except (ValueError, RecursionError):
        return text


def table_of(text: Any) -> dict[str, Any]:
    """Return the object that JSON in a text says, or that is given; an empty one for all else."""
    found = parsed(text)
    return found if isinstance(found, dict) else {}


def _cut(text: str, chars: int) -> str:
    return redacted(text.strip()[: chars + SCANNED_BEYOND])[:chars]
