"""What a team's service keeps, with the methods of the stores that commands use.

`memory_of` and `documents_of` are where commands find their stores: in files, in a database or,
for a user who is logged in (`kds login`), at the service.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, Generic, NoReturn, TypeVar, cast

from pydantic import TypeAdapter

from kds.api.embeddings import Teller
from kds.api.memory_search import Searched
from kds.api.turn_log import all_sessions
from kds.brain.clock import utc_now
from kds.brain.documents.store import DocumentPlace, Documents, find_whole
from kds.brain.documents.values import (
    ALL,
    Document,
    DocumentRecall,
    OutlinedDocument,
    Section,
)
from kds.brain.errors import KdsError
from kds.brain.memory.entities import EntityMemory, EntityTerm
from kds.brain.memory.export import from_json, to_json
from kds.brain.memory.memory_store import (
    EMPTY,
    Archive,
    MemoryPlace,
    MemoryStore,
    Stats,
    is_whole,
)
from kds.brain.memory.profile import Consent, ConsentEvent, Profile
from kds.brain.memory.sessions import Cleanup, Session
from kds.brain.passages.store import Place
from kds.brain.passages.values import Message, Role, Summary
from kds.brain.workspace import Workspace
from kds.documents.indexing import Outcome, Report, files_of
from kds.readers.reading import read_source
from kds.service.service_client import ServiceUnavailableError, team_of
from kds.service.team_client import NotThereError, TeamService, part
from kds.testing.metrics import MetricsReport

S = TypeVar("S")

PAGE: Final = 200
"""Messages that are asked for at once."""

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


class _AtService:
    """A store at a service: what it does not have is refused, with what to do instead."""

    def __init__(self, service: TeamService) -> None:
        self._service = service
        self._ask = service.ask

    def take_warnings(self) -> tuple[str, ...]:
        """Its warnings come with its answers."""
        return ()

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        raise KdsError("this is not possible at a team's service", hint=_OPERATOR)


class TeamMemory(_AtService):
    """The sessions and the profile of the logged-in user; see `MemoryStore` for the methods."""

    def __init__(self, service: TeamService) -> None:
        super().__init__(service)
        self.profile = TeamProfile(service)
        self._archive = lru_cache(1)(self._exported)

    def sessions(self, *, limit: int = 50, offset: int = 0) -> tuple[Session, ...]:
        """A page of the sessions, the one changed last first."""
        return tuple(map(_session, self._rows("/sessions", "sessions", offset, limit)))

    def find_session(self, session: str) -> Session | None:
        """The session with this id; None: there is none."""
        try:
            return self.session(session)
        except NotThereError:
            return None

    def session(self, session: str) -> Session:
        """The session with this id."""
        return _session(self._show(session))

    def messages(self, session: str, *, details: bool = False) -> tuple[Message, ...]:
        """All messages of a session."""
        if details:
            return self._archive(session).messages
        return tuple(map(_message, self._rows(_path(session), "page")))

    def newest(self, session: Session, count: int) -> tuple[Message, ...]:
        """The last messages of a session."""
        before = max(session.message_count - count, 0)
        return tuple(map(_message, self._rows(_path(session.id), "page", before, count)))

    def begin(self, session: str, title: str | None) -> None:
        """Begin a session of that id."""
        self._ask("POST", "/sessions", dict[str, Any], {"id": session, "title": title})

    def say(self, session: str, role: Role, content: str, speaker: str | None) -> None:
        """Store a message at the end of a session."""
        told = {"role": role, "content": content, "speaker": speaker}
        self._ask("POST", f"{_path(session)}/messages", dict[str, Any], told)

    def summaries(self, session: str) -> tuple[Summary, ...]:
        """The summaries of a session."""
        return self._archive(session).summaries

    @property
    def entities(self) -> "TeamMemory":
        """What has `load`."""
        return self

    def load(self, session: str) -> EntityMemory:
        """What a session has referred to."""
        terms = tuple(EntityTerm(**one) for one in self._show(session)["terms"])
        return EntityMemory(session, terms, (), (), 0, utc_now())

    def rename(self, session: str, title: str) -> Session:
        """Give a session a title."""
        return self._change(session, {"title": title})

    def set_document(self, session: str, documents: str | None) -> Session:
        """Say which documents a session is about."""
        return self._change(session, {"documents": (documents or "").splitlines()})

    def delete_session(self, session: str) -> None:
        """Delete a session."""
        self._ask("DELETE", _path(session), dict[str, str])

    def cleanup(
        self, age: timedelta, *, dry_run: bool, tell: Callable[[int, int], None]
    ) -> Cleanup:
        """Delete the sessions that were not changed for so long."""
        before = utc_now() - age
        old = [one for one in all_sessions(cast(MemoryStore, self)) if one.updated_at < before]
        for done, one in enumerate(() if dry_run else old, start=1):
            self.delete_session(one.id)
            tell(done, len(old))
        return Cleanup(tuple(old), dry_run)

    def restore_all(self, archives: Iterable[Archive], *, go_on: bool = False) -> Iterator[Session]:
        """Store exported sessions; under a new id where their own is taken.

        ``go_on``: what is there whole is not stored again.
        """
        for one in archives:
            found = self.find_session(one.session.id) if go_on else None
            if found and is_whole(found, one):
                yield found
                continue
            content = to_json([one]).encode()
            stored = self._ask("POST", "/sessions/import", dict[str, Any], content)
            yield _session(stored["sessions"][0])

    def stats(self) -> Stats:
        """How much is kept."""
        return self.figures(timedelta(days=7))[1]

    def search(self, **asked: Any) -> Searched:
        """Search as `kds.api.memory_search.search_memory` does."""
        return self._ask("POST", "/api/memory/search", Searched, asked)

    def figures(self, since: timedelta) -> tuple[MetricsReport, Stats]:
        """What `kds metrics` shows."""
        hours = max(1, round(since.total_seconds() / 3600))
        told = self._ask("GET", "/api/memory/metrics", dict[str, Any], hours=hours)
        held = told.pop("memory")
        span = _moment(told.pop("since")), _moment(told.pop("until"))
        sessions, messages = int(held["sessions"]), int(held["messages"])
        stats = replace(EMPTY, sessions=sessions, messages=messages, tokens=int(held["tokens"]),
                        size_bytes=int(held["size_bytes"]))  # fmt: skip
        return MetricsReport(*span, told), stats

    def _show(self, session: str) -> dict[str, Any]:
        return self._ask("GET", _path(session), dict[str, Any], limit=1)

    def _rows(
        self, path: str, name: str, at: int | None = 0, most: int = 2**62
    ) -> Iterator[Mapping[str, Any]]:
        """The rows of a list, page by page."""
        while at is not None and most > 0:
            told = self._ask("GET", path, dict[str, Any], limit=min(most, PAGE), offset=at)
            yield from told[name]
            at, most = told["next_offset"], most - len(told[name])

    def _change(self, session: str, change: Mapping[str, object]) -> Session:
        return _session(self._ask("PATCH", _path(session), dict[str, Any], change))

    def _exported(self, session: str) -> Archive:
        told = self._ask("GET", f"{_path(session)}/export", dict[str, Any])
        return from_json(json.dumps(told))[0]


class TeamProfile(_AtService):
    """The profile of the user who is logged in; see `ProfileTable` for the methods."""

    def consent(self) -> Consent:
        """Whether a profile may be kept."""
        return self._ask("GET", _CONSENT, Consent)

    def events(self) -> tuple[ConsentEvent, ...]:
        """The audit log of the consent."""
        told = self._ask("GET", _CONSENT, dict[str, Any])["events"]
        return tuple(ConsentEvent(**{**one, "at": _moment(one["at"])}) for one in told)

    def grant(self, purpose: str) -> Consent:
        """Note consent."""
        return self._ask("POST", _CONSENT, Consent, {"purpose": purpose})

    def revoke(self) -> Consent:
        """Withdraw consent."""
        return self._ask("DELETE", _CONSENT, Consent)

    def use(self, purpose: str) -> Profile | None:
        """The profile; None without consent. The use is logged."""
        told = self._ask("GET", _PROFILE, object, purpose=purpose)
        return None if told is None else TypeAdapter(Profile).validate_python(told)

    def save(self, profile: Profile) -> Profile:
        """Replace the profile; the service makes its vectors."""
        return self._ask("PUT", _PROFILE, Profile, profile)


_CONSENT: Final = "/api/memory/consent"
_PROFILE: Final = "/api/memory/profile"


class TeamDocuments(_AtService):
    """The documents of a team; see `Documents` for the methods."""

    def documents(self) -> tuple[Document, ...]:
        """All documents."""
        return self._ask("GET", "/documents", tuple[Document, ...])

    def document(self, name: str) -> Document:
        """The document that ``name`` means."""
        return self._ask("GET", f"/documents/{part(name)}", OutlinedDocument).document

    def sections(self, name: str) -> tuple[Section, ...]:
        """The outline of a document."""
        return self._ask("GET", f"/documents/{part(name)}", OutlinedDocument).sections

    def search(
        self, query: str, *, limit: int, scope: str = ALL, embedder: object = None
    ) -> DocumentRecall:
        """Find passages; the service has its own embedder."""
        asked = {"query": query, "limit": limit, "scope": scope}
        return self._ask("POST", "/documents/search", DocumentRecall, asked)

    def add(self, root: Path, paths: Sequence[Path], tell: Teller) -> Report:
        """Send files, and all below folders; what has not changed since is skipped.

        The team knows them by the name of the project, and where in it they are.
        """
        known = {one.path: one for one in self.documents()}
        found = list(dict.fromkeys(one for path in paths for one in files_of(path)))
        outcomes = []
        for done, one in enumerate(found, start=1):
            if isinstance(one, KdsError):
                outcomes.append(Outcome(Path(one.where or ""), "failed", error=one))
            else:
                outcomes.append(self._add(root, one, known))
            tell(f"sending {outcomes[-1].path.name}", done, len(found))
        return Report(tuple(outcomes))

    def _add(self, root: Path, path: Path, known: Mapping[str, Document]) -> Outcome:
        inside = path.relative_to(root) if path.is_relative_to(root) else Path(path.name)
        place = f"{root.name}/{inside.as_posix()}"
        before = known.get(place)
        try:
            data, source = read_source(path)
            if before is not None and before.digest == source.digest:
                return Outcome(path, "unchanged", before)
            stored = self._ask("POST", "/documents", Document, data, path=place)
        except ServiceUnavailableError:
            raise
        except KdsError as error:
            told = KdsError(error.message, where=str(path), hint=error.hint)
            return Outcome(path, "failed", before, told)
        return Outcome(path, "replaced" if before else "added", stored)

    def remove(self, names: Sequence[str]) -> tuple[Document, ...]:
        """Remove documents; none where one of the names is wrong."""
        known = self.documents()
        found = [find_whole(known, name, str(self._service)) for name in names]
        for one in found:
            self._ask("DELETE", f"/documents/{part(one.id)}", Document)
        return tuple(found)


def _path(session: str) -> str:
    return f"/sessions/{part(session)}"


def _session(told: Mapping[str, Any]) -> Session:
    return Session(
        id=told["id"],
        title=told["title"],
        created_at=_moment(told["created_at"]),
        updated_at=_moment(told["updated_at"]),
        document_context="\n".join(told["documents"]) or None,
        message_count=told["messages"],
        token_count=told["tokens"],
    )


def _message(told: Mapping[str, Any]) -> Message:
    return Message(**{**told, "at": _moment(told["at"])})


def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text).astimezone(UTC)
