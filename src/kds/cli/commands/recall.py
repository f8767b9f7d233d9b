"""`kds recall`, and the commands of `kds memory` for the sessions of assistants."""

import os
import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from datetime import datetime
from io import StringIO
from pathlib import Path
from time import monotonic
from typing import Any, Final

import click

from kds.api.embeddings import embed_waiting
from kds.brain.clock import utc_now
from kds.brain.errors import StoreError
from kds.brain.memory.export import archive, checksum, stream_json
from kds.brain.memory.memory_store import MemoryPlace
from kds.brain.passages.store import Embedder
from kds.brain.settings import load_settings
from kds.brain.workspace import Workspace
from kds.cli.command import command, flag, option
from kds.cli.guard import Refusal, pass_on
from kds.cli.options import (
    STDIN,
    ago,
    changing,
    common_options,
    question_argument,
    search_embedder,
)
from kds.cli.output import (
    Shown,
    Table,
    counted,
    hit_lines,
    mebibytes,
    say,
    session_dict,
    session_table,
)
from kds.cli.progress import reported, slow, tracked
from kds.cli.terminal import shown
from kds.transcripts.briefs import brief
from kds.transcripts.catalogue import AssistantMemory, Kept, Project
from kds.transcripts.importing import CLIENTS, Report, import_sessions, project_folders, readers
from kds.transcripts.recalling import Found, ask, latest

NOTHING: Final = "no sessions of assistants are kept yet: kds memory import"
EMBED_S: Final = 60.0
"""Seconds that an import goes on making vectors; the next one goes on where it stopped."""

QUOTED: Final = 6
"""Lines of a passage that are shown."""


@contextmanager
def _opened(workspace: Workspace) -> Iterator[tuple[AssistantMemory, str]]:
    """The sessions of assistants, and the folder whose repository is meant.

    That is the current one, or that of --workspace.
    """
    here = Path.cwd()
    with closing(AssistantMemory()) as memory:
        yield memory, str(here if here.is_relative_to(workspace.root) else workspace.root)


def _projects(memory: AssistantMemory, folder: str, name: str | None = None) -> tuple[Project, ...]:
    """The projects that ``name`` stands for: this one, ``all``, or one of that name."""
    if not memory.exists:
        return ()
    if name is None:
        here = memory.project_of(folder)
        return (here,) if here and memory.path_of(here).exists() else ()
    path, known = str(Path(name).expanduser().resolve()), memory.projects()
    found = tuple(one for one in known if name in ("all", one.name) or path == one.folder)
    if not found and os.sep in name and (inside := memory.project_of(path)):
        return (inside,)
    if not found:
        names = ", ".join(sorted({one.name for one in known}))
        raise Refusal(f"unknown project '{name}'", f"all, or one of: {names}")
    return found


def _as_clients(
    ctx: click.Context, param: click.Parameter, names: str | None
) -> tuple[str, ...] | None:
    found = None if names is None else tuple(names.split(","))
    if unknown := set(found or ()) - set(CLIENTS):
        raise Refusal(f"unknown client '{min(unknown)}'", f"one of {', '.join(CLIENTS)}")
    return found


@command(
    "kds recall 'which port has staging?'",
    "kds recall 'how did we mend the flaky login test' --since 90d",
    "kds recall \"ImportError: cannot import name 'frobnicate'\" --project all",
)
@question_argument("QUESTION")
@option("--project NAME", "Another project, or `all`.  [default: the repository you are in]")
@option("--since TIME", "Only what was said since: 36h, 30d, 8w.", type=ago)
@option("--limit N", "Most passages.", default=5, type=click.IntRange(1, 50))
@common_options
def recall(
    *, question: str, project: str | None, since: datetime | None, limit: int,
    workspace: Workspace,
) -> None:  # fmt: skip
    """Find what was said about QUESTION in past sessions of your assistants.

    Any client, this repository: each passage comes with the command that resumes its session.
    """
    with _opened(workspace) as (memory, folder):
        projects = _projects(memory, folder, project)
        with slow("searching past sessions"):
            answer = ask(
                memory, projects, question, limit=limit, since=since,
                embedder=search_embedder(None, workspace), now=utc_now(),
            )  # fmt: skip
    told = {
        "question": question,
        "sure": round(answer.sure, 3),
        "hits": list(map(_hit_dict, answer.found)),
        "notes": list(answer.notes if projects else (NOTHING,)),
    }

    def text() -> Iterator[Shown]:
        pass_on(answer.notes)
        yield [_hit_lines(number, one) for number, one in enumerate(answer.found, 1)]
        if not answer.found:
            yield "nothing was found" if projects else NOTHING

    say(told, text())


