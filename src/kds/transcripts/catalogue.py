"""Where the sessions of assistants are kept: a folder of the user's own, one file a repository.

The catalogue says which repository has which file, which sources were read, and what the user wants
of it. What was read of a session stands in the file of its repository, in the transaction that
stores the messages: whenever a process dies, nothing is lost and nothing is there twice.
"""

import hashlib
import json
import math
import os
import re
import shlex
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final, NamedTuple

from kds.brain.environment import common_git_folder, own_folder
from kds.brain.files import locked, make_private_folder, remove_private
from kds.brain.memory.memory_store import MEMORY, SqliteStore
from kds.brain.memory.sessions import SESSION_COLUMNS, Session, session_of
from kds.brain.memory.sessions import insert as insert_session
from kds.brain.passages.store import marks, slices
from kds.brain.passages.values import Role
from kds.brain.store.maintenance import wipe
from kds.brain.store.migrations import FileKind
from kds.brain.store.sqlite import Database
from kds.brain.store.sqlite_files import all_files
from kds.transcripts.formats import About

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

CATALOGUE: Final = FileKind(
    "the catalogue of assistants' sessions",
    0x4B445341,  # 'KDSA'
    rebuild="kds memory import",
    migrations=(_CATALOGUE,),
    contradictions={},
)

SESSIONS: Final = FileKind(
    "the memory of assistants",
    MEMORY.application_id,
    rebuild="kds memory forget --project DIR, then kds memory import",
    migrations=(_TRANSCRIPT, *MEMORY.migrations),
    contradictions=MEMORY.contradictions,
)


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


class ProjectStore(SqliteStore):
    """The sessions of one repository, whichever client they were in."""

    kind = SESSIONS

    def __init__(self, path: Path) -> None:
        super().__init__(path, count_tokens=about_tokens)

    def position(self, session_id: str) -> tuple[int, dict[str, str]]:
        """Return up to where a session was read, and what is known of it; 0 for a new one."""
        with self.database.read() as connection:
            row = connection.execute(
                "SELECT position, about FROM transcript WHERE session_id = ?", (session_id,)
            ).fetchone()
        return (row[0], json.loads(row[1])) if row else (0, {})

    def extend(self, about: About, messages: Sequence[Packed], position: int) -> int:
        """Add messages of a session, and note up to where it was read; returns how many are new.

        A message whose id is there already (of a session that was forked) is left out.
        """
        session_id = f"{about.client}:{about.session}"
        drafts = [self.draft(one.role, one.text, at=one.at, message_id=one.id) for one in messages]
        with self.database.write() as connection:
            known: set[str] = set()
            for some in slices([one.message.id for one in drafts]):
                query = f"SELECT id FROM message WHERE id IN ({marks(some)})"
                known.update(row[0] for row in connection.execute(query, some))
            new = [one for one in drafts if one.message.id not in known]
            row = connection.execute(
                "SELECT num FROM session WHERE id = ?", (session_id,)
            ).fetchone()
            if row is None and not new:
                return 0
            at = next((one.at for one in messages if one.at), None) or self.database.clock()
            session = Session(id=session_id, title=about.title, created_at=at, updated_at=at)
            number = row[0] if row else insert_session(connection, session)
            for draft in new:
                self.add(connection, number, draft)
            connection.execute(
                "INSERT OR REPLACE INTO transcript(session_id, position, about) VALUES (?, ?, ?)",
                (session_id, position,
                 json.dumps({"folder": about.folder, "branch": about.branch})),
            )  # fmt: skip
        return len(new)

    def kept(self, ids: Sequence[str] | None = None) -> list[Kept]:
        """Return sessions with where they came from, the latest first; all, or those named."""
        named = "" if ids is None else f"WHERE id IN ({marks(ids)})"
        with self.database.read() as connection:
            rows = connection.execute(
                f"SELECT {SESSION_COLUMNS}, about FROM session LEFT JOIN transcript "
                f"ON session_id = id {named} ORDER BY updated_at DESC, num DESC", ids or (),
            ).fetchall()  # fmt: skip
        found = [(session_of(row[:-1]), json.loads(row[-1] or "{}")) for row in rows]
        return [Kept(session, about.get("folder", ""), about.get("branch", ""))
                for session, about in found]  # fmt: skip

    def forget(self, sessions: Sequence[Session]) -> None:
        """Delete sessions at once, down to their bytes."""
        self._delete(sessions)


