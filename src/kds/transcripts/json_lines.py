"""Clients that write a session as JSON lines: Claude Code, Codex, Copilot CLI, Gemini CLI.

A file grows while its session lasts: it is read to its last whole line, and later from there.
"""

import json
import re
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any, ClassVar, Final

from kds.activation.uses import Uses, runs_in
from kds.brain.message import well_formed
from kds.brain.turn import Utterance
from kds.hooks.reply import NOT_TYPED
from kds.transcripts.formats import (
    UNREADABLE,
    About,
    Event,
    Reader,
    Source,
    file_source,
    is_huge,
    moment,
    own_file,
    parsed,
    text_in,
)

LINE_LIMIT: Final = 32 * 2**20
"""Bytes of a line: a longer one is counted, and skipped."""

NOT_SAID: Final = ("<environment_context>", "<session_context>", "<hook_context>")
"""What Codex and Gemini CLI tell the model in the name of the user."""

_ADDED: Final = re.compile(r"<(system-reminder|ide_\w+|timestamp)>")
"""Begins what clients add to a prompt."""

_OWN: Final = (
    *("<command-name>", "<command-message>", "<local-command-", "<bash-", "Caveat: The messages"),
    *("[Request interrupted", "<system_notification>", *NOT_TYPED),
)
"""How what Claude Code and Cursor write under the user's name begins, which was not typed."""

_GEMINI_ID: Final = re.compile(rb'"sessionId":\s*"([\w-]{1,100})"')

READ_BYTES: Final = 4 * 2**20
"""How far back a session under way is read: beyond several pastes of 100 kB and the results of
tools, which clients write down up to three times."""
FIRST_BYTES: Final = 2**17
"""How far back it is read at first: mostly enough, in some ms."""

KEPT: Final = 20
"""Messages and replies that a hook is told of, the newest."""

HEAD_CHARS: Final = 200
TAIL_CHARS: Final = 400
"""Of such a reply: what it set out to do, and its summary and question."""

CUT: Final = "\n[...]\n"


def typed(text: str) -> str:
    """Return what a user typed of a prompt; "" for one that a client wrote."""
    parts, at = list[str](), 0
    while added := _ADDED.search(text, at):
        close = text.find(f"</{added[1]}>", added.end())
        if close < 0:
            break
        parts.append(text[at : added.start()])
        at = close + len(f"</{added[1]}>")
    text = "".join((*parts, text[at:])).strip()
    return "" if text.startswith(_OWN) else text


class JsonLines(Reader):
    """A reader of files with one JSON object a line."""

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
            skipping = False
            while line := file.readline(LINE_LIMIT):
                if not line.endswith(b"\n"):
                    about.unfinished = len(line) < LINE_LIMIT
                    if not (about.unfinished or skipping):
                        about.unknown["a line longer than 32 MB"] += 1
                    skipping = True
                elif skipping:
                    skipping = False
                elif self.wanted.search(line):
                    entry = parsed(line)
                    if entry is line:
                        about.unknown["a line that is not JSON"] += 1
                    elif isinstance(entry, dict):
                        yield file.tell(), entry

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
        content, text = message.get("content"), text_of(message)
        used = _claude_tools(content if isinstance(content, list) else [], end, at)
        if entry["type"] == "assistant":
            yield Event("assistant", text, end, at, name)
            yield from used
            return
        yield from used
        if text := typed(text):
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
    inner = parsed(output)
    if isinstance(output, str) and isinstance(inner, dict) and "output" in inner:
        meta = inner.get("metadata")
        code = meta.get("exit_code") if isinstance(meta, dict) else 0
        return f"{inner['output']}\nexit code: {code}" if code else str(inner["output"])
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
        taken: set[str] = set()
        for one in sorted(super().sources(), key=lambda one: -one.size):
            yield replace(one, session=one.path.stem) if one.session in taken else one
            taken.add(one.session)

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
        if text and (not name or name not in about.seen) and not text.startswith(NOT_SAID):
            about.seen.add(name)
            yield Event("user" if kind == "user" else "assistant", text, end, at, name)
        for call in entry.get("toolCalls") or ():
            tool, of = str(call.get("name", "")), str(call.get("id", ""))
            yield Event("call", "", end, at, of, tool, call.get("args"))
            output = text_in([one.get("functionResponse") for one in call.get("result") or ()])
            failed = call.get("status") == "error"
            yield Event("result", output, end, at, of, failed=failed)


