"""`kds recall`, and the commands of `kds memory` for the sessions of assistants."""

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any, BinaryIO, Final

import click

from kds.brain.clock import utc_now
from kds.brain.memory.export import archive, checksum, from_json
from kds.brain.memory.memory_store import is_whole
from kds.brain.settings import load_settings
from kds.brain.workspace import Workspace
from kds.cli import base
from kds.cli import output as out
from kds.cli.guard import Refusal, pass_on
from kds.cli.output import Shown, Table, counted, fields, say
from kds.cli.terminal import shown, slow
from kds.service.team_stores import memory_of
from kds.transcripts import importing
from kds.transcripts.catalogue import AssistantMemory, Kept, Project
from kds.transcripts.handoff import brief
from kds.transcripts.importing import CLIENTS
from kds.transcripts.recalling import Found, ask, latest

NOTHING: Final = "no sessions of assistants are kept yet: kds memory import"
QUOTED: Final = 6
"""Lines of a passage that are shown."""


@contextmanager
def _opened(workspace: Workspace) -> Iterator[tuple[AssistantMemory, str]]:
    """The sessions of assistants, and the folder whose repository is meant.

    That is the current one, or that of --workspace.
    """
    here = Path.cwd()
    with closing(AssistantMemory.of(load_settings(workspace))) as memory:
        yield memory, str(here if here.is_relative_to(workspace.root) else workspace.root)


def _projects(memory: AssistantMemory, folder: str, name: str | None = None) -> tuple[Project, ...]:
    """The projects that ``name`` stands for: this one, ``all``, or one of that name."""
    if not (known := memory.projects()):
        return ()
    if name is None:
        here = memory.project_of(folder)
        return (here,) if here and memory.has_sessions(here) else ()
    path = str(Path(name).expanduser().resolve())
    found = tuple(one for one in known if name in ("all", one.name) or path == one.folder)
    if not found and os.sep in name and (inside := memory.project_of(path)):
        return (inside,)
    if not found:
        names = ", ".join(sorted({one.name for one in known}))
        raise Refusal(f"unknown project '{name}'", f"all, or one of: {names}")
    return found


def as_clients(
    ctx: click.Context, param: click.Parameter, names: str | None
) -> tuple[str, ...] | None:
    """The names of assistants, with commas between them. Raises Refusal."""
    found = None if names is None else tuple(names.split(","))
    if unknown := set(found or ()) - set(CLIENTS):
        raise Refusal(f"unknown client '{min(unknown)}'", f"one of {', '.join(CLIENTS)}")
    return found


@base.command("kds recall 'which port has staging?' --project all")
@base.question_argument("QUESTION")
@base.option("--project NAME", "Another project, or `all`.  [default: the repository you are in]")
@base.option("--since TIME", "Only what was said since: 36h, 30d, 8w.", type=base.ago)
@base.option("--limit N", "Most passages.", default=5, type=click.IntRange(1, 50))
def recall(
    *, question: str, project: str | None, since: datetime | None, limit: int,
    workspace: Workspace,
) -> None:  # fmt: skip
    """Find what was said about QUESTION in past sessions of your assistants in this repository.

    Each passage comes with the command that resumes its session.
    """
    with _opened(workspace) as (memory, folder):
        projects = _projects(memory, folder, project)
        with slow("searching past sessions"):
            embedder = base.search_embedder(workspace)
            answer = ask(memory, projects, question, limit=limit, since=since, embedder=embedder,
                         now=utc_now())  # fmt: skip
    found = [(one, one.kept.resume_from(str(Path.cwd()))) for one in answer.found]
    pass_on(answer.notes)
    hits = [_hit_dict(*one) for one in found]
    say(
        {"question": question, "sure": round(answer.sure, 3), "hits": hits,
         "notes": answer.notes if projects else (NOTHING,)},
        [_hit_lines(number, *one) for number, one in enumerate(found, 1)]
        or ("nothing was found" if projects else NOTHING),
        ("\nsure", f"{answer.sure:.0%} that one of these answers it") if found else None,
    )  # fmt: skip


