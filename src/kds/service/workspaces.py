"""The workspaces of a service: opened when they are first named, let go when nobody uses them.

Each has a router and threads of its own (people of a shared service share theirs): one that never
finishes loading, or is busy, does not hold up the others. Changed files are polled for, which works
on network file systems too. Embedding happens in small batches, after a pause: it keeps the
interpreter busy, and a hook must not wait for it.
"""

import asyncio
import ctypes
import gc
import os
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Any, Final, TypeVar

from kds.api.conversations import Conversations
from kds.api.embeddings import embed_waiting
from kds.api.turn_log import TurnLog
from kds.brain.environment import HOME_VARIABLE
from kds.brain.errors import KdsError, Problem, RemovedError
from kds.brain.memory.memory import ConversationMemory
from kds.brain.memory.memory_store import EMPTY, MemoryStore, Stats
from kds.brain.store.team import Person
from kds.brain.turn import Turn
from kds.brain.workspace import Workspace
from kds.query.service import EARLIER_SETTINGS, QueryService
from kds.service.errors import BusyError, ConflictError, NotServedError, describe_fault
from kds.service.freshness import fingerprint
from kds.testing.metrics import MetricsReport, read_report

QUEUE_LIMIT: Final = 256  # calls that may wait: the last one waits 2-4 s, longer than a hook does

LET_GO_S: Final = 600.0
"""Idle seconds after which a workspace is closed: one with rules of its own takes 10 MB, and is
open again within a second."""

MOST_PEOPLE: Final = 500  # of a shared service who are kept ready

THREADS: Final = 8
"""Of a shared service, for routing, and as many for sessions: they wait for the database. With the
two connections that a turn holds at most they are as many as a process has. One person has one of
each."""

FIGURES_SHARE: Final = 0.02
"""Of the time that working out figures may take, however often somebody asks for them."""

OBJECTS_BETWEEN_COLLECTIONS: Final = 5_000
"""A tenth of what a command has: while garbage is looked for among 50,000, requests wait 20 to
40 ms."""

RELOAD_LOOK_S: Final = 0.5
"""A change counts when the next look finds the files as they are: they are written by then."""

EMBED_LOOK_S: Final = 5.0
"""Seconds between two looks for chunks that wait: words find a chunk at once."""

PAUSE_S: Final = 1.0
"""Silence after which the service counts as idle: people read for longer than that."""

BATCH: Final = 8  # chunks embedded at once: 0.1-0.3 s for a MiniLM-class model on one core

BACK_OFF_S: Final = 60.0  # rest after a failure of a model

Log = Callable[[str], None]

_Result = TypeVar("_Result")


class Worker:
    """Runs calls one after the other off the event loop, from which alone it is used."""

    def __init__(
        self, *, limit: int = QUEUE_LIMIT, threads: ThreadPoolExecutor | None = None
    ) -> None:
        """``threads`` are those of several workers; without them it has one of its own."""
        self._limit = limit
        self._owns_threads = threads is None
        self._threads = threads or ThreadPoolExecutor(1)
        self._turn = asyncio.Lock()
        self._closed = False
        self.waiting = 0
        """How many calls wait or run."""

    async def run(self, call: Callable[[], _Result]) -> _Result:
        """Run ``call`` when its turn comes. Raises BusyError, and whatever ``call`` raises."""
        if self.waiting >= self._limit:
            raise BusyError(f"{self._limit} requests are waiting", hint="try again in a second")
        self.waiting += 1
        try:
            async with self._turn:
                if self._closed:
                    told, hint = "the service is stopping", "start it again: kds service start"
                    raise BusyError(told, hint=hint)
                job = asyncio.get_running_loop().run_in_executor(self._threads, call)
                try:
                    return await asyncio.shield(job)
                except asyncio.CancelledError:  # a thread cannot be stopped: the next one waits
                    await asyncio.wait([job])
                    raise
        finally:
            self.waiting -= 1

    def close(self, *, wait: bool = True) -> None:
        """Take no more calls, and wait for those on a thread of its own; from any thread."""
        self._closed = True
        if self._owns_threads:
            self._threads.shutdown(wait=wait, cancel_futures=True)


