"""What the service does beside its requests: reload changed files, embed, expire, catch up.

Files are looked at twice a second, which works on network file systems too. Embedding happens in
small batches, after a pause: it keeps the interpreter busy, and a hook must not wait for it.
"""

import asyncio
import shutil
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Final

from kds.api.conversations import tidy_conversations
from kds.api.embeddings import embed_waiting
from kds.brain.context.journal import MAX_AGE, Contexts
from kds.brain.errors import KdsError
from kds.brain.memory.memory_store import MemoryStore
from kds.brain.workspace import Workspace
from kds.service.errors import BusyError, describe_fault
from kds.service.freshness import fingerprint
from kds.service.workspaces import Log, ServedWorkspace, Workspaces

RELOAD_LOOK_S: Final = 0.5
"""A change counts when the next look finds the files as they are: they are written by then."""

EMBED_LOOK_S: Final = 5.0
"""Seconds between two looks for chunks that wait: words find a chunk at once."""

PAUSE_S: Final = 1.0
"""Silence after which the service counts as idle: people read for longer than that."""

BATCH: Final = 8
"""Chunks embedded at once: 0.1-0.3 s for a MiniLM-class model on one core."""

BACK_OFF_S: Final = 60.0
"""Rest after a failure of a model."""

CATCH_UP_S: Final = 2.0
"""Between two looks, which cost nothing while nothing waits."""

TIDY_S: Final = 600.0
"""How often lines of contexts that have expired leave the disk."""

_TIDY_LATER: Final = """\
until=$1; shift
while [ -s "$0" ] && left=$((until - $(date +%s))) && [ "$left" -gt 0 ]; do
  sleep "$((left < 60 ? left : 60))"
done
[ -s "$0" ] && exec "$@"
"""
"""$0 is the file of the context: where it is gone or empty, nothing is left to do."""


async def reload_on_change(served: ServedWorkspace) -> None:
    """Swap in what loads of changed prompts and rules. Runs until it is cancelled."""
    before = served.seen
    while True:
        await asyncio.sleep(RELOAD_LOOK_S)
        found = await asyncio.to_thread(fingerprint, served.workspace)
        if found == before != served.seen:
            with suppress(BusyError):
                await served.archivist.run(served.look)
        before = found


async def embed_when_idle(served: ServedWorkspace, idle_s: Callable[[], float]) -> None:
    """Give what waits for a vector one, while there is no request. Runs until it is cancelled."""
    record = served.embedding
    while True:
        await asyncio.sleep(BACK_OFF_S if record.last_error else EMBED_LOOK_S)
        if idle_s() < PAUSE_S:
            continue
        try:
            done = await served.archivist.run(lambda: embed(served, idle_s))
        except BusyError:
            continue
        except Exception as error:  # noqa: BLE001  # the service goes on without vectors
            known = isinstance(error, KdsError)
            reason = str(error) if known else f"internal error: {describe_fault(error)}"
            if record.last_error is None:
                line = " ".join(reason.split())
                served.log(f"cannot embed in {served.root}, trying again later: {line}")
            record.failures += 1
            record.last_error = reason
        else:
            if done and record.last_error:
                served.log(f"embedding works again in {served.root}")
                record.last_error = None


def embed(served: ServedWorkspace, idle_s: Callable[[], float]) -> int:
    """Embed what waits until a request comes; returns how many chunks got a vector."""
    memory = served.memory_if_any()
    stores = [one for one in (memory, served.queries.library.store) if one is not None]
    embedder = served.queries.embedder.load() if stores else None
    if embedder is None:
        return 0
    done = 0
    for store in stores:
        summaries = isinstance(store, MemoryStore) and store.summaries_without(embedder.name)
        if summaries or store.awaits(embedder.name):
            done += embed_waiting(
                store, embedder, batch=BATCH,
                goes_on=lambda: not served.closing and idle_s() >= PAUSE_S,
            )  # fmt: skip
    served.embedding.embedded += done
    return done


async def catch_up(workspaces: Workspaces, reachable: Callable[[], Awaitable[bool]]) -> None:
    """Store what a shared service heard during an outage once the database is back.

    The next message of a conversation may come to another service. Runs until it is cancelled.
    """
    while True:
        await asyncio.sleep(CATCH_UP_S)
        people = (one for served in workspaces for one in (served, *served.people))
        late = [one for one in people if one.conversations.contexts.late]
        if late and await reachable():
            for one in late:
                with suppress(KdsError):  # away again, or busy: next time
                    await one.worker.run(one.conversations.contexts.catch_up, patient=True)


async def tidy(workspaces: Workspaces, log: Log) -> None:
    """Have what has expired leave the disk, of workspaces that were let go as well."""
    while True:
        for workspace in workspaces.remembering:
            try:
                if not await asyncio.to_thread(_entries, workspace):
                    workspaces.left.discard(workspace)
            except (KdsError, OSError) as error:
                log(f"cannot tidy up {workspace.root}: {describe_fault(error)}")
        await asyncio.sleep(TIDY_S)


def _entries(workspace: Workspace) -> int:
    """How many lines of context a workspace has; those that have expired leave the disk."""
    tidy_conversations(workspace.conversations_dir, now=time.time)
    return len(Contexts(workspace).journal().load().entries)


def expire_later(workspace: Workspace, *, age_s: float = MAX_AGE.total_seconds()) -> None:
    """Have the lines of a context leave the disk once all are older than ``age_s`` seconds.

    Nothing happens where there are no lines, or the system has no shell.
    """
    shell = shutil.which("sh")
    with suppress(KdsError):
        if shell is None or not Contexts(workspace).journal().load().entries:
            return
        until = f"{time.time() + age_s + 1:.0f}"
        load = (sys.executable, "-P", "-m", "kds", "context", "load", "--workspace", workspace.root)
        process = subprocess.Popen(  # a shell takes a megabyte, Python ten
            [shell, "-c", _TIDY_LATER, workspace.context_path, until, *load],
            cwd="/", start_new_session=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        process.returncode = 0  # nobody waits for it, and Python need not warn of that
