"""Clients that write a session as JSON lines: Claude Code, Codex, Copilot CLI, Gemini CLI.

A file grows while its session lasts: it is read to its last whole line, and later from there.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, Literal

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
    called,
    file_source,
    inside,
    moment,
    own_file,
    parsed,
    returned,
    table_of,
    text_at,
    text_in,
)

LINE_LIMIT: Final = 32 * 2**20
"""Bytes of a line: a longer one is counted, and skipped."""

NOT_SAID: Final = ("<environment_context>", "<session_context>", "<hook_context>")
"""What Codex and Gemini CLI tell the model in the name of the user."""

_ADDED: Final = re.compile(r"<(system-reminder|ide_\w+|timestamp)>")
"""Begins what clients add to a prompt."""

_OWN: Final = (
    *NOT_SAID,
    *("<command-name>", "<command-message>", "<local-command-", "<bash-", "Caveat: The messages"),
    *("[Request interrupted", "<system_notification>", *NOT_TYPED),
)
"""How what clients write under the user's name begins, which was not typed."""

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


Entry = Mapping[str, Any]
Role = Literal["user", "assistant"]


@dataclass(frozen=True)
class JsonLines(Reader):
    """A reader of files with one JSON object a line."""

    client: str
    home: Path
    pattern: str
    wanted: re.Pattern[bytes]
    """What a line holds that may matter; others are not parsed."""
    known: frozenset[str]
    """Types of lines of which one at least is in every session of the client."""
    events_of: Callable[[Entry, About], Iterator[Event]]
    """The events of one line, without place and time."""
    session_of: Callable[[Path], str]
    """The session that a file is of; "" for another file."""

    def sources(self) -> Iterator[Source]:
        """The files of sessions, by name."""
        for path in sorted(self.home.glob(self.pattern)):
            if not own_file(path):  # before it is opened: a pipe would be waited for
                continue
            if (name := self.session_of(path)) and (found := file_source(self.client, path, name)):
                yield found

    def continues(self, source: Source, start: int) -> bool:
        """Whether the file goes on behind a line that ends at ``start``."""
        with source.path.open("rb") as file:
            file.seek(max(start - 1, 0))
            return start == 0 or file.read(1) == b"\n"

    def read(self, source: Source, start: int, about: About) -> Iterator[Event]:
        """The events behind ``start``; a format that is not known is counted by its name."""
        before, recognized = about.unknown.total(), start > 0
        for end, entry in self._entries(source.path, start, about):
            recognized = recognized or "sessionId" in entry or str(entry.get("type")) in self.known
            yield from self.events(entry, end, about)
        if not recognized and source.size and about.unknown.total() == before:
            about.unknown[f"not a session of {self.client} that KDS knows"] += 1

    def _entries(self, path: Path, start: int, about: About) -> Iterator[tuple[int, Entry]]:
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

    def events(self, entry: Entry, end: int, about: About) -> list[Event]:
        """The events of one line that say something; one that cannot be read is counted."""
        try:
            at, found = moment(entry.get("timestamp")), list(self.events_of(entry, about))
        except UNREADABLE:
            about.unknown["a line that KDS cannot read"] += 1
            return []
        found = [replace(one, text=typed(one.text)) if one.kind == "user" else one for one in found]
        return [replace(one, end=end, at=at) for one in found if one.text or one.role == "tool"]


class Gemini(JsonLines):
    """Gemini CLI, which names the folder beside the chats."""

    def sources(self) -> Iterator[Source]:
        """Going on with a session leaves a second file with its id: the largest file has it."""
        taken: set[str] = set()
        for one in sorted(super().sources(), key=lambda one: -one.size):
            yield replace(one, session=one.path.stem) if one.session in taken else one
            taken.add(one.session)

    def read(self, source: Source, start: int, about: About) -> Iterator[Event]:
        """The events behind ``start``."""
        root = source.path.parent.parent / ".project_root"
        if root.is_file():
            about.folder = root.read_text(encoding="utf-8", errors="replace").strip()
        yield from super().read(source, start, about)


def _claude(entry: Entry, about: About) -> Iterator[Event]:
    about.title = text_at(entry, "customTitle", "aiTitle") or about.title
    message, role = table_of(entry.get("message")), entry.get("type")
    skipped = any(map(entry.get, ("isSidechain", "isMeta", "isCompactSummary")))
    if skipped or not message or (role != "user" and role != "assistant"):
        return
    about.folder = text_at(entry, "cwd") or about.folder
    about.branch = text_at(entry, "gitBranch") or about.branch
    said = Event(role, text_of(message), id=text_at(entry, "uuid"))
    if role == "assistant":
        yield said
    blocks = message.get("content")
    for block in blocks if isinstance(blocks, list) else ():
        if inside(block, "type") == "tool_use":
            yield called(block.get("id"), block.get("name"), block.get("input"))
        elif inside(block, "type") == "tool_result":
            yield returned(block.get("tool_use_id"), block.get("content"), block.get("is_error"))
    if role == "user":
        yield said


def _codex(entry: Entry, about: About) -> Iterator[Event]:
    payload = table_of(entry.get("payload"))
    if entry["type"] != "response_item":
        about.folder = about.folder or text_at(payload, "cwd")
        about.branch = text_at(payload, "git.branch") or about.branch
        about.subagent = about.subagent or "subagent" in text_at(payload, "source")
        return
    kind, name = payload.get("type"), payload.get("call_id")
    if kind == "message" and (role := payload.get("role")) in ("user", "assistant"):
        yield Event(role, text_of(payload))
    elif kind in ("function_call", "custom_tool_call", "local_shell_call"):
        given = payload.get("arguments") or payload.get("input") or payload.get("action")
        yield called(name, payload.get("name") or "shell", given)
    elif kind in ("function_call_output", "custom_tool_call_output"):
        # earlier versions wrote JSON with the exit code into a text
        output = payload.get("output")
        told = table_of(output) if isinstance(output, str) else {}
        code = inside(told, "metadata.exit_code")
        said = text_in(told.get("output")) if "output" in told else text_in(output)
        yield returned(name, f"{said}\nexit code: {code}" if code else said)