@command("kds handoff", "kds handoff --to codex", "kds handoff --session 65b58793 > brief.md")
@option("--to CLIENT", "The assistant that goes on: codex, claude, ...", callback=_as_clients)
@option("--session ID", "Another session of this repository than the last.")
@common_options
def handoff(*, to: tuple[str, ...] | None, session: str | None, workspace: Workspace) -> None:
    """Print a brief with which another assistant goes on where the last session stopped.

    Goal, decisions with reasons, files, commands that worked, what failed, what is open: by rule,
    at most 1,500 tokens.
    """
    with _opened(workspace) as (memory, folder):
        projects = _projects(memory, folder)
        found = latest(memory, projects[0], session=session or "") if projects else None
    if found is None:
        which = f"session '{session}'" if session else "session"
        raise Refusal(f"no {which} of this repository is kept",
                      "kds memory import, then kds handoff, in the session's folder")  # fmt: skip
    text = brief(*found, to=to[0] if to else "")
    say({"session": found[0].session.id, "brief": text}, text.rstrip())


def _hit_dict(one: Found) -> dict[str, Any]:
    passage = one.hit.passage
    return {
        "session": one.kept.session.id, "title": one.kept.session.title,
        "client": one.kept.client, "project": one.project.name, "branch": one.kept.branch,
        "at": passage.at, "role": passage.role, "message": passage.message_id,
        "text": passage.body, "words": list(one.words), "by_meaning": one.by_meaning,
        "score": round(one.hit.score, 4), "resume": one.kept.resume_from(str(Path.cwd())),
    }  # fmt: skip


def _hit_lines(number: int, one: Found) -> Iterator[Shown]:
    kept, passage = one.kept, one.hit.passage
    place = " ".join(filter(None, (one.project.name, f"on {kept.branch}" if kept.branch else "")))
    said = f"{kept.client}, {shown(passage.at)}, {place}"
    has = [("has", ", ".join(one.words))] if one.words else []
    if one.by_meaning:
        has = [("found", "by meaning: none of your words is in it")]
    lines = [line for line in passage.body.strip().splitlines() if line.strip()]
    return hit_lines(
        f"{number}. '{kept.session.title}' ({said}), {passage.role}",
        _around(lines, one.words),
        [*has, ("resume", kept.resume_from(str(Path.cwd())) or f"open it in {kept.client}")],
    )


def _around(lines: Sequence[str], words: Iterable[str]) -> Sequence[str]:
    """The lines of a passage that have most of the words, and those next to them."""
    low = [line.casefold() for line in lines]
    counts = [sum(word in line for word in words) for line in low]
    best = counts.index(max(counts)) if counts else 0
    start = max(0, min(best - 1, len(lines) - QUOTED))
    return lines[start : start + QUOTED]


@command(
    "kds memory import",
    "kds memory import --from claude,codex --since 90d --all-projects",
    "kds memory import memory.json",
    "kds memory export --all --workspace ~/shop | kds memory import -",
    name="import",
)
@click.argument("file", required=False, type=click.Path(path_type=Path, allow_dash=True))
@option("--from CLIENTS", "Sessions of these assistants: claude, codex, copilot, gemini, opencode, "
        "cursor, specstory.  [default: all]", to="clients", callback=_as_clients)  # fmt: skip
