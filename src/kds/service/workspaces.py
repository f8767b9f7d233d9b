"""The workspaces of a service: opened when they are first named, let go when nobody uses them.

Each has a router and threads of its own, so that one that loads for ever, or is busy, does
not hold up the others.
"""

import asyncio
import ctypes
import mmap
import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from kds.api.conversations import Conversations
from kds.api.turn_log import TurnLog
from kds.brain.clock import utc_now
from kds.brain.environment import HOME_VARIABLE
from kds.brain.errors import KdsError, RemovedError
from kds.brain.memory.memory import ConversationMemory
from kds.brain.memory.memory_store import MemoryStore
from kds.brain.store.team import Person
from kds.brain.turn import Turn
from kds.brain.workspace import Workspace
from kds.query.service import EARLIER_SETTINGS, QueryService
from kds.service.errors import ConflictError, NotServedError, describe_fault
from kds.service.freshness import fingerprint
from kds.service.worker import Attendance, Worker

LET_GO_S: Final = 600.0
"""Seconds without a request after which a workspace is let go: its router takes some 20 MB, and
is opened again within a second."""

MOST_OPEN: Final = 32
"""Workspaces open at once; the one unused for longest is let go for the next."""

MOST_PEOPLE: Final = 500
"""People of a shared service who are kept ready."""

Log = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Reload:
    """How often prompts and rules were read anew, when last, and what is wrong with them now."""

    count: int = 0
    at: datetime | None = None
    error: str | None = None


@dataclass(slots=True)
class EmbeddingRecord:
    """What the background embedding has done; ``last_error`` is None when it works."""

    embedded: int = 0
    failures: int = 0
    last_error: str | None = None


class ServedWorkspace:
    """One workspace: its conversations, which a reload replaces in one assignment.

    Others who have tokens of their own have one each (``people``), with the threads, rules and
    prompts of the ``base``.
    """

    def __init__(
        self,
        conversations: Conversations,
        *,
        environ: Mapping[str, str] = os.environ,
        person: Person | None = None,
        base: "ServedWorkspace | None" = None,
        log: Log = lambda line: None,
    ) -> None:
        self.conversations = conversations
        self.environ = environ
        self.person = person
        self.log = log
        self.worker: Worker = base.worker if base else Worker()
        """The thread that routes, and answers queries when nothing is to be routed."""
        self.archivist: Worker = base.archivist if base else Worker(name="kds-archivist")
        """The thread that looks after sessions: erasing one may take seconds, and no hook waits."""
        self.attendance = Attendance()
        self._base = base
        self.queries = QueryService(
            conversations.parts, rewriter=conversations.rewriter, environ=environ
        )
        self.people = People(self)
        self.embedding = EmbeddingRecord()
        self.reload = Reload()
        self.turns = 0
        self.seen = fingerprint(self.workspace)
        """The state of the files that were read last."""
        self.jobs: list[asyncio.Task[None]] = []
        self.kept = False
        """Whether it stays open when nobody uses it."""
        self.closing = False
        self._reading = threading.RLock()

    @property
    def workspace(self) -> Workspace:
        """The workspace itself."""
        return self.conversations.workspace

    @property
    def root(self) -> str:
        """What a client calls it."""
        return str(self.workspace.root)

    @property
    def memory(self) -> ConversationMemory:
        """The sessions of the workspace; opening its ``store`` makes the file."""
        return self.queries.memory

    def memory_if_any(self) -> MemoryStore | None:
        """The memory's store; None when nothing was ever remembered. Looking makes no file."""
        return self.memory.store if self.memory.exists else None

    def memory_for_writing(self) -> MemoryStore:
        """The memory's store, made when there is none.

        Raises ConflictError where it is off, ExposedError when git would commit what is stored.
        """
        if not self.memory.flags.enabled:
            raise ConflictError(
                "the memory is switched off",
                where="memory.enabled",
                hint="switch it on in kds-brain/settings.yaml, or with KDS_MEMORY=on",
            )
        return self.memory.store_for_writing

    def store_of(self, session: str, *, writes: bool = False) -> MemoryStore:
        """The store that holds a session. Raises NotServedError when there is no such session."""
        store = self.memory_for_writing() if writes else self.memory_if_any()
        if store is None or store.find_session(session) is None:
            raise NotServedError(
                "no such session", where=session, hint="list the sessions, and choose one"
            )
        return store

    @property
    def settings_error(self) -> str | None:
        """What is wrong with the settings as they are now; those before stay in use."""
        return self.queries.settings_fault

    @property
    def warnings(self) -> tuple[str, ...]:
        """What every reply says until it is mended."""
        notes = []
        if broken := self.reload.error:
            notes.append(f"prompts and rules are those before the last change: {broken}")
        if wrong := self.settings_error:
            notes.append(f"{EARLIER_SETTINGS}: {wrong}")
        return (*self.conversations.warnings, *notes)

    def route(self, message: str, **how: Any) -> Turn:
        """Route a message as `Conversations.route` does, and count it."""
        turn = self.conversations.route(message, **how)
        self.turns += 1
        return turn

    def look(self) -> None:
        """Read rules and prompts anew if their files have changed; a message meanwhile waits.

        One thread at a time: what was read before must not take the place of what was read after
        it. What does not load changes nothing, and is told until it is mended.
        """
        if self._base is not None:
            self._base.look()
            return
        with self._reading:
            if (found := fingerprint(self.workspace)) == self.seen:
                return
            self.seen = found
            try:
                self.reloaded(self.conversations.reloaded())
                self.log(f"reloaded prompts and rules of {self.root}")
                return
            except KdsError as error:
                told = "; ".join(line.strip() for line in str(error).splitlines())
            except Exception as error:  # noqa: BLE001  # the service goes on with what it has
                told = f"internal error: {describe_fault(error)}"
            self.reload = Reload(self.reload.count, utc_now(), told)
            self.log(f"reload failed, the last good set stays: {told}")

    def look_at_all(self) -> None:
        """See before a question what others have edited, and what was learned since."""
        if self.person is not None:
            self.look()
        self.queries.use(self.conversations.refreshed(), rewriter=self.conversations.rewriter)

    def reloaded(self, conversations: Conversations) -> None:
        """Use a new set from the next message on."""
        self.conversations = conversations
        self.queries.use(conversations.parts, rewriter=conversations.rewriter)
        self.reload = Reload(self.reload.count + 1, utc_now())
        for one in self.people:
            old = one.conversations
            one.reloaded(conversations.under(one.environ, turns=old.turns, contexts=old.contexts))

    def stop(self) -> None:
        """Let everybody go who waits, and end what is done beside it; from the event loop."""
        self.queries.stop()
        for job in self.jobs:
            job.cancel()

    def close(self) -> None:
        """Let go of threads and stores."""
        self.closing = True
        self.queries.stop()
        if self._base is None:
            self.worker.close()
            self.archivist.close()
        for one in self.people:
            one.close()
        self.queries.close()
        self.conversations.contexts.close()
        self.conversations.turns.close()