class Attendance:
    """Knows how long ago the last request ended, and whether one is being answered."""

    def __init__(self) -> None:
        self._last = time.monotonic()
        self._present = 0

    def __enter__(self) -> None:
        self._present += 1

    def __exit__(self, *_: object) -> None:
        self._present -= 1
        self._last = time.monotonic()

    def idle_s(self) -> float:
        """Seconds since the last request ended; 0 while one is being answered."""
        return 0.0 if self._present else time.monotonic() - self._last


class ServedWorkspace:
    """One workspace: its conversations, which a reload replaces in one assignment.

    On a shared service each person has one (``people``), with the threads, rules and prompts of
    the ``base`` and nothing else of it.
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
        self.threads: list[ThreadPoolExecutor] = (
            base.threads if base else [ThreadPoolExecutor(THREADS) for _ in range(2)]
        )
        """Those that route and those for sessions of a shared service's people."""
        routing, sessions = self.threads if base else (None, None)
        self.worker = Worker(threads=routing)
        """Routes, and answers queries."""
        self.archivist = Worker(threads=sessions)
        """For sessions: erasing one may take seconds, for which no hook waits."""
        self.attendance = Attendance()
        self._base = base
        self.queries = QueryService(
            conversations.parts, rewriter=conversations.rewriter, environ=environ,
            team=person is not None,
        )  # fmt: skip
        self.people: OrderedDict[tuple[str, str], ServedWorkspace] = OrderedDict()
        self.embedding_error: str | None = None
        self._figures: tuple[timedelta, float, MetricsReport, Stats] | None = None
        """Those told last: of which span, and until when they are told again."""
        self.unembedded = True
        """Whether passages may wait for vectors; of a person, since they asked last."""
        self.turns = self.reloads = 0
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

    def figures(self, span: timedelta) -> tuple[MetricsReport, Stats]:
        """The figures of the last ``span``, and how much is stored: as of now, or a moment ago."""
        begun, known = time.monotonic(), self._figures
        if known and known[0] == span and begun < known[1]:
            return known[2:]
        store = self.memory_if_any()
        report = read_report(store, span, self.conversations.library.corrections())
        stats, now = store.stats() if store else EMPTY, time.monotonic()
        self._figures = span, now + (now - begun) / FIGURES_SHARE, report, stats
        return report, stats

    def store_of(self, session: str, *, writes: bool = False) -> MemoryStore:
        """The store that holds a session. Raises NotServedError when there is no such session."""
        store = self.memory_for_writing() if writes else self.memory_if_any()
        if store is None or store.find_session(session) is None:
            raise NotServedError(
                "no such session", where=session, hint="list the sessions, and choose one"
            )
        return store

    @property
    def warnings(self) -> tuple[str, ...]:
        """What every reply says until it is fixed; to its owner, who can."""
        if self.person is not None:
            return ()
        fault = self.queries.settings_fault
        return (*self.conversations.warnings, *([f"{EARLIER_SETTINGS}: {fault}"] if fault else []))

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What is wrong with the files of the workspace, all of it."""
        return self.conversations.problems

    def route(self, message: str, **how: Any) -> Turn:
        """Route a message as `Conversations.route` does, and count it.

        For one of several people, what somebody has edited until now counts.
        """
        if self.person is not None:
            self.look()
        turn = self.conversations.route(message, **how)
        self.turns += 1
        return turn

    def look(self) -> None:
        """Reload rules and prompts if their files have changed; a message meanwhile waits.

        One thread at a time, so that an older state never replaces a newer one. A file that does
        not load is left out, and reported until it is fixed.
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
            except Exception as error:  # noqa: BLE001  # the service goes on with what it has
                self.log(f"internal error, nothing is reloaded: {describe_fault(error)}")
                return
            self.log(f"reloaded prompts and rules of {self.root}")
            self.log_warnings()
            settle_memory()

    def log_warnings(self) -> None:
        """Tell the log of files that do not load."""
        for warning in self.conversations.warnings:
            self.log(f"warning: {' '.join(warning.split())}")

    def look_at_all(self) -> None:
        """Before a question, see what others have edited and what was learned since."""
        if self.person is not None:
            self.look()
        self.queries.use(self.conversations.refreshed(), rewriter=self.conversations.rewriter)

    def reloaded(self, conversations: Conversations) -> None:
        """Use a new set from the next message on."""
        self.conversations = conversations
        self.queries.use(conversations.parts, rewriter=conversations.rewriter)
        self.reloads += 1
        for one in tuple(self.people.values()):
            old = one.conversations
            one.reloaded(conversations.under(one.environ, turns=old.turns, contexts=old.contexts))

    def of(self, person: Person) -> "ServedWorkspace":
        """Return what serves a person of a shared service.

        Nothing is left of a removed person of the same name. Raises RemovedError when it is
        ``person`` who was removed: a token is believed for some seconds more.
        """
        key = person.organisation, person.name
        found = self.people.get(key)
        removals = found.person.removal if found and found.person else person.removal
        if removals > person.removal:
            raise RemovedError("the person was removed", hint="use the new token")
        if found is None or removals < person.removal:
            if found is not None:
                found.close()
            environ = {
                **os.environ,
                "KDS_DATABASE_ORGANISATION": person.organisation,
                "KDS_DATABASE_PERSON": person.name,
            }
            turns = TurnLog(self.workspace, environ=environ)
            conversations = self.conversations.under(environ, turns=turns)
            found = ServedWorkspace(conversations, environ=environ, person=person, base=self)
            self.people[key] = found
            if len(self.people) > MOST_PEOPLE:
                self.people.popitem(last=False)[1].close()
        self.people.move_to_end(key)
        return found

    def stop(self) -> None:
        """Release everybody who waits, and end the background jobs; from the event loop."""
        self.closing = True
        self.queries.speakers.stop()
        for job in self.jobs:
            job.cancel()

    def close(self) -> None:
        """Let go of threads and stores."""
        self.closing = True
        self.queries.speakers.stop()
        self.worker.close()
        self.archivist.close()
        for pool in () if self._base else self.threads:
            pool.shutdown(cancel_futures=True)
        for one in tuple(self.people.values()):
            one.close()
        self.queries.close()
        self.conversations.contexts.close()
        self.conversations.turns.close()