@base.command("kds handoff --to codex", "kds handoff --session 65b58793 > brief.md")
@base.option("--to CLIENT", "The assistant that goes on: codex, claude, ...", callback=as_clients)
@base.option("--session ID", "Another session of this repository than the last.")
def handoff(*, to: tuple[str, ...] | None, session: str | None, workspace: Workspace) -> None:
    """Print a brief with which another assistant goes on where the last session stopped.

    Goal, decisions with reasons, files, commands that worked, what failed, what is open, in at most
    1,500 tokens: by rule, or where a model is set (kds help models) written by it and checked.
    """
    from kds.agents.models import LazyModel  # the others need no model
    from kds.agents.prompting import brief_writer
    from kds.router.prompts.library import PromptLibrary

    with _opened(workspace) as (memory, folder):
        projects = _projects(memory, folder)
        found = latest(memory, projects[0], session=session or "") if projects else None
    if found is None:
        which = f"session '{session}'" if session else "session"
        fix = "kds memory import, then kds handoff, in the session's folder"
        raise Refusal(f"no {which} of this repository is kept", fix)
    model = LazyModel(load_settings(workspace).model)
    library = PromptLibrary.load(workspace.prompts_dir)
    with slow("writing the brief"):
        made = brief(
            *found, to=to[0] if to else "", write=brief_writer(model, library),
            timeout_s=model.settings.timeout_s,
        )  # fmt: skip
    pass_on(made.notes)
    say(
        {"session": found[0].session.id, "brief": made.text, **fields(made, "by notes")},
        made.text.rstrip(),
    )


def _hit_dict(one: Found, resume: str | None) -> dict[str, Any]:
    passage = one.hit.passage
    return {
        "session": one.kept.session.id, "title": one.kept.session.title,
        "client": one.kept.client, "project": one.project.name, "branch": one.kept.branch,
        "at": passage.at, "role": passage.role, "message": passage.message_id,
        "text": passage.body, **fields(one, "words by_meaning"),
        "score": round(one.hit.score, 4), "resume": resume,
    }  # fmt: skip


def _hit_lines(number: int, one: Found, resume: str | None) -> Iterator[Shown]:
    kept, passage = one.kept, one.hit.passage
    branch = f" on {kept.branch}" if kept.branch else ""
    said = f"{kept.client}, {shown(passage.at)}, {one.project.name}{branch}"
    has = [("has", ", ".join(one.words))] if one.words else []
    if one.by_meaning:
        has = [("found", "by meaning: none of your words is in it")]
    # the lines that have most of the words, and those next to them
    lines = [line for line in passage.body.splitlines() if line.strip()]
    counts = [sum(word in line.casefold() for word in one.words) for line in lines]
    best = counts.index(max(counts)) if counts else 0
    start = max(0, min(best - 1, len(lines) - QUOTED))
    return out.hit_lines(
        f"{number}. '{kept.session.title}' ({said}), {passage.role}",
        "\n".join(lines[start : start + QUOTED]),
        [*has, ("resume", resume or f"open it in {kept.client}")],
    )


@base.command(
    "kds memory import --from claude,codex --since 90d", "kds memory import memory.json",
    name="import",
)  # fmt: skip
@click.argument("file", required=False, type=click.File("rb"))
@base.option("--from CLIENTS", f"Of these assistants alone: {','.join(CLIENTS)}.", to="clients",
             callback=as_clients)  # fmt: skip
@base.option("--since TIME", "Only sessions that changed since: 36h, 30d, 8w.", type=base.ago)
@base.flag("--all-projects", "Not only those of the repository you are in.", to="everywhere")
@base.flag("--dry-run", "Only say how much there is.")
def import_(
    *, file: BinaryIO | None, clients: tuple[str, ...] | None, since: datetime | None,
    everywhere: bool, dry_run: bool, workspace: Workspace,
) -> None:  # fmt: skip
    """Bring in the past sessions of your assistants; or with FILE, exported sessions of KDS.

    Sessions of assistants are kept in your own folder, for all their clients; from then on their
    hooks keep it current. Of FILE (JSON; `-` reads it from a pipe) the whole is examined before
    anything is stored; a session whose id is here already is added beside it, with a new id. An
    import of several that was cut off goes on where it stopped.
    """
    if file is None:
        names = clients or CLIENTS
        say(*bring_in(workspace, names, since, everywhere=everywhere, dry_run=dry_run))
        return
    if clients or since or everywhere or dry_run:
        raise Refusal("these options are for sessions of assistants", "leave FILE out")
    archives = from_json(file.read(), where=file.name)
    with base.changing(memory_of(workspace)) as store, slow("importing") as tell:
        whole = [is_whole(store, one) for one in archives]
        restored = []
        for one, done in zip(archives, whole, strict=True):
            there = done and not all(whole)  # it was cut off behind this one
            restored.append(store.session(one.session.id) if there else store.restore(one))
            tell("importing", len(restored), len(archives))
        same = checksum(archive(store, one.id) for one in restored)
    messages = sum(session.message_count for session in restored)
    counts = f"{counted(len(restored), 'session')}, {counted(messages, 'message')}"
    say(
        {"sessions": map(out.session_dict, restored), "checksum": same},
        out.session_table(restored),
        f"\nimported {counts}, checksum {same}",
    )


