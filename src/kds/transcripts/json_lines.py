"""Clients that write a session as JSON lines: Claude Code, Codex, Copilot CLI, Gemini CLI.

A file grows while its session lasts: it is read to its last whole line, and later from there.
"""

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any, ClassVar, Final

from kds.hooks.reply import NOT_TYPED
from kds.hooks.transcript import NOT_SAID, text_of
from kds.transcripts.formats import (
    UNREADABLE,
    About,
    Event,
    Source,
    file_source,
    is_huge,
    moment,
    own_file,
    text_in,
)

LINE_LIMIT: Final = 32 * 2**20
"""Bytes of a line: a longer one is counted, and skipped."""

_CLAUDE_ADDED: Final = re.compile(r"<(system-reminder|ide_\w+)>.*?</\1>", re.DOTALL)
_CLAUDE_OWN: Final = (
    *("<command-name>", "<command-message>", "<local-command-", "<bash-", "Caveat: The messages"),
    *("[Request interrupted", *NOT_TYPED),
)
"""How lines of Claude Code begin that stand under the user's name, and were not typed."""

_GEMINI_ID: Final = re.compile(rb'"sessionId":\s*"([\w-]{1,100})"')


class JsonLines(ABC):
    """A reader of files with one JSON object a line."""

    client: ClassVar[str]
    pattern: ClassVar[str]
    wanted: ClassVar[re.Pattern[bytes]]
    """What a line holds that may matter; others are not parsed."""
    known: ClassVar[frozenset[str]]
    """Types of lines of which one at least is in every session of the client."""

    def __init__(self, home: Path) -> None:
        self.home = home

    def sources(self) -> Iterator[Source]:
        """The files of sessions, by name."""
        for path in sorted(self.home.glob(self.pattern)):
            if not own_file(path):  # before it is opened: a pipe would be waited for
                continue
            if (name := self.session_of(path)) and (found := file_source(self.client, path, name)):
                yield found

    def session_of(self, path: Path) -> str:
        """Return the session that a file's name says; "" for another file."""
        return path.stem

    def continues(self, source: Source, start: int) -> bool:
        """Whether the file goes on behind a line that ends at ``start``."""
        with source.path.open("rb") as file:
            file.seek(max(start - 1, 0))
            return start == 0 or file.read(1) == b"\n"

    def read(self, source: Source, start: int, about: About) -> Iterator[Event]:
        """The events behind ``start``; a format that is not known is counted by its name."""
        before = about.unknown.total()
        recognized = start > 0
        for end, entry in self._entries(source.path, start, about):
            recognized = recognized or self.knows(entry)
            yield from self.events(entry, end, about)
        if not recognized and source.size and about.unknown.total() == before:
            about.unknown[f"not a session of {self.client} that KDS knows"] += 1

    def knows(self, entry: Mapping[str, Any]) -> bool:
        """Whether a line is one that the client writes into its sessions."""
        return str(entry.get("type", "")) in self.known

    def _entries(self, path: Path, start: int, about: About) -> Iterator[tuple[int, Any]]:
        with path.open("rb") as file:
            file.seek(start)
            end = start
            while line := file.readline(LINE_LIMIT):
                end += len(line)
                if not line.endswith(b"\n"):
                    if len(line) < LINE_LIMIT:
                        about.unfinished = True
                        return
                    end += _skip_line(file)
                    about.unknown["a line longer than 32 MB"] += 1
                    continue
                if self.wanted.search(line) is None:
                    continue
                try:
                    entry = json.loads(line)
                except (ValueError, RecursionError):
                    about.unknown["a line that is not JSON"] += 1
                    continue
                if isinstance(entry, dict):
                    yield end, entry

    def events(self, entry: Any, end: int, about: About) -> list[Event]:
        """The events of one line; one that cannot be read is counted."""
        try:
            return list(self.parse(entry, end, about))
        except UNREADABLE:
            about.unknown["a line that KDS cannot read"] += 1
            return []

    @abstractmethod
    def parse(self, entry: Mapping[str, Any], end: int, about: About) -> Iterator[Event]:
        """The events of one line."""


def _skip_line(file: Any) -> int:
    """Read on to the end of a line; returns how many bytes that were."""
    size = 0
    while line := file.readline(LINE_LIMIT):
        size += len(line)
        if line.endswith(b"\n"):
            break
    return size