@option("--since TIME", "Only sessions that changed since: 36h, 30d, 8w.", type=ago)
@flag("--all-projects", "Not only those of the repository you are in.", to="everywhere")
@flag("--dry-run", "Only say how much there is.")
@common_options
def import_(
    *, file: Path | None, clients: tuple[str, ...] | None, since: datetime | None,
    everywhere: bool, dry_run: bool, workspace: Workspace,
) -> None:  # fmt: skip
    """Bring in the past sessions of your assistants; or with FILE, exported sessions of KDS.

    Sessions of assistants are kept in your own folder, for all their clients; from then on their
    hooks keep it current. Of FILE (JSON; `-` reads it from a pipe) the whole is examined before
    anything is stored; a session whose id is here already is added beside it, with a new id.
    """
    if file is None:
        names = clients or CLIENTS
        say(*bring_in(workspace, names, since, everywhere=everywhere, dry_run=dry_run))
        return
    if clients or since or everywhere or dry_run:
        raise Refusal("these options are for sessions of assistants", "leave FILE out")
    text, where = _read(file), "stdin" if str(file) == STDIN else str(file)
    count = sum(1 for _ in stream_json(StringIO(text), where=where))
    with changing(MemoryPlace.of(workspace)) as store:
        archives = stream_json(StringIO(text), where=where)
        restored = [store.restore(one) for one in tracked(archives, "importing", count=count)]
        total = checksum(archive(store, session.id) for session in restored)
    messages = sum(session.message_count for session in restored)
    counts = f"{counted(len(restored), 'session')}, {counted(messages, 'message')}"
    say(
        {"sessions": [session_dict(one) for one in restored], "checksum": total},
        session_table(restored),
        f"\nimported {counts}, checksum {total}",
    )


def _read(file: Path) -> str:
    try:
        with click.open_file(str(file), encoding="utf-8-sig") as lines:
            return str(lines.read())
    except (OSError, UnicodeDecodeError) as error:
        reason = "is not UTF-8 text"
        if isinstance(error, OSError):
            reason = f"cannot be read: {error.strerror}"
        raise StoreError(reason, where=str(file), hint="check the file and its rights") from error


def bring_in(
    workspace: Workspace, names: Sequence[str] = CLIENTS, since: datetime | None = None,
    *, everywhere: bool = False, dry_run: bool = False,
) -> tuple[dict[str, Any], Iterator[Shown]]:  # fmt: skip
    """Import what is new in the sessions of assistants; returns how much that was, for `say`."""
    waiting, keep_days = 0, load_settings(workspace).assistants.keep_days
    with _opened(workspace) as (memory, folder):
        project = None if everywhere else memory.project_of(folder, make=True)
        if project is not None and not dry_run:
            memory.change("UPDATE project SET wanted = 1 WHERE num = ?", project.num)
        known = readers(Path.home(), os.environ, [folder, *project_folders(memory)])
        with reported("reading sessions") as tell:
            report = import_sessions(
                memory, {name: known[name] for name in names}, since=since, dry_run=dry_run,
                only=None if project is None else {project.num}, keep_days=keep_days, tell=tell,
            )  # fmt: skip
        if not dry_run:
            for name in names:
                memory.change("INSERT OR REPLACE INTO chosen(client, everywhere) "
                              "VALUES (?, ?)", name, int(everywhere))  # fmt: skip
            if embedder := search_embedder(None, workspace):
                waiting = _embedded(memory, embedder, report.projects)
        clone = memory.clone_of(project) if project else None
    told = {
        "sessions": dict(report.sessions),
        "messages": dict(report.messages),
        "unchanged": report.unchanged,
        "other_projects": report.elsewhere,
        "forgotten": report.forgotten,
        "expired": report.expired,
        "problems": report.problems,
        "waiting_for_vectors": waiting,
        "all_projects": everywhere,
        "dry_run": dry_run,
    }

    return told, _import_lines(report, told, clone, keep_days)