READERS: Final = {one.client: one for one in (Claude, Codex, Copilot, Gemini)}


def text_of(message: Any) -> str:
    """The words of a message; results of tools, pictures and thoughts are none."""
    content = message.get("content") if isinstance(message, dict) else None
    if isinstance(content, list):
        kinds = ("text", "input_text", "output_text", None)
        parts = [one for one in content if isinstance(one, dict) and one.get("type") in kinds]
        texts = (str(one.get("text", "")) for one in parts)
        content = "\n".join(text for text in texts if not text.startswith(NOT_SAID))
    return well_formed(content).strip() if isinstance(content, str) else ""


def read_transcript(path: str, *, prompt: str = "", client: str = "") -> tuple[Utterance, ...]:
    """Return what was said before ``prompt`` in a session's file, oldest first.

    Replies are cut to head and tail. A file of somebody else's, a link or a pipe is not read.
    """
    source = file_source(client, Path(path), "")
    if source is None:
        return ()
    for name in sorted(READERS, key=lambda one: one != client):
        for size in (FIRST_BYTES, READ_BYTES):
            said = _said(READERS[name], source, size)
            if len(said) > KEPT or size >= source.size:
                break
        if said:
            # the client may have written down what it is about to send
            if said[-1] == Utterance(prompt.strip()):
                said.pop()
            return tuple(Utterance(shortened(one.text), one.role) for one in said[-KEPT:])
    return ()


def _said(reader: type[JsonLines], source: Source, size: int) -> list[Utterance]:
    """The messages in the last ``size`` bytes of a file; replies in a row are one."""
    said: list[Utterance] = []
    try:
        for event in _tail(reader, source, source.size - size):
            if event.kind == "user" and event.text:
                said.append(Utterance(event.text))
            elif event.kind == "assistant" and event.text:
                before = said.pop().text + "\n" if said and said[-1].role == "assistant" else ""
                said.append(Utterance(before + event.text, "assistant"))
    except (OSError, *UNREADABLE):
        pass
    return said


def _tail(reader: type[JsonLines], source: Source, start: int) -> Iterator[Event]:
    about = About(reader.client, source.session)
    return reader(source.path.parent).read(source, max(start, 0), about)


def shortened(text: str) -> str:
    """A long text as its head and its tail."""
    short = len(text) <= HEAD_CHARS + TAIL_CHARS
    return text if short else f"{text[:HEAD_CHARS]}{CUT}{text[-TAIL_CHARS:]}"


class Followed:
    """A session, as far as it was read."""

    def __init__(self) -> None:
        self._end = 0
        self._prompt = ""
        self._named: tuple[str, str] | None = None
        self._ever_named: set[str] = set()

    def name(self, prompt: str, entry: str) -> bool:
        """Note that ``entry`` is named beside ``prompt``; False: it was before, which is enough."""
        is_new = entry not in self._ever_named
        if is_new:
            self._ever_named.add(entry)
            self._named = prompt, entry
        return is_new

    def last_named(self) -> tuple[str, str] | None:
        """Return the prompt and the entry that was last named beside it: once."""
        named, self._named = self._named, None
        return named

    def learn(
        self, client: str, path: Path, knows: Callable[[str], bool], uses: Uses,
        named: tuple[str, str] | None,
    ) -> None:  # fmt: skip
        """Keep what ran since it was last read; ``named`` was said in vain where it did not run.

        Entries that ``knows`` denies are not of the library. Raises OSError and StoreError.
        """
        reader, source = READERS.get(client), file_source(client, path, path.stem)
        if reader is None or source is None:
            return
        start = self._end if self._end <= source.size else 0  # it was written anew
        events = [Event("user", self._prompt, start)] if self._prompt else []
        events += _tail(reader, source, max(start, source.size - READ_BYTES))
        runs = [(said, name) for said, name in runs_in(events) if knows(name)]
        for prompt, entry in runs:
            uses.add(prompt, entry, "used")
        if named is not None and named[1] not in {entry for _, entry in runs}:
            uses.add(*named, "ignored")
        said = [event.text for event in events if event.kind == "user"]
        self._end, self._prompt = source.size, said[-1] if said else ""
