"""What arrives by itself: a line when a session starts, and one beside a prompt that points back.

For the service, on the thread that looks after sessions. Nothing happens for a user who has never
imported sessions, and nothing is told of another project. `with_words` finds what the hook said.
"""

import os
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import closing, suppress
from datetime import datetime, timedelta
from pathlib import Path
from threading import Lock
from time import monotonic
from typing import Any, Final

from kds.api.embeddings import load_embedder, model_name
from kds.brain.clock import utc_now
from kds.brain.errors import KdsError
from kds.brain.message import one_line
from kds.brain.passages.store import Embedder
from kds.brain.settings import Settings
from kds.hooks.reply import GOES_ON, OWN_LINES, TRACE, goes_on
from kds.transcripts.catalogue import AssistantMemory
from kds.transcripts.formats import ERROR_LINE, moment, parsed
from kds.transcripts.importing import embed, import_sessions, project_folders, readers
from kds.transcripts.json_lines import JsonLines
from kds.transcripts.recalling import JUDGED, SURE, ask, latest, start_line, told_in
from kds.transcripts.repository import git_lines

PAUSE_S: Final = 20.0
"""Seconds between two imports that nobody asked for."""
WAIT_S: Final = 60.0
"""How long the import of a session that stopped waits for another import."""
RECENT: Final = timedelta(days=30)
"""What changed before that, only an import by the user reads."""
EMBED_S: Final = 5.0
COMMITS: Final = 5
NEAR: Final = timedelta(seconds=10)
"""Between a call of the hook and the client's line on it: a client waits 5 s for a hook."""

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

_SETTLED: Final = re.compile(
    r"\b(?:did|have|had|do)\ (?:we|you|i)\ (?:(?:already|ever|finally)\ )?"
    r"(?:decided?|cho(?:o?se|sen)|agreed?|pick(?:ed)?|settled?|sa(?:y|id)|remember)\b"
    r"(?:\ (?:on|upon|with|for|about|that|how|what))?",
    re.IGNORECASE,
)
"""Words that ask for what was settled, and stand nowhere in what was said then."""

_MENDED: Final = re.compile(r"\b(?:fix|mend|solve|repair)", re.IGNORECASE)

NEAR_SCORE: Final = 0.8
"""Of the best passage's score: one with the same words and as much is as good an answer, and the
latest counts, as the others may have been taken back."""

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
    if now or monotonic() - _last_import[0] >= PAUSE_S:
        _import(settings)


def keep_session(settings: Settings, session: str) -> None:
    """Import what is new of one session, by its client's id, as `keep_current` does of all."""
    _import(settings, session)


def _import(settings: Settings, session: str = "") -> None:
    with suppress(KdsError, OSError), closing(AssistantMemory.of(settings)) as memory:
        chosen = memory.rows("SELECT client, everywhere FROM chosen")
        if not chosen or not _running.acquire(timeout=WAIT_S if session else 0):
            return
        try:
            if not session:
                _last_import[0] = monotonic()
            known = readers(Path.home(), os.environ, project_folders(memory))
            wanted = {one.num for one in memory.projects() if one.wanted}
            embedder = _embedder(settings.recall.embeddings)
            for everywhere in (1, 0):
                some = {name: known[name] for name, every in chosen if every == everywhere}
                report = import_sessions(
                    memory, some, only=None if everywhere else wanted, since=utc_now() - RECENT,
                    keep_days=0 if session else settings.assistants.keep_days, session=session,
                )  # fmt: skip
                embed(memory, report.projects, embedder, EMBED_S)
        finally:
            _running.release()


def session_start(
    settings: Settings, folder: str, session: str = "", *, again: bool = False
) -> str | None:
    """Return the line for a session that starts in ``folder``; None when nothing is known.

    One that goes on is told what was said elsewhere since, and all of it ``again`` when it was
    condensed.
    """
    with closing(AssistantMemory.of(settings)) as memory:
        project = memory.project_of(folder)
        here = git_lines("-C", folder, "branch", "--show-current") if project else ()
        found = project and latest(memory, project, branch="".join(here[:1]), but=session)
        own = None
        if project and session and not again:
            own = latest(memory, project, session=session)
    if not found or (own and own[0].session.updated_at >= found[0].session.updated_at):
        return None
    last = ("log", f"-{COMMITS}", "--no-show-signature", "--name-only", "--format=")
    touched = git_lines("-C", folder, *last)
    return start_line(*found, touched=touched) or None