def _import_lines(
    report: Report, told: Mapping[str, Any], clone: Project | None, keep_days: int
) -> Iterator[Shown]:
    for problem in report.problems:
        click.echo(problem, err=True)
    rows = [(client, f"{count:,}", f"{report.messages[client]:,}")
            for client, count in report.sessions.items()]  # fmt: skip
    yield Table(("client", "sessions", "messages"), rows, "nothing new")
    done = "would be imported" if told["dry_run"] else "imported"
    new, same = report.messages.total(), report.unchanged
    yield f"\n{counted(new, 'message')} {done}, {counted(same, 'session')} unchanged"
    if report.expired:
        yield f"forgot {counted(report.expired, 'session')} unused for {keep_days:,} days"
    if report.elsewhere and not told["all_projects"]:
        yield f"{counted(report.elsewhere, 'session')} of other projects: --all-projects"
    if waiting := told["waiting_for_vectors"]:
        yield (f"{waiting:,} passages are found by their words alone so far; "
               "the next import goes on")  # fmt: skip
    if clone:
        yield (f"{clone.folder} has the same origin; to make the two one project: "
               f"kds memory join {shlex.quote(clone.folder)}")  # fmt: skip


def _embedded(memory: AssistantMemory, embedder: Embedder, projects: Iterable[int]) -> int:
    """Make vectors of what was imported, for a while; returns how many passages still wait."""
    ends, waiting = monotonic() + EMBED_S, 0
    wanted = [one for one in memory.projects() if one.num in set(projects)]
    with memory.stores(wanted) as opened, reported("reading for meaning") as tell:
        for _, store in opened:
            embed_waiting(store, embedder, tell=tell, goes_on=lambda: monotonic() < ends)
            waiting += sum(one.waiting for one in store.models())
    return waiting


@command("kds memory sources", "kds memory sources --json")
@common_options
def sources(*, workspace: Workspace) -> None:
    """List which assistants' sessions are kept, where, and what could not be read."""
    rows: list[dict[str, Any]] = []
    problems: list[str] = []
    excluded: list[str] = []
    keep_days = load_settings(workspace).assistants.keep_days
    with _opened(workspace) as (memory, _):
        if memory.exists:
            rows = [_source_row(memory, one, sessions) for one, sessions in _every(memory)]
            told = memory.rows("SELECT id, problem FROM source WHERE problem <> '' ORDER BY id")
            problems = [f"{name}: {problem}" for name, problem in told]
            excluded = [path for (path,) in memory.rows("SELECT path FROM excluded ORDER BY path")]
    table = [
        (one["project"], ", ".join(f"{name} {count}" for name, count in one["sessions"].items()),
         f"{one['messages']:,}", mebibytes(one["size_bytes"]))
        for one in rows
    ]  # fmt: skip
    say(
        {"projects": rows, "excluded": excluded, "problems": problems, "path": str(memory.folder),
         "keep_days": keep_days},
        Table(("project", "sessions", "messages", "size"), table, NOTHING),
        [("excluded", path) for path in excluded],
        [("not read", problem) for problem in problems],
        ("\nkept in", f"{memory.folder}{f', for {keep_days:,} days' if keep_days else ''}"),
    )  # fmt: skip


def _every(memory: AssistantMemory) -> list[tuple[Project, tuple[Kept, ...]]]:
    if not memory.exists:
        return []
    with memory.stores(memory.projects()) as opened:
        return [(project, store.kept()) for project, store in opened]


def _source_row(memory: AssistantMemory, one: Project, kept: Sequence[Kept]) -> dict[str, Any]:
    return {
        "project": one.name,
        "folder": one.folder,
        "sessions": dict(sorted(Counter(each.client for each in kept).items())),
        "messages": sum(each.session.message_count for each in kept),
        "size_bytes": memory.path_of(one).stat().st_size,
    }


@command("kds memory join ~/shop", "kds memory join ~/gone/worktree")
@click.argument("other")
@common_options
def join(*, other: str, workspace: Workspace) -> None:
    """Make the repository you are in and OTHER one project: its name, or its folder.

    For clones, and for worktrees that were deleted before their sessions were imported. From then
    on, what was said in either is recalled in both.
    """
    with _opened(workspace) as (memory, folder):
        if other == "all":
            hint = "kds memory join FOLDER, for each; kds memory sources names them"
            raise Refusal("'all' is every project, and one is joined at a time", hint)
        found = _projects(memory, "", other)
        if not found:
            raise Refusal(f"unknown project '{other}'", NOTHING)
        if len(found) > 1:
            folders = ", ".join(one.folder for one in found)
            raise Refusal(f"'{other}' names {len(found)} projects", f"give a folder: {folders}")
        here = memory.project_of(folder, make=True)
        if here is None or here == found[0]:
            raise Refusal(f"'{other}' is this project already", "name another clone of it")
        with memory.alone(), slow("joining"):
            moved = memory.join(here, found[0])
    there = found[0].folder
    say(
        {"project": here.name, "folder": here.folder, "joined": there, "moved": moved},
        f"{there} is one project with {here.folder}; moved {counted(moved, 'session')}",
    )