async def _reload_on_change(served: ServedWorkspace) -> None:
    """Swap in what loads of changed prompts and rules. Runs until it is cancelled."""
    before = served.seen
    while True:
        await asyncio.sleep(RELOAD_LOOK_S)
        found = await asyncio.to_thread(fingerprint, served.workspace)
        if found == before != served.seen:
            with suppress(BusyError):
                await served.archivist.run(served.look)
        before = found


async def _embed_when_idle(served: ServedWorkspace, attendance: Attendance) -> None:
    """Embed what waits while there is no request. Runs until it is cancelled."""
    while True:
        await asyncio.sleep(BACK_OFF_S if served.embedding_error else EMBED_LOOK_S)
        if attendance.idle_s() < PAUSE_S:
            continue
        try:
            done = await served.archivist.run(lambda: embed(served, attendance))
        except BusyError:
            continue
        except Exception as error:  # noqa: BLE001  # the service goes on without vectors
            known = isinstance(error, KdsError)
            reason = str(error) if known else f"internal error: {describe_fault(error)}"
            if served.embedding_error is None:
                line = " ".join(reason.split())
                served.log(f"cannot embed in {served.root}, trying again later: {line}")
            served.embedding_error = reason
        else:
            if done and served.embedding_error:
                served.log(f"embedding works again in {served.root}")
                served.embedding_error = None


