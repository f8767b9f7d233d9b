"""Bringing the sessions of assistants into the user's own store, as far as they are new."""

import os
import sqlite3
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from itertools import chain, pairwise
from pathlib import Path
from time import monotonic
from typing import Final

from kds.api.embeddings import embed_waiting
from kds.brain.clock import utc_now
from kds.brain.memory.sessions import ID_LIMIT
from kds.brain.passages.store import Embedder
from kds.brain.passages.values import Role
from kds.brain.secrets.redaction import redacted
from kds.transcripts.catalogue import AssistantMemory, Packed, Project, ProjectStore
from kds.transcripts.databases import Cursor, Opencode, cursor_home
from kds.transcripts.formats import (
    SCANNED_CHARS,
    UNREADABLE,
    About,
    Event,
    Reader,
    Source,
    plain_folder,
    settled,
    told,
)
from kds.transcripts.json_lines import READERS
from kds.transcripts.specstory import SpecStory

CLIENTS: Final = ("claude", "codex", "copilot", "gemini", "opencode", "cursor", "specstory")

MESSAGE_CHARS: Final = 6_000
"""Of what an assistant says and does after a prompt: beyond, it is several messages."""
PROMPT_CHARS: Final = 12_000
"""Of a prompt: of a longer one, which has a file pasted into it, head and tail are kept."""
CUT: Final = "\n[...]\n"

AT_ONCE: Final = 200
"""Messages in one transaction."""

EMBED_S: Final = 60.0
"""Seconds that an import goes on making vectors; the next one goes on where it stopped."""

Teller = Callable[[str, int, int], None]


@dataclass(slots=True)
class Report:
    """What an import did, or (``dry_run``) would do."""

    sessions: Counter[str] = field(default_factory=Counter)
    """By client: those with something new."""
    messages: Counter[str] = field(default_factory=Counter)
    unchanged: int = 0
    elsewhere: int = 0
    """Sessions of other projects, or of excluded folders."""
    forgotten: int = 0
    expired: int = 0
    """Sessions that were forgotten since they are older than what is to be kept."""
    problems: list[str] = field(default_factory=list)
    projects: dict[int, str] = field(default_factory=dict)
    waiting: int = 0
    """Passages that have no vector yet; the next import goes on."""


def readers(
    home: Path, environ: Mapping[str, str], folders: Iterable[str] = ()
) -> dict[str, Reader]:
    """Return the reader of each client, for the folders in which they keep their sessions.

    ``folders`` are those of projects that may hold exports of SpecStory.
    """

    def own(variable: str, usual: str) -> Path:
        return Path(environ.get(variable) or home / usual)

    known: tuple[Reader, ...] = (
        READERS["claude"](own("CLAUDE_CONFIG_DIR", ".claude")),
        READERS["codex"](own("CODEX_HOME", ".codex")),
        READERS["copilot"](own("COPILOT_HOME", ".copilot")),
        READERS["gemini"](home / ".gemini"),
        Opencode(own("XDG_DATA_HOME", ".local/share") / "opencode"),
        Cursor(cursor_home(home, environ)),
        SpecStory([Path(one) for one in folders if one]),
    )
    return {one.client: one for one in known}


def project_folders(memory: AssistantMemory) -> tuple[str, ...]:
    """The folders of projects that are known, for readers of what lies in a project."""
    return tuple(one.folder for one in memory.projects() if Path(one.folder).is_dir())


def bring_in(
    memory: AssistantMemory,
    folder: str,
    *,
    clients: Sequence[str] = CLIENTS,
    since: datetime | None = None,
    everywhere: bool = False,
    keep_days: int = 0,
    embedder: Embedder | None = None,
    dry_run: bool = False,
    tell: Teller,
) -> Report:
    """Import what is new of the project in ``folder``, or of every one, and keep it current."""
    if memory.server is not None and not dry_run:
        with closing(AssistantMemory()) as files:  # what was forgotten there is not brought back
            memory.ban(files.banned())
    project = None if everywhere else memory.project_of(folder, make=True)
    if project is not None and not dry_run:
        memory.want(project)
    known = readers(Path.home(), os.environ, [folder, *project_folders(memory)])
    only = None if project is None else {project.num}
    report = import_sessions(
        memory, {name: known[name] for name in clients}, since=since, dry_run=dry_run, only=only,
        keep_days=keep_days, tell=tell,
    )  # fmt: skip
    if not dry_run:
        query = "INSERT OR REPLACE INTO chosen(client, everywhere) VALUES (?, ?)"
        for name in clients:
            memory.change(query, name, int(everywhere))
        report.waiting = embed(memory, only, embedder, EMBED_S, tell=tell)
    return report


