"""What a user who is logged in keeps at a team's service, as the stores that commands use.

`memory_of` and `documents_of` are where commands find their stores: in files, in a database or,
for a user who is logged in (`kds login`), at the service. A store there has the methods that are
`PERMITTED`: each call is a request to `POST /calls/NAME` (`kds.service.routes.team`), whose types
are those of the method.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from inspect import signature
from pathlib import Path
from typing import Any, Final, Generic, TypeVar, cast, get_type_hints

from kds.api.embeddings import Teller
from kds.api.memory_search import Searched
from kds.api.turn_log import all_sessions
from kds.brain.clock import utc_now
from kds.brain.documents.store import DocumentPlace, Documents
from kds.brain.documents.values import ALL, Document, DocumentRecall
from kds.brain.errors import KdsError
from kds.brain.memory.entities import EntityTable
from kds.brain.memory.export import to_json
from kds.brain.memory.memory_store import Archive, MemoryPlace, MemoryStore
from kds.brain.memory.profile import ProfileTable
from kds.brain.memory.sessions import Session
from kds.brain.passages.store import Place
from kds.brain.passages.values import Message, Role
from kds.brain.workspace import Workspace
from kds.documents.indexing import Outcome, Report, each_file
from kds.readers.reading import read_source
from kds.service.service_client import ServiceUnavailableError, team_of
from kds.service.team_client import TeamService, part

S = TypeVar("S")

PERMITTED: Final[Mapping[str, Callable[..., Any]]] = {
    f"{place}.{name}": getattr(kind, name)
    for place, kind, names in (
        ("memory", MemoryStore,
         "find_session session summaries rename set_document delete_session stats"),
        ("entities", EntityTable, "load"),
        ("profile", ProfileTable, "consent events grant revoke use save"),
        ("documents", Documents, "documents remove"),
    )
    for name in names.split()
}  # fmt: skip
"""The methods that a person's commands may call at the service, on that person's own rows."""

PAGE: Final = 500
"""Sessions or messages of one answer: a longer one would hold up others."""

_OPERATOR: Final = "its operator can, on a machine that names the database: kds help operations"


@dataclass(frozen=True, slots=True)
class TeamPlace(Generic[S]):
    """A store at a team's service, in the place of `kds.brain.passages.store.Place`."""

    store: S
    service: TeamService
    exists = True

    def __str__(self) -> str:
        return str(self.service)

    def prepare(self) -> None:
        """Nothing is to be made for it here."""

    @contextmanager
    def open(self) -> Iterator[S]:
        """Lend the store."""
        yield self.store

    if_any = open


def memory_of(workspace: Workspace) -> Place[MemoryStore]:
    """The memory that commands work with. Raises StoreError when the login cannot be used."""
    service = team_of(workspace)
    if service is None:
        return MemoryPlace.of(workspace)
    return cast("Place[MemoryStore]", TeamPlace(TeamMemory(service), service))


def documents_of(workspace: Workspace) -> Place[Documents]:
    """The documents that commands work with. Raises StoreError when the login cannot be used."""
    service = team_of(workspace)
    if service is None:
        return DocumentPlace.of(workspace)
    return cast("Place[Documents]", TeamPlace(TeamDocuments(service), service))


def at_team(store: object, kind: type[S]) -> S | None:
    """The same store where it is one at a team's service, of this kind; else None."""
    return store if isinstance(store, kind) else None


def refuse_for_team(workspace: Workspace, what: str, hint: str = _OPERATOR) -> None:
    """Raise KdsError where the user is logged in at a team's service, which cannot do ``what``."""
    if team_of(workspace) is not None:
        raise KdsError(f"{what} is not possible at a team's service", hint=hint)


class TeamStore:
    """A store at a service: it has the methods of its kind that are `PERMITTED` there."""

    kind = "memory"

    def __init__(self, service: TeamService, kind: str = "") -> None:
        self.kind = kind or self.kind
        self.service = service

    def take_warnings(self) -> tuple[str, ...]:
        """Its warnings come with its answers."""
        return ()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        method = PERMITTED.get(f"{self.kind}.{name}")
        if method is None:
            raise KdsError("this is not possible at a team's service", hint=_OPERATOR)

        def call(*given: Any, **named: Any) -> Any:
            asked = signature(method).bind(self, *given, **named).arguments
            del asked["self"]
            return self._call(name, get_type_hints(method)["return"], **asked)

        return call

    def _call(self, name: str, answers: type[S], /, **asked: object) -> S:
        return self.service.call(f"{self.kind}.{name}", answers, **asked)