class People:
    """The people of a shared service, each with conversations, memory and settings of their own."""

    def __init__(self, base: ServedWorkspace) -> None:
        self._base = base
        self._kept: OrderedDict[tuple[str, str], ServedWorkspace] = OrderedDict()

    def __iter__(self) -> Iterator[ServedWorkspace]:
        """Those that are kept ready."""
        return iter(tuple(self._kept.values()))

    def find(self, person: Person) -> ServedWorkspace:
        """Return what serves a person: the base's rules and prompts, and nothing else of it.

        Nothing of somebody who had this name and was removed. Raises RemovedError when it is
        ``person`` who was: a token is believed for some seconds more.
        """
        key = person.organisation, person.name
        found = self._kept.get(key)
        removals = found.person.removal if found and found.person else person.removal
        if removals > person.removal:
            raise RemovedError("the person was removed", hint="use the new token")
        if found is None or removals < person.removal:
            if found is not None:
                found.close()
            found = self._kept[key] = self._made(person)
            if len(self._kept) > MOST_PEOPLE:
                self._kept.popitem(last=False)[1].close()
        self._kept.move_to_end(key)
        return found

    def _made(self, person: Person) -> ServedWorkspace:
        """Somebody's rows of the server are found by the environment."""
        environ = {
            **os.environ,
            "KDS_DATABASE_ORGANISATION": person.organisation,
            "KDS_DATABASE_PERSON": person.name,
        }
        turns = TurnLog(self._base.workspace, environ=environ)
        conversations = self._base.conversations.under(environ, turns=turns)
        return ServedWorkspace(conversations, environ=environ, person=person, base=self._base)


Jobs = Callable[[ServedWorkspace], tuple[Coroutine[Any, Any, None], ...]]
"""What is done beside a workspace as long as it is open."""