class Claude(JsonLines):
    """Claude Code: ``projects/<folder>/<session>.jsonl`` in ``~/.claude``."""

    client = "claude"
    pattern = "projects/*/*.jsonl"
    wanted = re.compile(rb'"type":\s*"(?:user|assistant|summary|ai-title|custom-title)"')
    known = frozenset(("user", "assistant", "summary"))

    def session_of(self, path: Path) -> str:
        """Subagents have files of their own."""
        return "" if path.stem.startswith("agent-") else path.stem

    def parse(self, entry: Mapping[str, Any], end: int, about: About) -> Iterator[Event]:
        """Lines of ``type`` user and assistant with a ``message`` of blocks."""
        if title := entry.get("customTitle") or entry.get("aiTitle"):
            about.title = str(title)
        message = entry.get("message")
        skipped = entry.get("isSidechain") or entry.get("isMeta") or entry.get("isCompactSummary")
        if skipped or not isinstance(message, dict) or entry.get("type") not in self.known:
            return
        about.folder = str(entry.get("cwd") or about.folder)
        about.branch = str(entry.get("gitBranch") or about.branch)
        at, name = moment(entry.get("timestamp")), str(entry.get("uuid") or "")
        content = message.get("content")
        used = list(_claude_tools(content if isinstance(content, list) else [], end, at))
        text = text_of(message)
        if entry["type"] == "assistant":
            yield Event("assistant", text, end, at, name)
            yield from used
            return
        yield from used
        text = _CLAUDE_ADDED.sub("", text).strip()
        if text and not text.startswith(_CLAUDE_OWN):
            yield Event("user", text, end, at, name)


def _claude_tools(blocks: Iterable[Any], end: int, at: datetime | None) -> Iterator[Event]:
    for block in blocks:
        if not isinstance(block, dict):
            continue
        if block.get("type") == "tool_use":
            tool, given = str(block.get("name", "")), block.get("input")
            yield Event("call", "", end, at, str(block.get("id", "")), tool, given)
        elif block.get("type") == "tool_result":
            text, failed = text_in(block.get("content")), bool(block.get("is_error"))
            yield Event("result", text, end, at, str(block.get("tool_use_id", "")), failed=failed)


class Codex(JsonLines):
    """Codex: ``sessions/<year>/<month>/<day>/rollout-<time>-<session>.jsonl`` in ``~/.codex``."""

    client = "codex"
    pattern = "sessions/*/*/*/rollout-*.jsonl"
    wanted = re.compile(rb'"type":\s*"(?:response_item|session_meta|turn_context)"')
    known = frozenset(("session_meta", "response_item"))

    def session_of(self, path: Path) -> str:
        """The id is the last 36 characters of the name."""
        return path.stem[-36:]

    def parse(self, entry: Mapping[str, Any], end: int, about: About) -> Iterator[Event]:
        """Lines with a ``payload``: messages, calls of functions and their output."""
        payload, at = entry.get("payload"), moment(entry.get("timestamp"))
        if not isinstance(payload, dict):
            return
        if entry["type"] != "response_item":
            git = found if isinstance(found := payload.get("git"), dict) else {}
            about.folder = about.folder or str(payload.get("cwd") or "")
            about.branch = str(git.get("branch") or about.branch)
            about.subagent = about.subagent or "subagent" in str(payload.get("source", ""))
            return
        kind, name = payload.get("type"), str(payload.get("call_id") or "")
        if kind == "message" and payload.get("role") in ("user", "assistant"):
            text = text_of(payload)
            if text and not text.startswith(NOT_SAID):
                yield Event(payload["role"], text, end, at)
        elif kind in ("function_call", "custom_tool_call", "local_shell_call"):
            given = payload.get("arguments") or payload.get("input") or payload.get("action")
            yield Event("call", "", end, at, name, str(payload.get("name") or "shell"), given)
        elif kind in ("function_call_output", "custom_tool_call_output"):
            yield Event("result", _codex_output(payload.get("output")), end, at, name)


def _codex_output(output: Any) -> str:
    """The output of a command; earlier versions wrote JSON with the exit code into a text."""
    if isinstance(output, str) and output.startswith("{"):
        try:
            inner = json.loads(output)
            code = inner.get("metadata", {}).get("exit_code", 0)
            return f"{inner['output']}\nexit code: {code}" if code else str(inner["output"])
        except UNREADABLE:
            pass
    return text_in(output)