def embed(
    memory: AssistantMemory,
    only: Collection[int] | None,
    embedder: Embedder | None,
    seconds: float,
    *,
    tell: Teller = lambda what, done, total: None,
) -> int:
    """Make vectors of what has none in the projects of these numbers (None: in all), for a while.

    Returns how many passages still wait.
    """
    if embedder is None:
        return 0
    ends, waiting = monotonic() + seconds, 0
    projects = [one for one in memory.projects() if only is None or one.num in only]
    with memory.stores(projects) as opened:
        for _, store in opened:
            embed_waiting(store, embedder, tell=tell, goes_on=lambda: monotonic() < ends)
            waiting += sum(one.waiting for one in store.models())
    return waiting


def import_sessions(
    memory: AssistantMemory,
    chosen: Mapping[str, Reader],
    *,
    only: Collection[int] | None,
    since: datetime | None = None,
    keep_days: int = 0,
    session: str = "",
    dry_run: bool = False,
    tell: Teller = lambda what, done, total: None,
) -> Report:
    """Read what is new in the sessions of the ``chosen`` clients.

    ``only`` are the numbers of the projects that are wanted; None: every one. ``since`` leaves out
    sessions that did not change after it, ``session`` all but that one, by its client's id. What
    was said last more than ``keep_days`` ago is forgotten; 0: nothing is.
    """
    report = Report()
    expiry = utc_now() - timedelta(days=keep_days) if keep_days else None
    since = max(filter(None, (since, expiry)), default=None)
    after_ns = since.timestamp() * 1e9 if since else 0
    with memory.alone():
        if not (dry_run or session):
            memory.purge()
        work = _Import(memory, report, only, dry_run)
        for client, reader in chosen.items():
            try:
                found = [one for one in reader.sources()
                         if one.changed >= after_ns and session in ("", one.session)]  # fmt: skip
            except (OSError, sqlite3.Error, *UNREADABLE) as error:
                report.problems.append(f"{client}: cannot be read: {error}")
                continue
            for number, source in enumerate(found, 1):
                work.take(reader, source)
                tell(client, number, len(found))
        work.close()
        if expiry is not None and not dry_run:
            old = memory.kept(lambda one: one.session.updated_at < expiry)
            report.expired = memory.forget(old)
    return report