class Workspaces:
    """The open workspaces of a service, by their real path. For the event loop's thread."""

    def __init__(self, jobs: Jobs = lambda served: (), *, log: Log = lambda line: None) -> None:
        self._make_jobs = jobs
        self._log = log
        self._open: OrderedDict[str, ServedWorkspace] = OrderedDict()
        self._opening: dict[str, asyncio.Task[ServedWorkspace]] = {}
        self.attendance = Attendance()
        """Of all requests."""
        self.default: str | None = None
        """The workspace of requests that name none."""
        self.left: set[Workspace] = set()
        """Those that were let go: what they remember has yet to expire."""
        self.keeper = Worker(name="kds-keeper")
        """The thread that imports sessions of assistants, for which nobody else waits."""

    def __iter__(self) -> Iterator[ServedWorkspace]:
        """In the order in which they were opened."""
        return iter(tuple(self._open.values()))

    @property
    def remembering(self) -> tuple[Workspace, ...]:
        """All whose contexts may hold what is to expire."""
        return (*(one.workspace for one in self), *self.left)

    async def open(self, root: str, *, keep: bool = False) -> ServedWorkspace:
        """Return the workspace ``root``, opened if it is not; ``keep``: it is not let go of.

        The first that is kept is the default. Raises NotServedError when there is no such folder,
        KdsError when it does not load.
        """
        key = _key(root)
        if (found := self._open.get(key)) is not None:
            self._open.move_to_end(key)
            return found
        if key not in self._opening:
            self._opening[key] = asyncio.create_task(self._opened(root, keep=keep))
            self._opening[key].add_done_callback(lambda _: self._opening.pop(key))
        return await asyncio.shield(self._opening[key])

    async def let_go(self, idle_s: float = LET_GO_S) -> None:
        """Close those that were not used for so long."""
        for key, served in list(self._open.items()):
            if not served.kept and served.attendance.idle_s() >= idle_s:
                del self._open[key]
                self.left.add(served.workspace)
                served.stop()
                await asyncio.to_thread(served.close)

    def close(self) -> None:
        """Close all."""
        self.keeper.close()
        for served in self:
            served.close()
        self._open.clear()

    async def _opened(self, root: str, *, keep: bool) -> ServedWorkspace:
        if len(self._open) >= MOST_OPEN:
            await self.let_go(min(one.attendance.idle_s() or LET_GO_S for one in self))
        workspace = _found(root)
        worker = Worker(name="kds-opening")  # the loop's pool may be busy with other workspaces
        try:
            served = await worker.run(lambda: _load(workspace, self._log))
        finally:
            worker.close(wait=False)
        if keep:
            served.kept, self.default = True, self.default or served.root
        self._open[_key(served.root)] = served
        self.left.discard(served.workspace)
        warming = served.worker.run(lambda: _warm(served), patient=True)
        served.jobs = [asyncio.create_task(job) for job in (warming, *self._make_jobs(served))]
        return served


def _load(workspace: Workspace, log: Log) -> ServedWorkspace:
    conversations = Conversations.open(workspace)
    for warning in conversations.warnings:
        log(f"warning: {warning}")
    return ServedWorkspace(conversations, log=log)


def _warm(served: ServedWorkspace) -> None:
    """Route what nobody said: rules, models and prompts are read when they are first needed."""
    rehearsal = served.conversations.rehearse()
    for message in ("I want to add a button", "Make it purple", "why does it fail?"):
        rehearsal.route(message)
    give_memory_back()


def give_memory_back() -> None:
    """Return to the system what loading or long messages needed for a moment (Linux only).

    That is free memory of glibc, and the pages of libraries' code: loading needs 60 MB of those,
    a message 35. They are read-only and in the page cache; the next use maps them again (1 ms).
    """
    with suppress(OSError, AttributeError, TypeError):
        system = ctypes.CDLL(None)
        system.malloc_trim(0)
        for line in Path("/proc/self/maps").read_text().splitlines():
            places, access, *_, path = line.split(maxsplit=5)
            if access == "r-xp" and path.startswith("/"):
                start, end = (ctypes.c_size_t(int(place, 16)) for place in places.split("-"))
                system.madvise(start, ctypes.c_size_t(end.value - start.value), mmap.MADV_DONTNEED)


def _found(root: str) -> Workspace:
    if "\0" in root or not (Path(root).is_absolute() and Path(root).is_dir()):
        raise NotServedError(
            "no such folder", where=root, hint="name the folder that holds kds-brain/"
        )
    return Workspace.find(environ={HOME_VARIABLE: root})


def is_same(one: str, other: str) -> bool:
    """Whether two paths lead to one folder."""
    return _key(one) == _key(other)


def _key(root: str) -> str:
    return os.path.realpath(root) if "\0" not in root else root
