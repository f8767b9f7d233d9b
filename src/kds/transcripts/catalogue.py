"""Where the sessions of assistants are kept: a folder of the user's own, one file a repository.

The catalogue says which repository has which file, which sources were read, and what the user wants
of it. What was read of a session stands in the file of its repository, in the transaction that
stores the messages: whenever a process dies, nothing is lost and nothing is there twice.

A user who has a server may have it all there instead (`assistants.in_database`), a tenant for each
repository and one for the tables of CATALOGUE that are the same on all machines. The others (places
and what was read) stay in a file of each machine.
"""

import hashlib
import json
import math
import os
import re
import shlex
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any, Final, NamedTuple

from kds.brain.environment import own_folder
from kds.brain.errors import StoreError
from kds.brain.files import PrivateFile, make_private_folder
from kds.brain.memory.memory_store import MEMORY, MemoryStore, PostgresStore, SqliteStore
from kds.brain.memory.sessions import SESSION_COLUMNS, Session, session_of
from kds.brain.memory.sessions import insert as insert_session
from kds.brain.passages.store import marks
from kds.brain.passages.values import Role
from kds.brain.settings import Settings
from kds.brain.store.engine import Engine
from kds.brain.store.migrations import FileKind
from kds.brain.store.sqlite import Database, all_files
from kds.brain.store.tenancy import CONVERSATIONS, Area, Tenancy, tenant_number
from kds.brain.workspace import SharedDatabase
from kds.transcripts.formats import About
from kds.transcripts.repository import first_commit, holds, place_name, remote_of

CHARS_OF_TOKEN: Final = 3.6
"""Of what is said to assistants and by them, measured on the development sessions."""

WAIT_S: Final = 120.0
"""How long an import waits for another one."""

_TRANSCRIPT: Final = f"""
CREATE TABLE transcript(
  session_id TEXT PRIMARY KEY REFERENCES session(id) ON DELETE CASCADE,
  position INTEGER NOT NULL,
  about TEXT NOT NULL
);
PRAGMA application_id = {MEMORY.application_id};
"""
"""Before the tables of the memory, whose steps may grow in number. The mark of the file comes with
the first step: a process may die before the second."""

_CATALOGUE: Final = """
CREATE TABLE project(
  num INTEGER PRIMARY KEY AUTOINCREMENT,
  name TEXT NOT NULL,
  folder TEXT NOT NULL,
  wanted INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE place(name TEXT PRIMARY KEY, project_num INTEGER NOT NULL);
CREATE TABLE source(
  id TEXT PRIMARY KEY,
  folder TEXT NOT NULL,
  size INTEGER NOT NULL,
  changed INTEGER NOT NULL,
  done INTEGER NOT NULL,
  problem TEXT NOT NULL
);
CREATE TABLE forgotten(mark TEXT PRIMARY KEY);
CREATE TABLE excluded(path TEXT PRIMARY KEY);
CREATE TABLE chosen(client TEXT PRIMARY KEY, everywhere INTEGER NOT NULL);
CREATE TABLE state(key TEXT PRIMARY KEY, value INTEGER NOT NULL);
INSERT INTO state(key, value) VALUES ('scrub_due', 0);
PRAGMA application_id = 1262768961;
"""

_CLONES: Final = """
CREATE TABLE clone(
  remote TEXT NOT NULL,
  first_commit TEXT NOT NULL,
  project_num INTEGER NOT NULL,
  PRIMARY KEY(remote, first_commit)
);
"""
"""By what a clone of a project is known (`kds.transcripts.repository`)."""

CATALOGUE: Final = FileKind(
    "the catalogue of assistants' sessions",
    0x4B445341,  # 'KDSA'
    rebuild="kds memory import",
    migrations=(_CATALOGUE, _CLONES),
)

SESSIONS: Final = FileKind(
    "the memory of assistants",
    MEMORY.application_id,
    rebuild="kds memory delete --project DIR, then kds memory import",
    migrations=(_TRANSCRIPT, *MEMORY.migrations),
)


AREA: Final = Area("kds_assistants", CONVERSATIONS.lock)
"""Where a server has the tables of CATALOGUE that all machines share."""