@command("kds memory exclude ~/private", "kds memory exclude ~/private --undo")
@click.argument("path", type=click.Path(path_type=Path))
@flag("--undo", "Let it be imported again.")
@common_options
def exclude(*, path: Path, undo: bool, workspace: Workspace) -> None:
    """Keep nothing of sessions in PATH, and forget those that are kept."""
    folder, gone = str(path.expanduser().resolve()), 0
    with _opened(workspace) as (memory, _):
        if undo:
            memory.change("DELETE FROM excluded WHERE path = ?", folder)
        else:
            memory.change("INSERT OR IGNORE INTO excluded(path) VALUES (?)", folder)
            found = [(one, [each for each in kept if memory.is_excluded(each.folder)])
                     for one, kept in _every(memory)]  # fmt: skip
            gone = _forget(memory, found)
    done = "may be imported again" if undo else f"is left out; forgot {counted(gone, 'session')}"
    if not undo and not Path(folder).is_dir():
        done += "; there is no such folder"
    say({"path": folder, "excluded": not undo, "forgotten": gone}, f"{folder} {done}")


@command(
    "kds memory forget --project .", "kds memory forget --client cursor --before 180d --yes",
    "kds memory forget --session 65b58793 --yes",
)  # fmt: skip
@option("--client NAME", "Only sessions of this assistant.", callback=_as_clients)
@option("--project NAME", "Only those of a project: its name, its folder, `.` or `all`.")
@option("--before TIME", "Only those unused for this long: 36h, 30d, 8w.", type=ago)
@option("--session ID", "Only this one: its id, or the beginning of it.")
@flag("--yes", "Do it; without this it is only shown.")
@common_options
def forget(
    *, client: tuple[str, ...] | None, project: str | None, before: datetime | None,
    session: str | None, yes: bool, workspace: Workspace,
) -> None:  # fmt: skip
    """Delete sessions of assistants, down to their bytes; no import brings them back.

    The clients' own files are left alone. Without --yes it only shows what would be deleted.
    """
    if not (client or project or before or session):
        raise Refusal("say which sessions to forget", "--project, --client, --before or --session")

    def goes(kept: Kept) -> bool:
        return (
            (client is None or kept.client in client)
            and (before is None or kept.session.updated_at < before)
            and (session is None or kept.name.startswith(session.rpartition(":")[2]))
        )

    with _opened(workspace) as (memory, folder):
        wanted = set(_projects(memory, folder, None if project == "." else project or "all"))
        found = [(one, [each for each in kept if goes(each)]) for one, kept in _every(memory)
                 if one in wanted]  # fmt: skip
        count = sum(len(kept) for _, kept in found)
        if session and not count:
            hint = "kds memory sources; kds recall names ids"
            raise Refusal(f"no session '{session}' is kept", hint)
        if yes:
            _forget(memory, found)
    rows = [(each.client, one.name, shown(each.session.updated_at), each.session.title)
            for one, kept in found for each in kept]  # fmt: skip
    told = counted(count, "session")
    end = f"\nforgot {told}" if yes else f"\nwould forget {told}; --yes does it"
    say(
        {"sessions": [each.session.id for _, kept in found for each in kept], "dry_run": not yes},
        Table(("client", "project", "last", "title"), rows, "no such session"),
        end if count else None,
    )


def _forget(memory: AssistantMemory, found: Sequence[tuple[Project, Sequence[Kept]]]) -> int:
    going = [(one, kept) for one, kept in found if kept]
    with memory.alone(), slow("deleting"):
        if going:
            memory.forget(going)
    return sum(len(kept) for _, kept in going)
