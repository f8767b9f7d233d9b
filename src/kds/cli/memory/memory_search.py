"""`kds memory search`: what past conversations say about a question."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import click

import kds
from kds.api.session_names import NOTHING, find_session
from kds.brain.clock import utc_now
from kds.brain.passages.assembly import Assembled, assemble
from kds.brain.passages.recall import recall
from kds.brain.passages.recalled import Hit, Recall, recall_settings
from kds.brain.passages.values import Scope
from kds.brain.sessions.memory_place import MemoryPlace
from kds.brain.sessions.memory_store import MemoryStore
from kds.brain.sessions.metrics import log_recall
from kds.brain.sessions.session_values import Session
from kds.brain.workspace import Workspace
from kds.cli.command import asked_json, command
from kds.cli.completion import completed_by
from kds.cli.guard import Refusal, complain, pass_on
from kds.cli.memory.session_commands import SHOWN_ID
from kds.cli.options import common_options
from kds.cli.output import fields, print_json, print_line, say
from kds.cli.palette import shown
from kds.cli.progress import slow
from kds.cli.stores import embeddings_option, looking, search_embedder

SURFACE: Final = "cli"

SEARCHING: Final = "searched: kds memory search"
"""What the audit log of the consent says."""


@command(
    "kds memory search 'which port does staging use'",
    "kds memory search getUserName --session last --limit 3",
    "kds memory search 'retry policy' --explain",
    "kds memory search 'retry policy' --budget 500",
)
@click.argument("words", metavar="QUERY", nargs=-1, required=True)
@click.option("--session", "name", metavar="SESSION", shell_complete=completed_by("sessions"),
              help="Search this one first, the others only when it has too little.")  # fmt: skip
@click.option("--document", metavar="NAME", help="Prefer sessions about this document.")
@click.option("--limit", type=click.IntRange(min=1, max=200), metavar="N", default=10,
              help="Most hits.  [default: 10]")  # fmt: skip
@click.option("--budget", type=click.IntRange(min=1), metavar="TOKENS",
              help="Put the hits together as context of at most so many tokens.")  # fmt: skip
@click.option("--explain", is_flag=True, help="Also say why each hit was found, and how long "
              "each stage took.")  # fmt: skip
@embeddings_option
@common_options
def search(
    *, words: tuple[str, ...], name: str | None, document: str | None, limit: int,
    budget: int | None, explain: bool, embeddings: str | None, workspace: Workspace,
) -> None:  # fmt: skip
    """Find what was said about QUERY, in the words and names of it, and by meaning.

    By meaning only with an embedding model; `kds memory backfill` makes the vectors.
    """
    query = " ".join(words)
    if not query.strip():
        raise Refusal("the question is empty", "say what to look for: kds memory search WORDS")
    options = kds.load_settings(workspace).recall
    embedder = search_embedder(embeddings, workspace)
    with looking(MemoryPlace.of(workspace)) as store:
        session = find_session(store, name) if name else None
        if store is None:
            empty: dict[str, object] = {
                "hits": [],
                "profile": [],
                "summaries": [],
                "counts": {},
                "timings_ms": {},
            }
            say({"query": query, **empty, "notes": [NOTHING]}, NOTHING)
            return
        with slow("searching the memory"):
            found = recall(
                store,
                query,
                scope=Scope(session.id if session else None, document),
                limit=limit,
                settings=recall_settings(options),
                embedder=embedder,
                now=utc_now(),
            )
        context = assemble(query, found.hits, budget_tokens=budget) if budget else None
        found = log_recall(
            store,
            found,
            surface=SURFACE,
            budget_tokens=budget,
            used_tokens=context.tokens if context else None,
        )
        sessions = _sessions_of(store, found)
        profile = store.profile.matching(found.question, SEARCHING, vector=found.vector)
    if asked_json():
        more = {"context": _context_dict(context)} if context else {}
        print_json(recall_dict(query, found, sessions) | {"profile": list(profile)} | more)
        return
    _print_profile(profile)
    if context is not None:
        _print_context(found, context, explain=explain)
    else:
        _print(found, sessions, explain=explain)


def recall_dict(query: str, found: Recall, sessions: Mapping[str, Session]) -> dict[str, Any]:
    """The JSON form of a recall."""
    return {
        "query": query,
        "hits": [hit_dict(hit, sessions.get(hit.passage.session_id)) for hit in found.hits],
        "summaries": [
            {"session": summary.session_id, "first_seq": summary.first_seq,
             "last_seq": summary.last_seq, "text": summary.text, "score": round(score, 4)}
            for summary, score in found.summaries
        ],
        "notes": list(found.notes),
        "counts": dict(found.counts),
        "timings_ms": {stage: round(ms, 3) for stage, ms in found.timings_ms.items()},
    }  # fmt: skip


def hit_dict(hit: Hit, session: Session | None) -> dict[str, Any]:
    """The JSON form of a hit: what was said, where, and its score from each search."""
    passage = hit.passage
    return {
        "session": passage.session_id,
        "title": session.title if session else "",
        "message": passage.message_id,
        **fields(passage, "role speaker at kind header"),
        "text": passage.body,
        "tokens": passage.tokens,
        "score": round(hit.score, 4),
        "scores": {
            "dense": None if hit.parts.dense is None else round(hit.parts.dense, 4),
            "lexical": round(hit.parts.lexical, 4),
            "code": round(hit.parts.code, 4),
        },
        "elsewhere": hit.elsewhere,
        "why": list(hit.why),
    }


def _print_profile(lines: Sequence[str]) -> None:
    for line in lines:
        print_line("profile", line)


def _sessions_of(store: MemoryStore, found: Recall) -> dict[str, Session]:
    ids = dict.fromkeys(hit.passage.session_id for hit in found.hits)
    return {name: session for name in ids if (session := store.find_session(name)) is not None}


def _context_dict(context: Assembled) -> dict[str, Any]:
    counts = {"used": len(context.used), "left_out": len(context.left_out)}
    return fields(context, "text tokens budget_tokens") | counts


def _print_context(found: Recall, context: Assembled, *, explain: bool) -> None:
    for note in (*found.notes, *context.notes):
        complain(note)
    click.echo(context.text or "nothing was found")
    if explain:
        click.echo()
        print_line("tokens", f"{context.tokens} of {context.budget_tokens}")
        _print_work(found)


def _print(found: Recall, sessions: Mapping[str, Session], *, explain: bool) -> None:
    pass_on(found.notes)
    for summary, _ in found.summaries:
        click.echo(f"summary of messages {summary.first_seq}-{summary.last_seq}: {summary.text}\n")
    for number, hit in enumerate(found.hits, start=1):
        _print_hit(number, hit, sessions.get(hit.passage.session_id), explain=explain)
    if not found.hits:
        click.echo("nothing was found")
    if explain:
        _print_work(found)


def _print_hit(number: int, hit: Hit, session: Session | None, *, explain: bool) -> None:
    passage = hit.passage
    title = f" '{session.title}'" if session and session.title else ""
    elsewhere = ", another session" if hit.elsewhere else ""
    said = f"{passage.speaker or passage.role}, {shown(passage.at)}"
    click.echo(
        f"{number}. {hit.score:.2f}  {passage.session_id[:SHOWN_ID]}{title}, {said}{elsewhere}"
    )
    for line in passage.body.strip().splitlines():
        click.echo(f"   {line}")
    if explain:
        for reason in hit.why:
            print_line("   why", reason)
        dense = "-" if hit.parts.dense is None else f"{hit.parts.dense:.2f}"
        print_line(
            "   scores",
            f"meaning {dense}, words {hit.parts.lexical:.2f}, names {hit.parts.code:.2f}",
        )
    click.echo()


def _print_work(found: Recall) -> None:
    counts = ", ".join(f"{source} {count}" for source, count in found.counts.items())
    print_line("candidates", counts or "none")
    times = ", ".join(f"{stage} {ms:.1f}" for stage, ms in found.timings_ms.items())
    print_line("ms", times)