def bring_in(
    workspace: Workspace, clients: Sequence[str] = CLIENTS, since: datetime | None = None,
    *, everywhere: bool = False, dry_run: bool = False,
) -> tuple[dict[str, Any], Iterator[Shown]]:  # fmt: skip
    """Import what is new in the sessions of assistants; returns how much that was, for `say`."""
    keep_days = load_settings(workspace).assistants.keep_days
    embedder = None if dry_run else base.search_embedder(workspace)
    with _opened(workspace) as (memory, folder), slow("reading sessions") as tell:
        report = importing.bring_in(
            memory, folder, clients=clients, since=since, everywhere=everywhere,
            keep_days=keep_days, embedder=embedder, dry_run=dry_run, tell=tell,
        )  # fmt: skip

    def lines() -> Iterator[Shown]:
        pass_on(report.problems)
        rows = [(name, count, report.messages[name]) for name, count in report.sessions.items()]
        yield Table(("client", "sessions", "messages"), rows, "nothing new")
        done = "would be imported" if dry_run else "imported"
        new, same = counted(report.messages.total(), "message"), report.unchanged
        yield f"\n{new} {done}, {counted(same, 'session')} unchanged"
        if report.expired:
            yield f"forgot {counted(report.expired, 'session')} unused for {keep_days:,} days"
        if report.elsewhere and not everywhere:
            yield f"{counted(report.elsewhere, 'session')} of other projects: --all-projects"
        if report.waiting:
            yield f"{counted(report.waiting, 'passage')} found by words alone; import again"

    told = fields(report, "sessions messages unchanged forgotten expired problems")
    told |= {"other_projects": report.elsewhere, "waiting_for_vectors": report.waiting}
    return told | {"all_projects": everywhere, "dry_run": dry_run}, lines()


@base.command("kds memory sources", "kds memory sources --exclude ~/private")
@base.option("--exclude PATH", "First forget sessions in PATH, and import none again.",
             type=base.PATH)  # fmt: skip
@base.option("--include PATH", "First let sessions in PATH be imported again.", type=base.PATH)
def sources(*, exclude: Path | None, include: Path | None, workspace: Workspace) -> None:
    """List which assistants' sessions are kept, where, and what could not be read."""
    keep_days, gone = load_settings(workspace).assistants.keep_days, 0
    with _opened(workspace) as (memory, _):
        if include is not None:
            memory.include(str(include.expanduser().resolve()))
        if exclude is not None:
            with slow("deleting"):
                gone = memory.exclude(str(exclude.expanduser().resolve()))
        rows: list[dict[str, Any]] = [
            {"project": one.name, "folder": one.folder,
             "sessions": Counter(each.client for each in kept),
             "messages": sum(each.session.message_count for each in kept),
             "size_bytes": memory.size_of(one)}
            for one, kept in memory.kept()
        ]  # fmt: skip
        unread, excluded, place = memory.unread(), memory.excluded(), str(memory)
    table = [
        (one["project"], out.counts_line(one["sessions"]), one["messages"],
         out.mebibytes(one["size_bytes"]))
        for one in rows
    ]  # fmt: skip
    report = {"projects": rows, "excluded": excluded, "problems": unread, "forgotten": gone}
    say(
        report | {"path": place, "keep_days": keep_days},
        f"forgot {counted(gone, 'session')}" if exclude else None,
        Table(("project", "sessions", "messages", "size"), table, NOTHING),
        [("excluded", path) for path in excluded],
        [("not read", problem) for problem in unread],
        ("\nkept in", f"{place}{f', for {keep_days:,} days' if keep_days else ''}"),
    )


def forget(
    workspace: Workspace, names: Sequence[str], clients: Sequence[str] | None,
    project: str | None, before: datetime | None, *, yes: bool,
) -> tuple[dict[str, Any], Table, str | None]:  # fmt: skip
    """Delete sessions of assistants, down to their bytes; returns which, for `say`.

    ``names`` are the beginnings of ids; none stand for all. Without ``yes`` it only tells.
    """

    def goes(kept: Kept) -> bool:
        return (
            (clients is None or kept.client in clients)
            and (before is None or kept.session.updated_at < before)
            and (not names or kept.name.startswith(tuple(names)))
        )

    with _opened(workspace) as (memory, folder):
        wanted = set(_projects(memory, folder, None if project == "." else project or "all"))
        found = [(one, kept) for one, kept in memory.kept(goes) if one in wanted]
        count = sum(len(kept) for _, kept in found)
        if names and not count:
            hint = "kds memory sources; kds recall names ids"
            raise Refusal(f"no session '{names[0]}' is kept", hint)
        if yes:
            with slow("deleting"):
                memory.forget_alone(found)
    rows = [(each.client, one.name, each.session.updated_at, each.session.title)
            for one, kept in found for each in kept]  # fmt: skip
    told = counted(count, "session")
    end = f"\nforgot {told}" if yes else f"\nwould forget {told}; --yes does it"
    ids = [each.session.id for _, kept in found for each in kept]
    table = Table(("client", "project", "last", "title"), rows, "no such session")
    return {"sessions": ids, "dry_run": not yes}, table, end if count else None
