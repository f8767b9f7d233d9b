"""SpecStory's exports of other clients' sessions: Markdown files in a project.

A file is read as a whole; a place in it is the number of messages before it.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from html import unescape
from pathlib import Path
from typing import Final

from kds.transcripts.formats import (
    About,
    Event,
    Reader,
    Source,
    called,
    file_source,
    moment,
    own_file,
    returned,
)
from kds.transcripts.json_lines import typed

WHOLE_LIMIT: Final = 64 * 2**20
"""Bytes of a file that is read: a larger one is named, and left out."""

_SPOKEN: Final = re.compile(
    r"(?:(?<=\n\n)|\A)_\*\*(?P<who>User|Assistant|Agent)?(?P<side> - sidechain)?"
    r"(?: \((?P<when>[^)\n]*)\))?\*\*_ *(?=\n *(?:\n|\Z)|\Z)"
)
"""Between blank lines: one that is quoted stands in a block of code. The first exports of Cursor
name nobody where the assistant goes on."""
_SESSION: Final = re.compile(r"<!-- [\w ]+? Session ([\w-]{8,100})(?: \((.*?)\))? -->")
_TITLE: Final = re.compile(
    r"^##? (?!SpecStory$)(.{1,200}?)(?: \([\d/-]{8,10}[^)\n]{1,20}\))?$", re.MULTILINE
)
_TIME: Final = re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d(?::\d\d)?Z?")
_HEAD_CHARS: Final = 2_000

_ASIDE: Final = re.compile(
    r"<think>.*?(?:</think>|\Z)"
    r"|^<tool-use data-tool-type=\"\w+\" data-tool-name=\"(?P<tool>[^\"\n]*)\">"
    r"(?P<used>.*?)(?:</tool-use>|\Z)"
    r"|^Tool use: \*\*(?P<older_tool>\w+)\*\*(?P<older_used>.*?)(?:\n---\n|\Z)",
    re.MULTILINE | re.DOTALL,
)
"""What stands between prose. In exports of 2025 a call goes on to the next line of hyphens."""
_TOOL_CHARS: Final = 20_000
"""Of a call, its summary and its output."""
_SHELL: Final = re.compile(r"bash$|shell|exec|command|terminal", re.IGNORECASE)
_FENCE: Final = re.compile(r"^```(\w*) *\n(.*?)^```", re.MULTILINE | re.DOTALL)
_COMMAND: Final = re.compile(
    r"^ ?`([^`\n]+)` *$|\*\* `([^`\n]+)`|Run command: (.+?)</summary>|^- command: `([^`]+)`",
    re.MULTILINE,
)
_EDITED: Final = re.compile(
    r"Edit file: ([^<\n]+)|The file (\S+) has been|(?:created|written|updated) successfully at: "
    r"(\S+)|^ ?`([^`\n]+)`|\*\* `([^`\n]+)`",
    re.MULTILINE,
)


class SpecStory(Reader):
    """The files in ``.specstory/history`` of projects that are known."""

    client = "specstory"

    def __init__(self, folders: Sequence[Path]) -> None:
        self.folders = folders

    def sources(self) -> Iterator[Source]:
        """The exports of each folder; their session is the one that was exported."""
        for folder in self.folders:
            history = folder / ".specstory" / "history"
            if history.is_symlink() or history.parent.is_symlink():
                continue  # the exports of another project
            for path in filter(own_file, sorted(history.glob("*.md"))):
                with path.open(encoding="utf-8", errors="replace") as file:
                    head = _SESSION.search(file.read(_HEAD_CHARS))
                if found := file_source(self.client, path, head[1] if head else path.stem):
                    yield found

    def read(self, source: Source, start: int, about: About) -> Iterator[Event]:
        """The messages behind the first ``start``."""
        if source.size > WHOLE_LIMIT:
            about.unknown[f"larger than {WHOLE_LIMIT >> 20} MB"] += 1
            return
        text = source.path.read_text(encoding="utf-8", errors="replace")
        about.folder = str(source.path.parent.parent.parent)
        head, title = (one.search(text[:_HEAD_CHARS]) for one in (_SESSION, _TITLE))
        about.title = "" if title is None or _TIME.match(title[1]) else title[1]
        spoken = list(_SPOKEN.finditer(text))
        if not spoken:
            about.unknown["not an export of specstory that KDS knows"] += 1
            return
        began = _when(head[2] or "" if head else "") or _when(source.path.name)
        began = began or datetime.fromtimestamp(source.changed / 1e9, UTC)
        ends = [*(one.start() for one in spoken[1:]), len(text)]
        for number, (one, end) in enumerate(zip(spoken, ends, strict=True), 1):
            if number == len(spoken) and one["who"] != "User" and source.is_fresh:
                about.unfinished = True
            elif number > start and not one["side"]:
                at = _when(one["when"] or "") or began
                for event in _events(text[one.end() : end].strip(), one["who"], number):
                    yield replace(event, end=number, at=at)


def _events(body: str, who: str | None, number: int) -> Iterator[Event]:
    if who == "User":
        yield Event("user", typed(body.removesuffix("---")))
        return
    for one in _ASIDE.finditer(body):
        if tool := one["tool"] or one["older_tool"]:
            used = one["used"] or one["older_used"] or ""
            yield from _used(tool, used[:_TOOL_CHARS], f"{number}.{one.start()}")
    prose = re.split(r"^---$", _ASIDE.sub("", body), flags=re.MULTILINE)
    yield Event("assistant", "\n\n".join(filter(None, map(str.strip, prose))))


def _used(tool: str, body: str, name: str) -> Iterator[Event]:
    """A call with its command or file, and of a command its output."""
    fences = _FENCE.findall(body)
    given: dict[str, str] = {}
    if _SHELL.search(tool):
        if fences and fences[0][0] in ("bash", "sh", "shell", "zsh"):
            given["command"] = fences.pop(0)[1]
        elif found := _COMMAND.search(body):
            given["command"] = unescape(found[found.lastindex or 0])
    elif found := _EDITED.search(body):
        given["path"] = unescape(found[found.lastindex or 0]).strip()
    yield called(name, tool, given)
    yield returned(name, [text for _, text in fences[:1]], "\nError:\n" in body)


def _when(text: str) -> datetime | None:
    """Find a time; in names of files its parts stand behind hyphens."""
    plain = re.sub(r"_(\d\d)-(\d\d)(?:-(\d\d))?Z", r" \1:\2:\3Z", text).replace(":Z", "Z")
    found = _TIME.search(plain)
    return moment(found[0].replace(" ", "T")) if found else None