def embed(served: ServedWorkspace, attendance: Attendance) -> int:
    """Embed what waits until a request comes, of its people too; returns how many chunks got a
    vector."""
    done = 0

    def goes_on() -> bool:
        return not served.closing and attendance.idle_s() >= PAUSE_S

    for one in (served, *served.people.values()):
        stores = [one.memory_if_any(), one.queries.library.store] if one.unembedded else []
        one.unembedded = one is served
        embedder = served.queries.embedder.load() if any(stores) else None
        for store in filter(None, stores if embedder else ()):
            if embedder and store.awaits(embedder.name):
                done += embed_waiting(store, embedder, batch=BATCH, goes_on=goes_on)
        one.unembedded |= not goes_on()
    return done


class Workspaces:
    """The open workspaces of a service, by their real path. For the event loop's thread."""

    def __init__(self, *, log: Log = lambda line: None) -> None:
        self.log = log
        self._open: OrderedDict[str, ServedWorkspace] = OrderedDict()
        self._opening: dict[str, asyncio.Task[ServedWorkspace]] = {}
        self.attendance = Attendance()
        """Of all requests."""
        self.default: str | None = None
        """The workspace of requests that name none."""
        self.left: set[Workspace] = set()
        """Closed ones: what their contexts hold has yet to expire."""
        self.keeper = Worker()
        """The thread that imports sessions of assistants, for which nobody else waits."""
        self.checker = Worker()
        """The thread that checks what is being edited."""

    def __iter__(self) -> Iterator[ServedWorkspace]:
        """In the order in which they were opened."""
        return iter(tuple(self._open.values()))

    @property
    def remembering(self) -> tuple[Workspace, ...]:
        """All whose contexts may hold what is to expire."""
        return (*(one.workspace for one in self), *self.left)

    async def open(self, root: str, *, keep: bool = False) -> ServedWorkspace:
        """Return the workspace ``root``, opened if it is not; with ``keep`` it stays open.

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
                await asyncio.to_thread(settle_memory)

    def close(self) -> None:
        """Close all."""
        self.keeper.close()
        self.checker.close()
        for served in self:
            served.close()
        self._open.clear()

    async def _opened(self, root: str, *, keep: bool) -> ServedWorkspace:
        if "\0" in root or not (Path(root).is_absolute() and Path(root).is_dir()):
            raise NotServedError(
                "no such folder", where=root, hint="name the folder that holds kds-brain/"
            )
        workspace = Workspace.find(environ={HOME_VARIABLE: root})
        worker = Worker()  # the loop's pool may be busy with other workspaces
        try:
            served = await worker.run(
                lambda: ServedWorkspace(Conversations.open(workspace), log=self.log)
            )
        finally:
            worker.close(wait=False)
        if keep:
            served.kept, self.default = True, self.default or served.root
        served.log_warnings()
        self._open[_key(served.root)] = served
        self.left.discard(served.workspace)
        jobs = (
            served.worker.run(lambda: _warm(served)), _reload_on_change(served),
            _embed_when_idle(served, self.attendance),
        )  # fmt: skip
        served.jobs = [asyncio.create_task(job) for job in jobs]
        return served


def _warm(served: ServedWorkspace) -> None:
    """Route what nobody said: rules, models and prompts are read when they are first needed."""
    rehearsal = served.conversations.rehearse()
    for message in ("I want to add a button", "Make it purple", "why does it fail?"):
        rehearsal.route(message)
    settle_memory()


def settle_memory() -> None:
    """Drop what nothing uses, and return to the system what loading needed (glibc only).

    Later collections pass over what is loaded: looking at it took .8 ms of the 14 ms of a message.
    """
    gc.unfreeze()
    gc.collect()
    gc.freeze()
    gc.set_threshold(OBJECTS_BETWEEN_COLLECTIONS)
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


def is_same(one: str, other: str) -> bool:
    """Whether two paths lead to one folder."""
    return _key(one) == _key(other)


def _key(root: str) -> str:
    return os.path.realpath(root) if "\0" not in root else root