class TeamMemory(TeamStore):
    """The sessions and the profile of the logged-in user; see `MemoryStore` for the methods."""

    def __init__(self, service: TeamService) -> None:
        super().__init__(service)
        self.profile, self.entities = TeamStore(service, "profile"), TeamStore(service, "entities")

    def sessions(self, *, limit: int = 50, offset: int = 0) -> tuple[Session, ...]:
        """A page of the sessions, the one changed last first."""
        found: list[Session] = []
        while (most := min(limit - len(found), PAGE)) > 0:
            at = offset + len(found)
            page = self._call("sessions", tuple[Session, ...], limit=most, offset=at)
            found += page
            if len(page) < most:
                break
        return tuple(found)

    def messages(
        self, session: str, *, last: int | None = None, details: bool = False
    ) -> tuple[Message, ...]:
        """All messages of a session, or the last ones."""
        found: tuple[Message, ...] = ()
        while (most := PAGE if last is None else min(last - len(found), PAGE)) > 0:
            before = found[0].seq if found else None
            page = self._call(
                "messages", tuple[Message, ...], session_id=session, last=most,
                before_seq=before, details=details,
            )  # fmt: skip
            found = (*page, *found)
            if len(page) < most:
                break
        return found

    def begin(self, session: str, title: str | None) -> None:
        """Begin a session of that id."""
        self.service.ask("POST", "/sessions", dict[str, Any], {"id": session, "title": title})

    def say(self, session: str, role: Role, content: str, speaker: str | None) -> None:
        """Store a message at the end of a session."""
        told = {"role": role, "content": content, "speaker": speaker}
        self.service.ask("POST", f"/sessions/{part(session)}/messages", dict[str, Any], told)

    def cleanup(
        self, age: timedelta, *, dry_run: bool, tell: Callable[[int, int], None]
    ) -> tuple[Session, ...]:
        """Delete the sessions that were not changed for so long."""
        before = utc_now() - age
        old = [one for one in all_sessions(cast(MemoryStore, self)) if one.updated_at < before]
        for done, one in enumerate(() if dry_run else old, start=1):
            self.delete_session(one.id)
            tell(done, len(old))
        return tuple(old)

    def restore(self, archive: Archive) -> Session:
        """Store an exported session; under a new id where its own is taken."""
        content = to_json([archive]).encode()
        stored = self.service.ask("POST", "/sessions/import", dict[str, Any], content)
        return self._call("session", Session, session_id=stored["sessions"][0]["id"])

    def search(self, **asked: Any) -> Searched:
        """Search as `kds.api.memory_search.search_memory` does."""
        return self._call("search", Searched, **asked)


class TeamDocuments(TeamStore):
    """The documents of a team; see `Documents` for the methods."""

    kind = "documents"

    def search(
        self, query: str, *, limit: int, scope: str = ALL, embedder: object = None
    ) -> DocumentRecall:
        """Find passages; the service has its own embedder."""
        return self._call("search", DocumentRecall, query=query, limit=limit, scope=scope)

    def add(self, root: Path, paths: Sequence[Path], tell: Teller) -> Report:
        """Send files, and all below folders; what has not changed since is skipped.

        The team knows them by the name of the project, and where in it they are.
        """
        known = {one.path: one for one in self.documents()}
        return Report(tuple(each_file(paths, lambda path: self._add(root, path, known), tell)))

    def _add(self, root: Path, path: Path, known: Mapping[str, Document]) -> Outcome:
        inside = path.relative_to(root) if path.is_relative_to(root) else Path(path.name)
        place = f"{root.name}/{inside.as_posix()}"
        before = known.get(place)
        try:
            data, source = read_source(path)
            if before is not None and before.digest == source.digest:
                return Outcome(path, "unchanged", before)
            stored = self.service.ask("POST", "/documents", Document, data, path=place)
        except ServiceUnavailableError:
            raise
        except KdsError as error:
            told = KdsError(error.message, where=str(path), hint=error.hint)
            return Outcome(path, "failed", before, told)
        return Outcome(path, "replaced" if before else "added", stored)