class Copilot(JsonLines):
    """Copilot CLI: ``session-state/<session>/events.jsonl`` in ``~/.copilot``."""

    client = "copilot"
    pattern = "session-state/*/events.jsonl"
    wanted = re.compile(rb'"type":\s*"(?:user\.m|assistant\.m|tool\.execution|session\.[srx])')
    known = frozenset(("session.start", "user.message", "assistant.message"))

    def session_of(self, path: Path) -> str:
        """The folder is named for the session."""
        return path.parent.name

    def parse(self, entry: Mapping[str, Any], end: int, about: About) -> Iterator[Event]:
        """Events with ``data``."""
        data, kind, at = entry.get("data"), entry.get("type"), moment(entry.get("timestamp"))
        if not isinstance(data, dict):
            return
        context = data.get("context")
        if isinstance(context, dict):
            about.folder = str(context.get("cwd") or about.folder)
            about.branch = str(context.get("branch") or about.branch)
        call = str(data.get("toolCallId") or "")
        if kind in ("user.message", "assistant.message"):
            role = "user" if kind == "user.message" else "assistant"
            yield Event(role, text_of(data), end, at, str(entry.get("id") or ""))  # type: ignore[arg-type]
        elif kind == "tool.execution_start":
            tool = str(data.get("toolName", ""))
            yield Event("call", "", end, at, call, tool, data.get("arguments"))
        elif kind == "tool.execution_complete":
            shell = data.get("shellExecution")
            code = shell.get("exitCode") if isinstance(shell, dict) else 0
            failed = data.get("success") is False or bool(code)
            text = text_in(data.get("result")) or text_in(data.get("error"))
            yield Event("result", text, end, at, call, failed=failed)


class Gemini(JsonLines):
    """Gemini CLI: ``tmp/<project>/chats/session-*.jsonl`` in ``~/.gemini``, before it ``.json``.

    Lines repeat: a message comes again with its calls, and all of them when a session is resumed.
    The importer knows messages by their ids.
    """

    client = "gemini"
    pattern = "tmp/*/chats/session-*.json*"
    wanted = re.compile(rb'"(?:sessionId|type)"')
    known = frozenset(("user", "gemini"))

    def sources(self) -> Iterator[Source]:
        """Going on with a session leaves a second file with its id: the largest file has it."""
        found = sorted(super().sources(), key=lambda one: -one.size)
        ids = [one.session for one in found]
        for number, one in enumerate(found):
            first = ids.index(one.session) == number
            yield one if first else replace(one, session=one.path.stem)

    def knows(self, entry: Mapping[str, Any]) -> bool:
        """A session that has just begun has its head alone."""
        return "sessionId" in entry or super().knows(entry)

    def session_of(self, path: Path) -> str:
        """The file's name has only the beginning of the id that stands at its head."""
        with path.open("rb") as file:
            found = _GEMINI_ID.search(file.read(4096))
        return found[1].decode() if found else path.stem

    def read(self, source: Source, start: int, about: About) -> Iterator[Event]:
        """The project's folder stands in a file beside the chats."""
        root = source.path.parent.parent / ".project_root"
        if root.is_file():
            about.folder = root.read_text(encoding="utf-8", errors="replace").strip()
        if source.path.suffix == ".jsonl":
            yield from super().read(source, start, about)
            return
        if is_huge(source, about):
            return
        data = json.loads(source.path.read_bytes())
        messages = data.get("messages") if isinstance(data, dict) else None
        if not isinstance(messages, list):
            about.unknown["not a session of gemini that KDS knows"] += 1
            return
        for entry in messages:
            yield from self.events(entry, source.size, about)

    def continues(self, source: Source, start: int) -> bool:
        """A whole JSON file is written anew each time, and read anew."""
        return source.path.suffix == ".jsonl" and super().continues(source, start)

    def parse(self, entry: Mapping[str, Any], end: int, about: About) -> Iterator[Event]:
        """Lines of ``type`` user or gemini, the latter with its calls and their results."""
        kind, at = entry.get("type"), moment(entry.get("timestamp"))
        about.subagent = about.subagent or entry.get("kind") == "subagent"
        if kind not in self.known:
            return
        text, name = text_of(entry), str(entry.get("id") or "")
        if text and name not in about.seen and not text.startswith(NOT_SAID):
            about.seen.add(name)
            yield Event("user" if kind == "user" else "assistant", text, end, at, name)
        for call in entry.get("toolCalls") or ():
            tool, of = str(call.get("name", "")), str(call.get("id", ""))
            yield Event("call", "", end, at, of, tool, call.get("args"))
            output = text_in([one.get("functionResponse") for one in call.get("result") or ()])
            failed = call.get("status") == "error"
            yield Event("result", output, end, at, of, failed=failed)