class Project(NamedTuple):
    """A repository, or a folder outside of one."""

    num: int
    name: str
    folder: str
    wanted: bool


Chosen = Sequence[tuple[Project, Sequence[Kept]]]
"""Sessions, by their projects."""


class AssistantMemory:
    """The folder with the catalogue and the files of the repositories."""

    def __init__(self, folder: Path | None = None) -> None:
        """Use ``folder``, by default ``assistants`` in the user's own folder of KDS."""
        self.folder = folder or Path(own_folder()) / "assistants"
        self._database: Database | None = None

    @property
    def exists(self) -> bool:
        """Whether anything was ever kept."""
        return (self.folder / "catalogue.db").exists()

    @property
    def catalogue(self) -> Database:
        """The open catalogue, made when there is none."""
        if self._database is None:
            self.folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            make_private_folder(self.folder)
            self._database = Database(self.folder / "catalogue.db", CATALOGUE)
        return self._database

    def close(self) -> None:
        """Let go of the catalogue."""
        if self._database is not None:
            self._database.close()
            self._database = None

    def alone(self) -> AbstractContextManager[None]:
        """Keep other imports and forgetting out meanwhile. Raises StoreError."""
        return locked(self.catalogue.path.with_name("writing"), timeout_s=WAIT_S)

    def rows(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        """Ask the catalogue; nothing where there is none yet."""
        if not self.exists:
            return []
        with self.catalogue.read() as connection:
            return connection.execute(query, values).fetchall()

    def change(self, query: str, *values: object) -> None:
        """Change the catalogue."""
        with self.catalogue.write() as connection:
            connection.execute(query, values)

    def projects(self) -> tuple[Project, ...]:
        """Every repository that is known."""
        found = self.rows("SELECT num, name, folder, wanted FROM project ORDER BY num")
        return tuple(
            Project(num, name, folder, bool(wanted)) for num, name, folder, wanted in found
        )

    def project_of(self, folder: str, *, make: bool = False) -> Project | None:
        """Return the project of a folder: the worktrees of a repository are one.

        Clones are one once the user has joined them (`join`). ``make``: add one if there is none.
        """
        name = place_name(folder)
        row = self.rows("SELECT project_num FROM place WHERE name = ?", name)
        if not row and not make:
            return None
        number = row[0][0] if row else self._add_project(name, folder)
        return next((one for one in self.projects() if one.num == number), None)

    def _add_project(self, place: str, folder: str) -> int:
        root = git_folder(folder)
        top = Path(root).parent if root else Path(folder)
        with self.catalogue.write() as connection:
            query = "INSERT INTO project(name, folder) VALUES (?, ?) RETURNING num"
            row = connection.execute(query, (top.name or "no folder", str(top))).fetchone()
            query = "INSERT INTO place(name, project_num) VALUES (?, ?)"
            connection.execute(query, (place, row[0]))
        return int(row[0])

    def clone_of(self, project: Project) -> Project | None:
        """Return another project whose repository names the same ``origin``.

        That proves nothing: a folder that was unpacked with its `.git` can name any.
        """
        if not (origin := _origin_of(project.folder)):
            return None
        others = (one for one in self.projects() if one != project)
        return next((one for one in others if _origin_of(one.folder) == origin), None)

    def join(self, project: Project, other: Project) -> int:
        """Make two projects one, under the name of the first; returns how many sessions moved."""
        moved = 0
        with ProjectStore(self.path_of(project)) as store, self.stores([other]) as opened:
            for _, old in opened:
                for kept in old.kept():
                    about = About(
                        kept.client, kept.name, kept.folder, kept.branch, title=kept.session.title
                    )
                    said = [Packed(one.role, one.content, one.at, one.id)
                            for one in old.messages(kept.session.id)]  # fmt: skip
                    store.extend(about, said, old.position(kept.session.id)[0])
                    moved += 1
        with self.catalogue.write() as connection:
            connection.execute("UPDATE place SET project_num = ? WHERE project_num = ?",
                               (project.num, other.num))  # fmt: skip
            connection.execute("UPDATE project SET wanted = ? WHERE num = ?",
                               (project.wanted or other.wanted, project.num))  # fmt: skip
        self._remove(other)  # first, so that what a kill leaves still belongs to a project
        self.change("DELETE FROM project WHERE num = ?", other.num)
        return moved

    def path_of(self, project: Project) -> Path:
        """The file of a project."""
        return self.folder / f"{project.num}.db"

    @contextmanager
    def stores(self, projects: Sequence[Project]) -> Iterator[list[tuple[Project, ProjectStore]]]:
        """Open the files of those projects that have one."""
        there = [(one, path) for one in projects if (path := self.path_of(one)).exists()]
        with ExitStack() as stack:
            yield [(one, stack.enter_context(ProjectStore(path))) for one, path in there]

    def kept(self, goes: Callable[[Kept], bool] = lambda _: True) -> Chosen:
        """The sessions of which something is true, by their projects."""
        with self.stores(self.projects()) as opened:
            found = [(project, list(filter(goes, store.kept()))) for project, store in opened]
        return [(project, sessions) for project, sessions in found if sessions]

    def unread(self) -> list[str]:
        """What could not be read, each with the reason."""
        query = "SELECT id, problem FROM source WHERE problem <> '' ORDER BY id"
        return [f"{name}: {why}" for name, why in self.rows(query)]

    def excluded(self) -> list[str]:
        """The folders of which nothing is to be kept."""
        return [path for (path,) in self.rows("SELECT path FROM excluded ORDER BY path")]

    def exclude(self, path: str) -> int:
        """Keep nothing of a folder from now on, and forget what is kept; how many sessions."""
        self.change("INSERT OR IGNORE INTO excluded(path) VALUES (?)", path)
        return self.forget_alone(self.kept(lambda one: self.is_excluded(one.folder)))

    def include(self, path: str) -> None:
        """Let a folder that was excluded be imported again."""
        self.change("DELETE FROM excluded WHERE path = ?", path)

    def is_excluded(self, folder: str) -> bool:
        """Whether the user wants nothing kept of a folder, or of one above it."""
        return any(
            folder == path or folder.startswith(path.rstrip(os.sep) + os.sep)
            for path in self.excluded()
        )

    def is_forgotten(self, session: str) -> bool:
        """Whether a session, by the client's own id, was forgotten."""
        return bool(self.rows("SELECT 1 FROM forgotten WHERE mark = ?", forget_mark(session)))

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
        with self.catalogue.write() as connection:
            connection.executemany(
                "INSERT OR IGNORE INTO forgotten(mark) VALUES (?)",
                [(forget_mark(one.name),) for one in gone if not self.is_excluded(one.folder)],
            )
            query = "DELETE FROM source WHERE id = ?"
            connection.executemany(query, [(one.session.id,) for one in gone])
            connection.execute("UPDATE state SET value = value + 1 WHERE key = 'scrub_due'")
        for project, sessions in found:
            self._delete(project, sessions)
        wipe(self.catalogue)
        return len(gone)

    def purge(self) -> None:
        """Finish what a process that died while forgetting had begun."""
        for project, sessions in self.kept(
            lambda one: self.is_forgotten(one.name) or self.is_excluded(one.folder)
        ):
            self._delete(project, sessions)

    def _delete(self, project: Project, sessions: Sequence[Kept]) -> None:
        with ProjectStore(self.path_of(project)) as store:
            left = len(store.sessions(limit=len(sessions) + 1)) - len(sessions)
            if left > 0:
                store.forget([one.session for one in sessions])
        if left <= 0:
            self._remove(project)

    def _remove(self, project: Project) -> None:
        for file in (*all_files(self.path_of(project)), self.path_of(project)):
            remove_private(file)


def forget_mark(session: str) -> str:
    """Return what is kept of the id of a forgotten session."""
    return hashlib.sha256(session.encode()).hexdigest()


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


def _origin_of(folder: str) -> str:
    """The URL of the ``origin`` of a folder's repository, in one spelling; "" without one."""
    with suppress(OSError, ValueError):
        root = git_folder(folder)
        path = Path(root, "config")
        text = path.read_text(encoding="utf-8") if root and path.is_file() else ""
        found = re.search(r'\[remote "origin"\][^\[]*?^\s*url\s*=\s*(\S+)', text, re.MULTILINE)
        return plain_remote(found[1]) if found else ""
    return ""


def plain_remote(url: str) -> str:
    """Return a remote without scheme, user and ending, so that every spelling is one.

    >>> plain_remote("git@github.com:Me/shop.git") == plain_remote("https://github.com/me/Shop")
    True
    """
    text = re.sub(r"^\w+://", "", url.strip())
    text = text.rpartition("@")[2].replace(":", "/", 1).rstrip("/").removesuffix(".git").lower()
    return text if text.count("/") >= 2 else ""