_PLACES: Final = "SELECT name FROM place WHERE project_num = ?"
_FORGET: Final = "INSERT INTO forgotten(mark) VALUES (?) ON CONFLICT(mark) DO NOTHING"
_EXCLUDE: Final = "INSERT INTO excluded(path) VALUES (?) ON CONFLICT(path) DO NOTHING"

RESUME: Final = {
    "claude": "claude --resume {}",
    "codex": "codex resume {}",
    "copilot": "copilot --resume {}",
    "gemini": "gemini --resume {}",
    "opencode": "opencode --session {}",
}


class Packed(NamedTuple):
    """A message to be stored: a prompt, or the words and actions that followed it."""

    role: Role
    text: str
    at: datetime | None
    id: str
    begin: int = 0
    end: int = 0


@dataclass(frozen=True, slots=True)
class Kept:
    """A session that is kept, with where it came from."""

    session: Session
    folder: str
    branch: str

    @property
    def client(self) -> str:
        """The client that it was in."""
        return self.session.id.partition(":")[0]

    @property
    def name(self) -> str:
        """The client's own id of it."""
        return self.session.id.partition(":")[2]

    @property
    def resume(self) -> str:
        """The command that goes on with it; "" where the client has none."""
        plain = re.fullmatch(r"[\w.-]+", self.name)
        return RESUME.get(self.client, "").format(self.name) if plain else ""

    def resume_from(self, folder: str) -> str:
        """The same for a shell in ``folder``, which may have to go to the session's first."""
        if not self.resume or self.folder in ("", folder):
            return self.resume
        return f"cd {shlex.quote(self.folder)} && {self.resume}"


def about_tokens(text: str) -> int:
    """Estimate the tokens of a text by its length, in no time: importing counts each text thrice.

    >>> about_tokens("x" * 360)
    100
    """
    return math.ceil(len(text) / CHARS_OF_TOKEN)


class ProjectStore(MemoryStore):
    """The sessions of one repository, whichever client they were in."""

    def position(self, session_id: str) -> tuple[int, dict[str, str]]:
        """Return up to where a session was read, and what is known of it; 0 for a new one."""
        query = "SELECT position, about FROM transcript WHERE session_id = ?"
        rows = _asked(self.database, query, (session_id,))
        return (rows[0][0], json.loads(rows[0][1])) if rows else (0, {})

    def extend(self, about: About, messages: Sequence[Packed], position: int) -> int:
        """Add messages of a session, and note up to where it was read; returns how many are new.

        A message whose id is there already (of a session that was forked) is left out.
        """
        session_id = f"{about.client}:{about.session}"
        drafts = [self.draft(one.role, one.text, at=one.at, message_id=one.id) for one in messages]
        with self.database.write() as connection:
            known = self.known_ids(connection, [one.message.id for one in drafts])
            new = [one for one in drafts if one.message.id not in known]
            row = connection.execute(
                "SELECT num FROM session WHERE id = ?", (session_id,)
            ).fetchone()
            if row is None and not new:
                return 0
            at = next((one.at for one in messages if one.at), None) or self.database.clock()
            session = Session(id=session_id, title=about.title, created_at=at, updated_at=at)
            number = row[0] if row else insert_session(connection, session)
            if new:
                self.add(connection, number, new)
            connection.execute(
                "INSERT INTO transcript(session_id, position, about) VALUES (?, ?, ?) "
                "ON CONFLICT(session_id) DO UPDATE SET position = excluded.position, "
                "about = excluded.about",
                (session_id, position,
                 json.dumps({"folder": about.folder, "branch": about.branch})),
            )  # fmt: skip
        return len(new)

    def kept(self, ids: Sequence[str] | None = None) -> list[Kept]:
        """Return sessions with where they came from, the latest first; all, or those named."""
        if ids is not None and not ids:
            return []
        named = "" if ids is None else f"WHERE id IN ({marks(ids)})"
        query = (
            f"SELECT {SESSION_COLUMNS}, about FROM session LEFT JOIN transcript "
            f"ON session_id = id {named} ORDER BY updated_at DESC, num DESC"
        )
        rows = _asked(self.database, query, ids or ())
        found = [(session_of(row[:-1]), json.loads(row[-1] or "{}")) for row in rows]
        return [Kept(session, about.get("folder", ""), about.get("branch", ""))
                for session, about in found]  # fmt: skip

    def forget(self, sessions: Sequence[Kept]) -> None:
        """Delete sessions at once, down to their bytes."""
        self._delete([one.session for one in sessions])