def prompt_line(settings: Settings, prompt: str, folder: str) -> str | None:
    """Return what was said before about a prompt that points back, when that is sure."""
    if not points_back(prompt):
        return None
    with closing(AssistantMemory.of(settings)) as memory:
        if not (project := memory.project_of(folder)):
            return None
        answer = ask(
            memory, [project], asked_for(prompt), limit=JUDGED,
            embedder=_embedder(settings.recall.embeddings), now=utc_now(), surface="hook",
        )  # fmt: skip
    if answer.sure < SURE or not answer.found:
        return None
    first, *others = answer.found
    mended = TRACE.search(prompt) or _MENDED.search(prompt)
    near = [
        each
        for each in others
        if (mended and each.kept == first.kept)  # how that session went on with the error
        or (each.hit.score >= NEAR_SCORE * first.hit.score and set(each.words) >= set(first.words))
    ]
    one = max((first, *near), key=lambda each: each.hit.passage.at)
    quote = one_line(told_in(one, QUOTED_CHARS)).replace('"', "'")
    said = f"{one.kept.client}, {one.hit.passage.at:%Y-%m-%d}"
    return (
        f'KDS: in an earlier session ({said}): "{quote}" More: recall_session {one.kept.session.id}'
    )


def asked_for(prompt: str) -> str:
    """Return what a prompt that points back asks for: of a pasted error its line, else the words
    without those that point back.

    >>> asked_for("which port did we decide on for staging?"), asked_for("like last time, a port")
    ('which port for staging?', 'a port')
    """
    if errors := [line for line in prompt.splitlines() if ERROR_LINE.match(line)]:
        return errors[-1].strip()[:QUESTION_CHARS]
    asked = _SETTLED.sub("", GOES_ON.sub("", prompt)).strip(" ,.:;\n")
    return " ".join((asked or prompt)[-QUESTION_CHARS:].split())


def _embedder(embeddings: str | None) -> Embedder | None:
    name = model_name(embeddings)
    with suppress(KdsError):
        return load_embedder(name) if name else None
    return None


def with_words(calls: Iterable[tuple[str | None, ...]]) -> list[tuple[Any, ...]]:
    """Return the calls of the hook's log (`kds.hooks.log.read_hook_log`), each with what it told.

    The log has no word of a prompt. Clients that write JSON lines keep what their hooks said: each
    line of KDS there belongs to the call of its session that is nearest in time.
    """
    worded: list[tuple[Any, ...]] = [(*one, []) for one in calls]
    spoke = defaultdict[str, list[tuple[datetime, list[str]]]](list)
    for at, _, session, _, what, told in worded:
        if at and session and not what.startswith("silent"):
            spoke[session].append((datetime.fromisoformat(at), told))
    for reader in readers(Path.home(), os.environ).values() if spoke else ():
        for source in reader.sources() if isinstance(reader, JsonLines) else ():
            for at, line in _own_lines(source.path) if source.session in spoke else ():
                away, told = min((abs(at - one), told) for one, told in spoke[source.session])
                if away <= NEAR and line not in told:
                    told.append(line)
    return worded


def _own_lines(path: Path) -> Iterator[tuple[datetime, str]]:
    """The lines of KDS in a session, each with its time."""
    with path.open("rb") as file:
        for entry in (parsed(line) for line in file if b"KDS: " in line):
            if isinstance(entry, dict) and (at := moment(entry.get("timestamp"))):
                for text in _texts(entry):
                    said = text.removeprefix("<hook_context>").removesuffix("</hook_context>")
                    lines = filter(lambda one: one.startswith(OWN_LINES), said.splitlines())
                    yield from ((at, one) for one in lines)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | dict):
        for one in value.values() if isinstance(value, dict) else value:
            yield from _texts(one)
