"""What arrives by itself: a line when a session starts, and one beside a prompt that points back.

For the service, on the thread that looks after sessions. Nothing happens for a user who has never
imported sessions, and nothing is told of another project.
"""

import os
import re
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from threading import Lock
from time import monotonic
from typing import Final

from kds.api.embeddings import embed_waiting, load_embedder, model_name
from kds.brain.clock import utc_now
from kds.brain.errors import KdsError
from kds.brain.message import one_line
from kds.brain.passages.store import Embedder
from kds.brain.settings import Settings
from kds.hooks.reply import TRACE, goes_on
from kds.transcripts.briefs import start_line
from kds.transcripts.catalogue import AssistantMemory
from kds.transcripts.importing import import_sessions, project_folders, readers
from kds.transcripts.recalling import SURE, ask, excerpt, latest

PAUSE_S: Final = 20.0
"""Seconds between two imports that nobody asked for."""
WAIT_S: Final = 60.0
"""How long the import of a session that stopped waits for another import."""
RECENT: Final = timedelta(days=30)
"""What changed before that, only an import by the user reads."""
EMBED_S: Final = 5.0
GIT_S: Final = 1.0
COMMITS: Final = 5

_GIT_ENV: Final = {"GIT_NO_LAZY_FETCH": "1", "GIT_ALLOW_PROTOCOL": "none"}
"""A project's settings name programs (`gpg.program`, `core.sshCommand`): nothing is fetched, and no
signature is checked, so that none of them runs."""

QUOTED_CHARS: Final = 200
QUESTION_CHARS: Final = 1_000

_POINTS_BACK: Final = re.compile(
    r"""\b(?:
      (?:like|as|same\ as)\ (?:we\ did|we\ had|the\ other\ day|back\ then)
    | (?:that|the|those)\ (?:[\w.-]+\ ){1,4}(?:that\ )?we\ (?:did|made|wrote|used|chose|fixed|had)
    | (?:what|which|how|why|where|when)\ (?:[\w.-]+\ ){0,3}did\ (?:we|you|i)\b
    | (?:did|have|had)\ we\ (?:already|ever|decide|agree|fix|try)
    | we\ (?:already|once)\ (?:\w+ed|did|had|made|wrote|chose)
    | (?:do\ you\ )?remember\ (?:when|how|what|the|that|which)
    )""",
    re.IGNORECASE | re.VERBOSE,
)

_running = Lock()
_last_import = [0.0]


def points_back(prompt: str) -> bool:
    """Whether a prompt asks for something of an earlier session, or has an error pasted.

    >>> points_back("do it like last time"), points_back("the migration script we wrote")
    (True, True)
    >>> points_back("which port did we choose?"), points_back("add a dark mode toggle")
    (True, False)
    """
    return bool(goes_on(prompt) or _POINTS_BACK.search(prompt) or TRACE.search(prompt))


def keep_current(settings: Settings, *, now: bool = False) -> None:
    """Import what is new for the clients that the user chose, unless that was just done.

    Raises nothing: what goes wrong is in `kds memory sources`, and comes with the next import.
    """
    memory = AssistantMemory()
    if not memory.exists or not _running.acquire(blocking=False):
        return
    try:
        if not now and monotonic() - _last_import[0] < PAUSE_S:
            return
        with suppress(KdsError, OSError):
            _import(memory, settings)
        _last_import[0] = monotonic()
    finally:
        memory.close()
        _running.release()


def keep_session(settings: Settings, session: str) -> None:
    """Import what is new of one session, by its client's id, as `keep_current` does of all."""
    memory = AssistantMemory()
    if not memory.exists or not _running.acquire(timeout=WAIT_S):
        return
    try:
        with suppress(KdsError, OSError):
            _import(memory, settings, session)
    finally:
        memory.close()
        _running.release()


def _import(memory: AssistantMemory, settings: Settings, session: str = "") -> None:
    chosen = dict(memory.rows("SELECT client, everywhere FROM chosen"))
    known = readers(Path.home(), os.environ, project_folders(memory))
    wanted = {one.num for one in memory.projects() if one.wanted}
    embedder, imported = _embedder(settings.recall.embeddings), set[int]()
    keep_days = 0 if session else settings.assistants.keep_days
    for everywhere in (True, False):
        some = {name: known[name] for name in chosen if bool(chosen[name]) is everywhere}
        only = None if everywhere else wanted
        report = import_sessions(
            memory, some, only=only, since=utc_now() - RECENT, keep_days=keep_days,
            session=session,
        )  # fmt: skip
        imported |= set(report.projects)
    ends = monotonic() + EMBED_S
    with memory.stores([one for one in memory.projects() if one.num in imported]) as opened:
        for _, store in opened:
            if embedder is not None:
                embed_waiting(store, embedder, goes_on=lambda: monotonic() < ends)


def session_start(folder: str, session: str | None) -> str | None:
    """Return the line for a session that starts in ``folder``; None when nothing is known."""
    memory = AssistantMemory()
    if not memory.exists:
        return None
    try:
        project = memory.project_of(folder)
        found = project and latest(memory, project, branch=_branch(folder), but=session or "")
        return (start_line(*found, touched=_touched(folder)) or None) if found else None
    finally:
        memory.close()


def prompt_line(prompt: str, folder: str, embeddings: str | None) -> str | None:
    """Return what was said before about a prompt that points back, when that is sure."""
    memory = AssistantMemory()
    if not memory.exists or not points_back(prompt):
        return None
    try:
        project = memory.project_of(folder)
        answer = ask(
            memory, [project] if project else [], prompt[-QUESTION_CHARS:], limit=1,
            embedder=_embedder(embeddings), now=utc_now(), surface="hook",
        )  # fmt: skip
    finally:
        memory.close()
    if answer.sure < SURE or not answer.found:
        return None
    one = answer.found[0]
    quote = one_line(excerpt(one.hit.passage.body, one.words, QUOTED_CHARS)).replace('"', "'")
    said = f"{one.kept.client}, {one.hit.passage.at:%Y-%m-%d}"
    return (
        f'KDS: in an earlier session ({said}): "{quote}" More: recall_session {one.kept.session.id}'
    )


def _embedder(embeddings: str | None) -> Embedder | None:
    name = model_name(embeddings)
    with suppress(KdsError):
        return load_embedder(name) if name else None
    return None


def _branch(folder: str) -> str:
    return next(iter(_git(folder, "branch", "--show-current")), "")


def _touched(folder: str) -> Sequence[str]:
    """Files of the last commits."""
    return _git(
        folder, "log", f"-{COMMITS}", "--no-show-signature", "--name-only", "--format="
    )  # fmt: skip


def _git(folder: str, *words: str) -> Sequence[str]:
    command = ["git", "-c", "core.fsmonitor=false", "-C", folder, *words]
    try:
        done = subprocess.run(
            command, capture_output=True, timeout=GIT_S, check=False, text=True,
            errors="replace", env=os.environ | _GIT_ENV,
        )  # fmt: skip
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return ()
    return [line for line in done.stdout.splitlines() if line]