def _copilot(entry: Entry, about: About) -> Iterator[Event]:
    data, kind = table_of(entry.get("data")), entry.get("type")
    about.folder = text_at(data, "context.cwd") or about.folder
    about.branch = text_at(data, "context.branch") or about.branch
    name = data.get("toolCallId")
    if kind == "user.message" or kind == "assistant.message":
        role: Role = "user" if kind == "user.message" else "assistant"
        yield Event(role, text_of(data), id=text_at(entry, "id"))
    elif kind == "tool.execution_start":
        yield called(name, data.get("toolName"), data.get("arguments"))
    elif kind == "tool.execution_complete":
        failed = data.get("success") is False or inside(data, "shellExecution.exitCode")
        yield returned(name, text_in(data.get("result")) or data.get("error"), failed)


def _gemini(entry: Entry, about: About) -> Iterator[Event]:
    """Lines repeat: a message comes again with its calls, and all of them with a session that is
    resumed. The importer knows messages by their ids."""
    about.subagent = about.subagent or entry.get("kind") == "subagent"
    if entry.get("type") not in _GEMINI_TYPES:
        return
    role: Role = "user" if entry["type"] == "user" else "assistant"
    text, name = text_of(entry), text_at(entry, "id")
    if text and (not name or name not in about.seen):
        about.seen.add(name)
        yield Event(role, text, id=name)
    for call in entry.get("toolCalls") or ():
        yield called(call.get("id"), call.get("name"), call.get("args"))
        responses = [one.get("functionResponse") for one in call.get("result") or ()]
        yield returned(call.get("id"), responses, call.get("status") == "error")


def _gemini_session(path: Path) -> str:
    """The file's name has only the beginning of the id that stands at its head."""
    with path.open("rb") as file:
        found = _GEMINI_ID.search(file.read(4096))
    return found[1].decode() if found else path.stem


_GEMINI_TYPES: Final = frozenset(("user", "gemini"))

READERS: Final[Mapping[str, Callable[[Path], JsonLines]]] = {
    "claude": lambda home: JsonLines(
        "claude", home, "projects/*/*.jsonl",
        re.compile(rb'"type":\s*"(?:user|assistant|summary|ai-title|custom-title)"'),
        frozenset(("user", "assistant", "summary")), _claude,
        lambda path: "" if path.stem.startswith("agent-") else path.stem,
    ),
    "codex": lambda home: JsonLines(
        "codex", home, "sessions/*/*/*/rollout-*.jsonl",
        re.compile(rb'"type":\s*"(?:response_item|session_meta|turn_context)"'),
        frozenset(("session_meta", "response_item")), _codex,
        lambda path: path.stem[-36:],
    ),
    "copilot": lambda home: JsonLines(
        "copilot", home, "session-state/*/events.jsonl",
        re.compile(rb'"type":\s*"(?:user\.m|assistant\.m|tool\.execution|session\.[srx])'),
        frozenset(("session.start", "user.message", "assistant.message")), _copilot,
        lambda path: path.parent.name,
    ),
    "gemini": lambda home: Gemini(
        "gemini", home, "tmp/*/chats/session-*.jsonl",
        re.compile(rb'"(?:sessionId|type)"'), _GEMINI_TYPES, _gemini, _gemini_session,
    ),
}  # fmt: skip
"""The readers by client, each for the client's home."""


def text_of(message: Any) -> str:
    """The words of a message; results of tools, pictures and thoughts are none."""
    content = inside(message, "content")
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
            said = _said(name, source, size)
            if len(said) > KEPT or size >= source.size:
                break
        if said:
            # the client may have written down what it is about to send
            if said[-1] == Utterance(prompt.strip()):
                said.pop()
            return tuple(Utterance(shortened(one.text), one.role) for one in said[-KEPT:])
    return ()


def _said(client: str, source: Source, size: int) -> list[Utterance]:
    """The messages in the last ``size`` bytes of a file; replies in a row are one."""
    said: list[Utterance] = []
    try:
        for event in _tail(client, source, source.size - size):
            if event.kind == "user" and event.text:
                said.append(Utterance(event.text))
            elif event.kind == "assistant" and event.text:
                before = said.pop().text + "\n" if said and said[-1].role == "assistant" else ""
                said.append(Utterance(before + event.text, "assistant"))
    except (OSError, *UNREADABLE):
        pass
    return said


def _tail(client: str, source: Source, start: int) -> Iterator[Event]:
    reader = READERS[client](source.path.parent)
    return reader.read(source, max(start, 0), About(client, source.session))


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
        source = file_source(client, path, path.stem)
        if client not in READERS or source is None:
            return
        start = self._end if self._end <= source.size else 0  # it was written anew
        events = [Event("user", self._prompt, start)] if self._prompt else []
        events += _tail(client, source, max(start, source.size - READ_BYTES))
        runs = [(said, name) for said, name in runs_in(events) if knows(name)]
        for prompt, entry in runs:
            uses.add(prompt, entry, "used")
        if named is not None and named[1] not in {entry for _, entry in runs}:
            uses.add(*named, "ignored")
        said = [event.text for event in events if event.kind == "user"]
        self._end, self._prompt = source.size, said[-1] if said else ""