class _Import:
    """One import under way."""

    def __init__(
        self, memory: AssistantMemory, report: Report, only: Collection[int] | None, dry_run: bool
    ) -> None:
        self.memory, self.report, self.only, self.dry_run = memory, report, only, dry_run
        self._banned = memory.banned()
        rows = memory.rows("SELECT id, folder, size, changed, done FROM source")
        self._known = {name: tuple(rest) for name, *rest in rows}
        self._projects: dict[str, Project | None] = {}
        self._store: tuple[int, ProjectStore] | None = None

    def take(self, reader: Reader, source: Source) -> None:
        """Import what is new of one session; what cannot be read is a line of the report."""
        folder, *stamp, done = self._known.get(source.id, ("", 0, 0, 0))
        if stamp == [source.size, source.changed] and (done or not self._is_wanted(folder)):
            self.report.unchanged += bool(done)
            self.report.elsewhere += not done
            return
        if self._banned.has_session(source.session):
            self.report.forgotten += 1
            return
        about = About(source.client, source.session)
        try:
            done = self._read(reader, source, about, folder)
        except (OSError, sqlite3.Error, *UNREADABLE) as error:
            about.unknown[f"cannot be read: {error}"] += 1
            done = False
        problem = "; ".join(f"{what} ({count})" for what, count in about.unknown.items())
        if problem:
            self.report.problems.append(f"{source.path}: {problem}")
        if not self.dry_run:
            self.memory.change(
                "INSERT OR REPLACE INTO source(id, folder, size, changed, done, problem) "
                "VALUES (?, ?, ?, ?, ?, ?)",
                source.id, plain_folder(about.folder), source.size, source.changed,
                int(done and not about.unfinished), problem,
            )  # fmt: skip

    def close(self) -> None:
        """Let go of the store that is open."""
        if self._store is not None:
            self._store[1].close()
            self._store = None

    def _read(self, reader: Reader, source: Source, about: About, folder: str) -> bool:
        """Read one session; returns whether it is dealt with until it changes."""
        project = self._project(folder) if folder else None
        start = 0
        if project is not None and self.memory.has(project):
            store = self._open(project)
            start, before = store.position(source.id)
            about.folder, about.branch = before.get("folder", ""), before.get("branch", "")
            if start and not reader.continues(source, start):
                start = 0
                if not self.dry_run:
                    store.delete_session(source.id)
        events = reader.read(source, start, about)
        if (first := next(events, None)) is None:
            return True
        about.folder = plain_folder(about.folder)
        if about.subagent or not self._is_wanted(about.folder):
            self.report.elsewhere += 1
            return about.subagent
        said = told(chain((first,), events))
        said = settled(said, about) if source.is_fresh else said
        new = self._keep(source, about, packed(said, source))
        if new:
            self.report.sessions[source.client] += 1
            self.report.messages[source.client] += new
        return True

    def _keep(self, source: Source, about: About, said: Iterable[Packed]) -> int:
        """Store a session in transactions that end between two lines of it; returns what is new."""
        if self.dry_run:
            return sum(1 for _ in said)
        project = self._project(about.folder, make=True)
        assert project is not None
        store = self._open(project)
        others = (f"{client}:{source.session}" for client in CLIENTS if client != source.client)
        if source.client == "specstory" and any(map(store.find_session, others)):
            return 0  # what was exported is kept already from its client
        self.report.projects[project.num] = project.name
        batch, new = list[Packed](), 0
        for one in said:
            if len(batch) >= AT_ONCE and one.begin > batch[-1].end:
                new += store.extend(about, batch, batch[-1].end)
                batch = []
            batch.append(one)
        return new + (store.extend(about, batch, batch[-1].end) if batch else 0)

    def _is_wanted(self, folder: str) -> bool:
        if folder and self._banned.has_folder(folder):
            return False
        project = None if self.only is None else self._project(folder)
        return self.only is None or (project is not None and project.num in self.only)

    def _project(self, folder: str, *, make: bool = False) -> Project | None:
        if self._projects.get(folder) is None:
            self._projects[folder] = self.memory.project_of(folder, make=make)
        return self._projects[folder]

    def _open(self, project: Project) -> ProjectStore:
        if self._store is None or self._store[0] != project.num:
            self.close()
            self._store = (project.num, self.memory.store_of(project))
        return self._store[1]


def packed(said: Iterable[Event], source: Source) -> Iterator[Packed]:
    """Put together what belongs to one message: prose, commands and their results."""
    turn: list[Event] = []
    size = 0
    for one in said:
        if not one.text:
            if turn:  # the place behind it has been read
                turn[-1] = replace(turn[-1], end=one.end)
            continue
        if turn and (one.kind == "user" or size + len(one.text) > MESSAGE_CHARS):
            yield _packed(turn, source)
            turn, size = [], 0
        if one.kind == "user":
            yield _packed([one], source)
        else:
            turn.append(one)
            size += len(one.text) + 2
    if turn:
        yield _packed(turn, source)


def _packed(turn: list[Event], source: Source) -> Packed:
    first = turn[0]
    text = first.text
    for before, one in pairwise(turn):
        text += ("\n" if before.role == one.role == "tool" else "\n\n") + one.text
    if len(text) > PROMPT_CHARS:
        head, tail = redacted(text[:SCANNED_CHARS]), redacted(text[-SCANNED_CHARS:])
        text = head[: PROMPT_CHARS * 2 // 3] + CUT + tail[-PROMPT_CHARS // 3 :]
    has_id = first.id and first.id.isprintable() and " " not in first.id
    name = f"{source.client}:{first.id}" if has_id else f"{source.id}@{first.end}"
    role: Role = "user" if first.kind == "user" else "assistant"
    return Packed(role, text, first.at, name[-ID_LIMIT:], first.end, turn[-1].end)
