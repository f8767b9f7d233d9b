"""Clients that keep sessions in a SQLite database: opencode, Cursor.

A database is opened for reading only. A place in it is the number of messages before it.
"""

import sqlite3
import sys
from collections.abc import Iterator, Mapping
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote, urlparse

from kds.transcripts.formats import (
    UNREADABLE,
    About,
    Event,
    Reader,
    Source,
    called,
    inside,
    moment,
    nanoseconds,
    own_file,
    parsed,
    returned,
    table_of,
    text_at,
)
from kds.transcripts.json_lines import typed

BUSY_S: Final = 5.0
"""How long a client that writes is waited for."""


def _opened(path: Path) -> closing[sqlite3.Connection]:
    connection = sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True, timeout=BUSY_S)
    connection.execute("PRAGMA trusted_schema = OFF")
    return closing(connection)


class Opencode(Reader):
    """opencode: tables ``session``, ``message`` and ``part`` of ``opencode.db``."""

    client = "opencode"

    def __init__(self, home: Path) -> None:
        self.path = home / "opencode.db"

    def sources(self) -> Iterator[Source]:
        """Sessions without a parent: the others are of subagents."""
        if own_file(self.path) is None:
            return
        with _opened(self.path) as connection:
            rows = connection.execute(
                "SELECT session.id, session.time_updated, count(message.id), "
                "max(message.time_updated) FROM session LEFT JOIN message "
                "ON message.session_id = session.id WHERE parent_id IS NULL GROUP BY session.id"
            ).fetchall()
        for session, updated, count, last in rows:
            if isinstance(session, str) and session.isprintable():
                changed = max(nanoseconds(updated), nanoseconds(last))
                yield Source(self.client, self.path, session, count, changed)

    def continues(self, source: Source, start: int) -> bool:
        """Whether no message was taken back."""
        return source.size >= start

    def read(self, source: Source, start: int, about: About) -> Iterator[Event]:
        """The messages behind the first ``start``, up to one that is not complete yet."""
        with _opened(self.path) as connection:
            row = connection.execute(
                "SELECT directory, title FROM session WHERE id = ?", (source.session,)
            ).fetchone()
            about.folder, about.title = row or ("", "")
            messages = connection.execute(
                "SELECT id, data FROM message WHERE session_id = ? ORDER BY time_created, id "
                "LIMIT -1 OFFSET ?",
                (source.session, start),
            ).fetchall()
            for end, (name, data) in enumerate(messages, start + 1):
                message = table_of(data)
                user = message.get("role") == "user"
                whole = user or inside(message, "time.completed") or message.get("error")
                if not whole and end == start + len(messages):
                    about.unfinished = True
                    return
                parts = connection.execute(
                    "SELECT data FROM part WHERE message_id = ? ORDER BY time_created, id", (name,)
                ).fetchall()
                at = moment(inside(message, "time.created"))
                for number, (part,) in enumerate(parts):
                    for one in _part(table_of(part), user, f"{name}.{number}"):
                        yield replace(one, end=end, at=at)


def _part(part: Mapping[str, Any], user: bool, name: str) -> Iterator[Event]:
    if part.get("type") == "text" and not part.get("synthetic"):
        yield Event("user" if user else "assistant", text_at(part, "text"), id=name)
    elif part.get("type") == "tool" and isinstance(state := part.get("state"), dict):
        yield called(part.get("callID"), part.get("tool"), state.get("input"))
        failed = state.get("status") == "error" or inside(state, "metadata.exit")
        yield returned(part.get("callID"), state, failed)