class ProjectFile(ProjectStore, SqliteStore):
    """Those in a file."""

    kind = SESSIONS


class ProjectTenant(ProjectStore, PostgresStore):
    """Those on a server."""


class Project(NamedTuple):
    """A repository, or a folder outside of one."""

    num: int
    name: str
    folder: str
    wanted: bool


Chosen = Sequence[tuple[Project, Sequence[Kept]]]
"""Sessions, by their projects."""


class AssistantMemory:
    """The catalogue, and what is kept of each repository."""

    def __init__(self, folder: Path | None = None, shared: SharedDatabase | None = None) -> None:
        """Use ``folder``, by default ``assistants`` in the user's own folder of KDS.

        With ``shared``, which names the person, only what this machine has read is there.
        """
        self.folder = folder or Path(own_folder()) / "assistants"
        self.server = shared
        if shared is not None:
            name = "/".join((str(shared), *shared.tenant))
            self.folder /= f"server-{_digest(name)[:16]}"
        self._file: Database | None = None
        self._tenancy: Tenancy | None = None

    @classmethod
    def of(cls, settings: Settings) -> "AssistantMemory":
        """Return the memory that the user chose. Raises StoreError where that is a server, and
        none is named."""
        if not settings.assistants.in_database:
            return cls()
        if (shared := SharedDatabase.of(settings, "assistants")) is None:
            raise StoreError(
                "assistants.in_database is on, and no database is named",
                where="settings",
                hint="set KDS_DATABASE, or switch it off: "
                "kds config set assistants.in_database off --own",
            )
        return cls(shared=shared)

    def __str__(self) -> str:
        """The folder, or the server without user and password."""
        return str(self.server or self.folder)

    @property
    def exists(self) -> bool:
        """Whether anything may be kept."""
        return self.server is not None or self._has_file

    @property
    def _has_file(self) -> bool:
        return (self.folder / "catalogue.db").exists()

    @property
    def file(self) -> Database:
        """The catalogue of this machine, made when there is none."""
        if self._file is None:
            self.folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            make_private_folder(self.folder)
            self._file = Database(self.folder / "catalogue.db", CATALOGUE)
        return self._file

    @property
    def common(self) -> Engine:
        """The catalogue of all machines: projects, clones, and what is not to be kept."""
        if self.server is None:
            return self.file
        if self._tenancy is None:
            server = self.server.server()
            try:
                number = tenant_number(server, self.server.tenant)
            except BaseException:
                server.close()
                raise
            self._tenancy = Tenancy(server, number, area=AREA)
        return self._tenancy

    def close(self) -> None:
        """Let go of the catalogue."""
        if self._file is not None:
            self._file.close()
            self._file = None
        if self._tenancy is not None:
            self._tenancy.server.close()
            self._tenancy = None

    def alone(self) -> AbstractContextManager[object]:
        """Keep other imports and forgetting out meanwhile. Raises StoreError."""
        return PrivateFile(self.file.path.with_name("writing")).locked(timeout_s=WAIT_S)

    def rows(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        """Ask this machine's catalogue; nothing where there is none yet."""
        return _asked(self.file, query, values) if self._has_file else []

    def change(self, query: str, *values: object) -> None:
        """Change this machine's catalogue."""
        with self.file.write() as connection:
            connection.execute(query, values)

    def _common_rows(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        return _asked(self.common, query, values) if self.exists else []

    def _change_common(self, *statements: tuple[str, *tuple[object, ...]]) -> None:
        with self.common.write() as connection:
            for query, *values in statements:
                connection.execute(query, values)

    def projects(self) -> tuple[Project, ...]:
        """Every repository that is known."""
        found = self._common_rows("SELECT num, name, folder, wanted FROM project ORDER BY num")
        return tuple(
            Project(num, name, folder, bool(wanted)) for num, name, folder, wanted in found
        )

    def want(self, project: Project) -> None:
        """Have what is new of a project imported in the background from now on."""
        self._change_common(("UPDATE project SET wanted = 1 WHERE num = ?", project.num))

    def project_of(self, folder: str, *, make: bool = False) -> Project | None:
        """Return the project of a folder: worktrees and clones of a repository are one.

        ``make``: add one if there is none, and note by what its clones are known.
        """
        if not (self.exists or make):
            return None
        place = place_name(folder)
        row = self.rows("SELECT project_num FROM place WHERE name = ?", place)
        known = self.projects()
        found = next((one for one in known if row and one.num == row[0][0]), None)
        root = place.removeprefix("git:") if place.startswith("git:") else ""
        if found is None and root and (number := self._known_clone(root)):
            self._place(place, number)
            found = next((one for one in known if one.num == number), None)
        if found is None and make:
            found = self._add_project(place, root, folder)
        if found is not None and make and root:
            self._note_clone(found, root)
        return found

    def _add_project(self, place: str, root: str, folder: str) -> Project:
        top = Path(root).parent if root else Path(folder)
        name, where = top.name or "no folder", str(top)
        with self.common.write() as connection:
            query = "INSERT INTO project(name, folder) VALUES (?, ?) RETURNING num"
            number = connection.execute(query, (name, where)).fetchone()[0]
        self._place(place, number)
        return Project(number, name, where, False)

    def _place(self, name: str, number: int) -> None:
        query = "INSERT INTO place(name, project_num) VALUES (?, ?) ON CONFLICT(name) DO UPDATE "
        self.change(f"{query} SET project_num = excluded.project_num", name, number)

    def _known_clone(self, root: str) -> int | None:
        """Return the project of which a git folder is a clone, or to which it was moved.

        Repositories without a remote are moved at most: of two that are there, each is its own.
        """
        remote = remote_of(root)
        query = "SELECT first_commit, project_num FROM clone WHERE remote = ?"
        for commit, number in self._common_rows(query, remote):
            places = self.rows(_PLACES, number)
            there = any(Path(name.removeprefix("git:")).exists() for (name,) in places)
            if (remote or not there) and holds(root, commit):
                return int(number)
        return None

    def _note_clone(self, project: Project, root: str) -> None:
        remote = remote_of(root)
        query = "SELECT 1 FROM clone WHERE project_num = ? AND remote = ?"
        if not self._common_rows(query, project.num, remote) and (commit := first_commit(root)):
            query = "INSERT INTO clone(remote, first_commit, project_num) VALUES (?, ?, ?) "
            query += "ON CONFLICT(remote, first_commit) DO NOTHING"
            self._change_common((query, remote, commit, project.num))

    def path_of(self, project: Project) -> Path:
        """The file of a project, where files are used."""
        return self.folder / f"{project.num}.db"

    def has(self, project: Project) -> bool:
        """Whether something may be kept of a project."""
        return self.server is not None or self.path_of(project).exists()

    def has_sessions(self, project: Project) -> bool:
        """Whether sessions of a project are kept."""
        with self.stores([project]) as opened:
            return any(store.sessions(limit=1) for _, store in opened)

    def store_of(self, project: Project) -> ProjectStore:
        """Open what is kept of a project, made if there is nothing yet. Raises StoreError."""
        if self.server is None:
            return ProjectFile(self.path_of(project), count_tokens=about_tokens)
        organisation, person, name = self.server.tenant
        tenant = replace(self.server, tenant=(organisation, person, f"{name}/{project.num}"))
        return ProjectTenant.of(tenant, count_tokens=about_tokens)

    @contextmanager
    def stores(self, projects: Sequence[Project]) -> Iterator[list[tuple[Project, ProjectStore]]]:
        """Open what is kept of those projects of which something may be."""
        with ExitStack() as stack:
            yield [(one, stack.enter_context(self.store_of(one)))
                   for one in projects if self.has(one)]  # fmt: skip

    def kept(self, goes: Callable[[Kept], bool] = lambda _: True) -> Chosen:
        """The sessions of which something is true, by their projects."""
        with self.stores(self.projects()) as opened:
            found = [(project, list(filter(goes, store.kept()))) for project, store in opened]
        return [(project, sessions) for project, sessions in found if sessions]

    def size_of(self, project: Project) -> int:
        """How many bytes a project takes."""
        with self.stores([project]) as opened:
            return sum(store.stats().size_bytes for _, store in opened)

    def unread(self) -> list[str]:
        """What could not be read, each with the reason."""
        query = "SELECT id, problem FROM source WHERE problem <> '' ORDER BY id"
        return [f"{name}: {why}" for name, why in self.rows(query)]

    def excluded(self) -> list[str]:
        """The folders of which nothing is to be kept."""
        return [path for (path,) in self._common_rows("SELECT path FROM excluded ORDER BY path")]

    def exclude(self, path: str) -> int:
        """Keep nothing of a folder from now on, and forget what is kept; how many sessions."""
        self._change_common((_EXCLUDE, path))
        banned = self.banned()
        return self.forget_alone(self.kept(lambda one: banned.has_folder(one.folder)))

    def include(self, path: str) -> None:
        """Let a folder that was excluded be imported again."""
        self._change_common(("DELETE FROM excluded WHERE path = ?", path))

    def banned(self) -> "Banned":
        """Return what is not to be kept, as it is now."""
        marks = self._common_rows("SELECT mark FROM forgotten")
        return Banned(frozenset(mark for (mark,) in marks), tuple(self.excluded()))

    def forget_alone(self, found: Chosen) -> int:
        """Delete sessions while nobody else imports or deletes; how many."""
        with self.alone():
            return self.forget(found)

    def forget(self, found: Chosen) -> int:
        """Delete sessions of projects, down to their bytes; how many.

        No import brings them back; those of an excluded folder it may, once that is undone. The
        marks are written first: the next `purge` finishes what a process that died had begun.
        """
        gone = [one for _, sessions in found for one in sessions]
        if not gone:
            return 0
        banned = self.banned()
        marks = [_digest(one.name) for one in gone if not banned.has_folder(one.folder)]
        self._change_common(*((_FORGET, mark) for mark in marks))
        with self.file.write() as connection:
            query = "DELETE FROM source WHERE id = ?"
            connection.executemany(query, [(one.session.id,) for one in gone])
            self.file.leaves_bytes(connection)
        for project, sessions in found:
            self._delete(project, sessions)
        self.file.wipe()
        return len(gone)

    def purge(self) -> None:
        """Finish what a process that died while forgetting had begun."""
        banned = self.banned()
        for project, sessions in self.kept(banned.has):
            self._delete(project, sessions)

    def _delete(self, project: Project, sessions: Sequence[Kept]) -> None:
        with self.store_of(project) as store:
            left = len(store.sessions(limit=len(sessions) + 1)) - len(sessions)
            if left > 0 or self.server is not None:
                store.forget(sessions)
                return
        for file in (*all_files(self.path_of(project)), self.path_of(project)):
            PrivateFile(file).remove()

    def ban(self, other: "Banned") -> None:
        """Forget and exclude here what another memory has forgotten and excluded."""
        self._change_common(*((_FORGET, mark) for mark in other.marks),
                            *((_EXCLUDE, path) for path in other.folders))  # fmt: skip


@dataclass(frozen=True, slots=True)
class Banned:
    """What is not to be kept: sessions that were forgotten, and folders."""

    marks: frozenset[str]
    folders: tuple[str, ...]

    def has(self, kept: Kept) -> bool:
        """Whether a session that is kept should not be."""
        return self.has_session(kept.name) or self.has_folder(kept.folder)

    def has_session(self, session: str) -> bool:
        """Whether a session, by the client's own id, was forgotten."""
        return _digest(session) in self.marks

    def has_folder(self, folder: str) -> bool:
        """Whether the user wants nothing kept of a folder, or of one above it."""
        return any(folder == path or folder.startswith(path.rstrip(os.sep) + os.sep)
                   for path in self.folders)  # fmt: skip


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _asked(engine: Engine, query: str, values: Sequence[object]) -> list[tuple[Any, ...]]:
    with engine.read() as connection:
        return [*connection.execute(query, values)]