class Cursor(Reader):
    """Cursor: ``composerData:`` and ``bubbleId:`` keys of ``globalStorage/state.vscdb``.

    Which folder a session belongs to stands in its data, or in ``composerHeaders`` beside them;
    earlier versions kept it in the databases of the workspaces.
    """

    client = "cursor"

    def __init__(self, home: Path) -> None:
        self.home = home
        self.path = home / "globalStorage" / "state.vscdb"
        self._folders: dict[str, str] | None = None
        self._heads: dict[str, tuple[str, bool, dict[str, Any]]] = {}

    def sources(self) -> Iterator[Source]:
        """Sessions by their key; one that grows has longer data."""
        if own_file(self.path) is None:
            return
        with _opened(self.path) as connection:
            with suppress(sqlite3.OperationalError):  # earlier versions have no such table
                self._heads = {
                    str(one): (str(place or ""), bool(sub), table_of(head))
                    for one, place, sub, head in connection.execute(
                        "SELECT composerId, workspaceId, isSubagent, CAST(value AS TEXT) "
                        "FROM composerHeaders"
                    )
                }
            rows = connection.execute(
                "SELECT key, length(value), CASE WHEN json_valid(CAST(value AS TEXT)) THEN "
                "json_extract(CAST(value AS TEXT), '$.lastUpdatedAt') END FROM cursorDiskKV "
                "WHERE key >= 'composerData:' AND key < 'composerData;' AND value IS NOT NULL"
            ).fetchall()
        for key, size, updated in rows:
            if isinstance(key, str) and key.isprintable():
                session = key.partition(":")[2]
                if not self._heads.get(session, ("", False))[1]:
                    yield Source(self.client, self.path, session, size, nanoseconds(updated))

    def read(self, source: Source, start: int, about: About) -> Iterator[Event]:
        """The bubbles behind the first ``start``; earlier versions kept them in one list."""
        with _opened(self.path) as connection:
            data = _value(connection, f"composerData:{source.session}")
            place, _, head = self._heads.get(source.session, ("", False, {}))
            about.title = text_at(data, "name") or text_at(head, "name")
            about.folder = (
                _folder_in(data) or _folder_in(head) or self._folder_of(source.session, place)
            )
            about.branch = text_at(data, *_BRANCHES) or text_at(head, *_BRANCHES)
            bubbles = data.get("fullConversationHeadersOnly") or data.get("conversation") or ()
            if not isinstance(bubbles, list):
                about.unknown["not a session of cursor that KDS knows"] += 1
                return
            if data.get("status") == "generating" and bubbles:
                about.unfinished, bubbles = True, bubbles[:-1]
            for end, head in enumerate(map(table_of, bubbles[start:]), start + 1):
                name = text_at(head, "bubbleId")
                bubble = _value(connection, f"bubbleId:{source.session}:{name}") or head
                of_session = moment(data.get("createdAt" if end == 1 else "lastUpdatedAt"))
                at = moment(bubble.get("createdAt")) or of_session or moment(data.get("createdAt"))
                for one in _bubble(bubble, name):
                    yield replace(one, end=end, at=at)

    def _folder_of(self, session: str, workspace: str) -> str:
        if self._folders is None:
            self._folders = {}
            for place in sorted((self.home / "workspaceStorage").glob("*/workspace.json")):
                with suppress(OSError, sqlite3.Error, *UNREADABLE):
                    uri = urlparse(table_of(place.read_bytes()).get("folder", ""))
                    self._folders[place.parent.name] = unquote(uri.path)
                    with _opened(place.with_name("state.vscdb")) as connection:
                        kept = _value(connection, "composer.composerData", table="ItemTable")
                    for one in kept.get("allComposers") or ():
                        self._folders[str(one.get("composerId"))] = unquote(uri.path)
        return self._folders.get(session) or self._folders.get(workspace, "")


_BRANCHES: Final = ("activeBranch.branchName", "lastMessageSentOnBranch", "createdOnBranch")


def _folder_in(data: Mapping[str, Any]) -> str:
    """The folder that a session, or its head, names."""
    found = text_at(data, "workspaceIdentifier.uri.fsPath", "workspaceIdentifier.uri.path")
    repositories = data.get("trackedGitRepos")
    first = repositories[0] if isinstance(repositories, list) and repositories else {}
    return found or text_at(first, "repoPath")


def _value(
    connection: sqlite3.Connection, key: str, *, table: str = "cursorDiskKV"
) -> dict[str, Any]:
    query = f"SELECT CAST(value AS TEXT) FROM {table} WHERE key = ?"
    row = connection.execute(query, (key,)).fetchone()
    return table_of(row[0]) if row else {}


def _bubble(bubble: Mapping[str, Any], name: str) -> Iterator[Event]:
    user, text = bubble.get("type") == 1, text_at(bubble, "text")
    yield Event("user", typed(text), id=name) if user else Event("assistant", text, id=name)
    if used := table_of(bubble.get("toolFormerData")):
        given = table_of(used.get("params")) | table_of(used.get("rawArgs"))
        yield called(f"{name}.tool", used.get("name"), given or used.get("rawArgs"))
        result = parsed(used.get("result"))
        failed = used.get("status") == "error" or inside(result, "exitCode")
        yield returned(f"{name}.tool", result, failed)


def cursor_home(home: Path, environ: Mapping[str, str]) -> Path:
    """Return the folder in which Cursor keeps what it knows of a user."""
    if sys.platform == "darwin":
        return home / "Library" / "Application Support" / "Cursor" / "User"
    if sys.platform == "win32":
        return Path(environ.get("APPDATA") or home) / "Cursor" / "User"
    return Path(environ.get("XDG_CONFIG_HOME") or home / ".config") / "Cursor" / "User"
