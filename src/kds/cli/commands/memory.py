"""`kds memory`: the sessions that are remembered; how much there is, and its upkeep."""

import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, Final, TextIO

import click

from kds.api.embeddings import embed_waiting
from kds.api.session_names import LAST, NOTHING, all_sessions, find_session
from kds.brain.clock import utc_now
from kds.brain.documents.store import DocumentPlace
from kds.brain.documents.values import Holdings
from kds.brain.errors import StoreError
from kds.brain.files import replace_private
from kds.brain.memory.export import (
    archive,
    checksum,
    from_json,
    stream_json,
    to_json,
    to_markdown,
)
from kds.brain.memory.memory_store import MemoryPlace
from kds.brain.memory.metrics import log_recall
from kds.brain.memory.records import Archive, Session, Stats
from kds.brain.passages.assembly import Assembled, assemble
from kds.brain.passages.embedding_queue import EmbeddingQueue
from kds.brain.passages.recall import Hit, Recall, recall, recall_settings
from kds.brain.passages.values import EmbeddingModel, Scope
from kds.brain.settings import load_settings
from kds.brain.workspace import Workspace
from kds.cli.command import asked_json, command, flag, group, option
from kds.cli.commands.profile import consent, profile
from kds.cli.guard import TESTS_FAILED, Refusal, pass_on
from kds.cli.options import (
    COUNT,
    STDIN,
    NamedPath,
    changing,
    check_target,
    chosen_embedder,
    common_options,
    embeddings_option,
    looking,
    read_span,
    search_embedder,
)
from kds.cli.output import (
    SHOWN_ID,
    counted,
    fields,
    mebibytes,
    print_json,
    print_line,
    print_lines,
    print_sessions,
    print_table,
    say,
    session_dict,
)
from kds.cli.progress import reported, slow, tracked
from kds.cli.terminal import shown

SMALL_CHARS: Final = 1_000_000
"""A smaller export is read whole, so that all its problems are reported."""

MARKDOWN: Final = "markdown"
_RULE: Final = "\n---\n\n"
"""Between two sessions in one Markdown file."""

SEARCHING: Final = "searched: kds memory search"
"""Use of the profile, in the audit log of the consent."""

EMPTY: Final = Stats(0, 0, 0, 0, 0, (), 0, 0)
NO_DOCUMENTS: Final = Holdings(0, 0, 0, 0, 0, 0)

_MESSAGE: Final = "id seq role speaker at tokens content"
_SUMMARY: Final = "first_seq last_seq kind at text"

session_argument = click.argument("name", metavar="SESSION")
yes_option = flag("--yes", "Do it; without this it is only shown.")


@group(
    "kds memory show",
    "kds memory search 'which port does staging use'",
    "kds memory export last --format markdown",
    closing="More: kds help memory-cli",
)
def memory() -> None:
    """Search, show, export and look after the sessions that are remembered."""


memory.add_command(profile)
memory.add_command(consent)


@command(
    "kds memory search 'which port does staging use'",
    "kds memory search getUserName --session last --limit 3",
    "kds memory search 'retry policy' --explain",
    "kds memory search 'retry policy' --budget 500",
    of=memory,
)
@click.argument("words", metavar="QUERY", nargs=-1, required=True)
@option("--session SESSION", "Search this one first, the others only when it has too little.",
        to="name")  # fmt: skip
@option("--document NAME", "Prefer sessions about this document.")
@option("--limit N", "Most hits.", default=10, type=click.IntRange(1, 200))
@option("--budget TOKENS", "Put the hits together as context of at most so many tokens.",
        type=COUNT)  # fmt: skip
@flag("--explain", "Also say why each hit was found, and how long each stage took.")
@embeddings_option
@common_options
def search(
    *, words: tuple[str, ...], name: str | None, document: str | None, limit: int,
    budget: int | None, explain: bool, embeddings: str | None, workspace: Workspace,
) -> None:  # fmt: skip
    """Find what was said about QUERY, in the words and names of it, and by meaning.

    The service makes the vectors for that, and `kds memory check --backfill`.
    """
    query = " ".join(words)
    if not query.strip():
        raise Refusal("the question is empty", "say what to look for: kds memory search WORDS")
    embedder = search_embedder(embeddings, workspace)
    with looking(MemoryPlace.of(workspace)) as store:
        session = find_session(store, name) if name else None
        if store is None:
            empty: dict[str, object] = {key: [] for key in ("hits", "profile", "summaries")}
            none = {"query": query, **empty, "counts": {}, "timings_ms": {}, "notes": [NOTHING]}
            say(none, NOTHING)
            return
        with slow("searching the memory"):
            found = recall(
                store, query, scope=Scope(session.id if session else None, document), limit=limit,
                settings=recall_settings(load_settings(workspace).recall), embedder=embedder,
                now=utc_now(),
            )  # fmt: skip
        context = assemble(query, found.hits, budget_tokens=budget) if budget else None
        used = context.tokens if context else None
        found = log_recall(store, found, surface="cli", budget_tokens=budget, used_tokens=used)
        ids = dict.fromkeys(hit.passage.session_id for hit in found.hits)
        sessions = {one: kept for one in ids if (kept := store.find_session(one)) is not None}
        known = store.profile.matching(found.question, SEARCHING, vector=found.vector)
    if asked_json():
        told = _recall_dict(query, found, sessions) | {"profile": list(known)}
        print_json(told | ({"context": _context_dict(context)} if context else {}))
        return
    print_lines(("profile", line) for line in known)
    pass_on(found.notes)
    if context is None:
        _print_hits(found, sessions, explain=explain)
    else:
        pass_on(context.notes)
        click.echo(context.text or "nothing was found")
    if explain:
        if context is not None:
            print_line("\ntokens", f"{context.tokens} of {context.budget_tokens}")
        counts = ", ".join(f"{source} {count}" for source, count in found.counts.items())
        print_line("candidates", counts or "none")
        print_line("ms", ", ".join(f"{stage} {ms:.1f}" for stage, ms in found.timings_ms.items()))


def _recall_dict(query: str, found: Recall, sessions: Mapping[str, Session]) -> dict[str, Any]:
    return {
        "query": query,
        "hits": [_hit_dict(hit, sessions.get(hit.passage.session_id)) for hit in found.hits],
        "summaries": [
            {"session": summary.session_id, **fields(summary, "first_seq last_seq text"),
             "score": round(score, 4)}
            for summary, score in found.summaries
        ],
        "notes": list(found.notes),
        "counts": dict(found.counts),
        "timings_ms": {stage: round(ms, 3) for stage, ms in found.timings_ms.items()},
    }  # fmt: skip


def _hit_dict(hit: Hit, session: Session | None) -> dict[str, Any]:
    passage, parts = hit.passage, hit.parts
    return {
        "session": passage.session_id,
        "title": session.title if session else "",
        "message": passage.message_id,
        **fields(passage, "role speaker at kind header"),
        "text": passage.body,
        "tokens": passage.tokens,
        "score": round(hit.score, 4),
        "scores": {
            "dense": None if parts.dense is None else round(parts.dense, 4),
            "lexical": round(parts.lexical, 4),
            "code": round(parts.code, 4),
        },
        "elsewhere": hit.elsewhere,
        "why": list(hit.why),
    }


def _context_dict(context: Assembled) -> dict[str, Any]:
    counts = {"used": len(context.used), "left_out": len(context.left_out)}
    return fields(context, "text tokens budget_tokens") | counts


def _print_hits(found: Recall, sessions: Mapping[str, Session], *, explain: bool) -> None:
    for summary, _ in found.summaries:
        click.echo(f"summary of messages {summary.first_seq}-{summary.last_seq}: {summary.text}\n")
    for number, hit in enumerate(found.hits, start=1):
        passage, parts = hit.passage, hit.parts
        session = sessions.get(passage.session_id)
        title = f" '{session.title}'" if session and session.title else ""
        elsewhere = ", another session" if hit.elsewhere else ""
        said = f"{passage.speaker or passage.role}, {shown(passage.at)}{elsewhere}"
        click.echo(f"{number}. {hit.score:.2f}  {passage.session_id[:SHOWN_ID]}{title}, {said}")
        for line in passage.body.strip().splitlines():
            click.echo(f"   {line}")
        if explain:
            print_lines(("   why", reason) for reason in hit.why)
            dense = "-" if parts.dense is None else f"{parts.dense:.2f}"
            scores = f"meaning {dense}, words {parts.lexical:.2f}, names {parts.code:.2f}"
            print_line("   scores", scores)
        click.echo()
    if not found.hits:
        click.echo("nothing was found")


@command(
    "kds memory show",
    "kds memory show last",
    "kds memory show 'Add a FAB button' --last 10 --json",
    of=memory,
)
@click.argument("name", metavar="[SESSION]", required=False)
@option("--last N", "Only the last N messages.", type=COUNT)
@option("--limit N", "Sessions to list.", default=20, type=COUNT)
@option("--offset N", "Sessions to skip.", default=0, type=click.IntRange(min=0))
@common_options
def show(
    *, name: str | None, last: int | None, limit: int, offset: int, workspace: Workspace
) -> None:
    """List the sessions, the one changed last first; or print SESSION with its messages.

    SESSION is an id or the beginning of one, a title or a part of it, or `last`.
    """
    with looking(MemoryPlace.of(workspace)) as store:
        if name is None:
            sessions = store.sessions(limit=limit, offset=offset) if store else ()
            say([session_dict(one) for one in sessions], lambda: print_sessions(sessions))
            return
        session = find_session(store, name)
        assert store is not None  # or find_session would have refused
        messages = store.messages(session.id, last=last)
        summaries = store.summaries(session.id)
        known = store.entities.load(session.id)
    terms = known.terms if known else ()
    if asked_json():
        print_json(session_dict(session) | {
            "messages": [fields(message, _MESSAGE) for message in messages],
            "summaries": [fields(summary, _SUMMARY) for summary in summaries],
            "terms": [fields(term, "term snippet turn") for term in terms],
        })  # fmt: skip
        return
    size = counted(session.message_count, "message")
    print_lines((
        ("session", session.id),
        ("title", session.title or "(none yet)"),
        *(("document", document) for document in session.documents),
        ("begun", shown(session.created_at)),
        ("changed", shown(session.updated_at)),
        ("holds", f"{size}, about {counted(session.token_count, 'token')}"),
        *(("term", f"{one.term}: {one.snippet}" if one.snippet else one.term) for one in terms),
    ))  # fmt: skip
    for summary in summaries:
        click.echo(f"\nsummary of {summary.first_seq}-{summary.last_seq}: {summary.text}")
    for message in messages:
        speaker = f" ({message.speaker})" if message.speaker else ""
        click.echo(f"\n{message.seq} {message.role}{speaker} {shown(message.at)}")
        click.echo(message.content)


@command("kds memory rename last 'Dark mode'", of=memory)
@session_argument
@click.argument("title")
@option("--document NAME", "Also say which document it is about, or several; '': none.",
        to="documents", multiple=True)  # fmt: skip
@common_options
def rename(*, name: str, title: str, documents: tuple[str, ...], workspace: Workspace) -> None:
    """Give SESSION the TITLE; no later message changes it."""
    with looking(MemoryPlace.of(workspace)) as store:
        session = find_session(store, name)
        assert store is not None  # or find_session would have refused
        renamed = store.rename(session.id, title)
        if documents:
            renamed = store.set_document(session.id, "\n".join(documents))
    say(session_dict(renamed), f"{renamed.id[:SHOWN_ID]} is now '{renamed.title}'")


@command("kds memory delete 'Dark mode'", "kds memory delete 3f2a91c0 --yes", of=memory)
@click.argument("names", metavar="SESSION...", nargs=-1, required=True)
@yes_option
@common_options
def delete(*, names: tuple[str, ...], yes: bool, workspace: Workspace) -> None:
    """Delete sessions with all they hold, down to their bytes on disk.

    Without --yes it only says what would go. Only an export brings a session back.
    """
    with looking(MemoryPlace.of(workspace)) as store:
        sessions = tuple(dict.fromkeys(find_session(store, name) for name in names))
        if yes and store is not None:
            for session in tracked(sessions, "deleting"):
                store.delete_session(session.id)
    _show_deleted(sessions, done=yes)


@command(
    "kds memory cleanup --older-than 30d", "kds memory cleanup --older-than 30d --yes", of=memory
)
@option("--older-than TIME", "Sessions unused for this long: 36h, 30d, 8w.", to="age",
        required=True)  # fmt: skip
@yes_option
@common_options
def cleanup(*, age: str, yes: bool, workspace: Workspace) -> None:
    """Delete the sessions that were not used for a while.

    Without --yes it only says what would go.
    """
    span = read_span(age)
    with looking(MemoryPlace.of(workspace)) as store, slow("looking for old sessions"):
        sessions = store.cleanup(span, dry_run=not yes).sessions if store else ()
    _show_deleted(sessions, done=yes)


def _show_deleted(sessions: tuple[Session, ...], *, done: bool) -> None:
    messages = sum(session.message_count for session in sessions)
    if asked_json():
        listed = [session_dict(session) for session in sessions]
        print_json({"sessions": listed, "messages": messages, "dry_run": not done})
    elif not sessions:
        click.echo("no session is that old")
    else:
        print_sessions(sessions)
        counts = f"{counted(len(sessions), 'session')}, {counted(messages, 'message')}"
        click.echo(f"\ndeleted {counts}" if done else f"\nwould delete {counts}; --yes does it")


@command(
    "kds memory export last --format markdown",
    "kds memory export 'Dark mode' --to dark-mode.json",
    "kds memory export --all --to memory.json",
    of=memory,
)
@click.argument("names", metavar="[SESSION]...", nargs=-1)
@flag("--all", "Every session.", to="everything")
@click.option("--format", "form", type=click.Choice(["json", MARKDOWN]), default="json",
              help="JSON to import again, or Markdown to read.  [default: json]")  # fmt: skip
@option("--to FILE", "Write it there, readable by you alone.  [default: print it]", to="target",
        type=NamedPath(dir_okay=False))  # fmt: skip
@flag("--force", "Replace FILE if it exists.")
@common_options
def export(
    *, names: tuple[str, ...], everything: bool, form: str, target: Path | None, force: bool,
    workspace: Workspace,
) -> None:  # fmt: skip
    """Write sessions as JSON or Markdown.

    With --to it says what was written; --json says it as JSON.
    """
    if bool(names) == everything:
        raise Refusal("name the sessions to export", "SESSION..., or --all for every one")
    if target is None and asked_json() and form == MARKDOWN:
        raise Refusal("--json does not go with Markdown on stdout", "add --to FILE")
    if target is not None:
        if target.exists() and not force:
            raise Refusal(f"'{target}' exists already", "name another one, or add --force")
        check_target(target)
    with looking(MemoryPlace.of(workspace)) as store:
        chosen = all_sessions(store)[::-1] if everything and store else ()  # the oldest first
        chosen += tuple(find_session(store, name) for name in dict.fromkeys(names))
        told = tracked(chosen, "exporting") if store else ()
        archives = [archive(store, session.id) for session in told] if store else []
    text = _RULE.join(map(to_markdown, archives)) if form == MARKDOWN else to_json(archives)
    if target is None:
        click.echo(text, nl=False)
        return
    replace_private(target, text.encode())
    messages, total = sum(len(found.messages) for found in archives), checksum(archives)
    counts = f"{counted(len(archives), 'session')}, {counted(messages, 'message')}"
    say(
        {"sessions": len(archives), "messages": messages, "checksum": total, "path": str(target)},
        f"{counts} in {target}, checksum {total}",
    )


@command(
    "kds memory import memory.json",
    "kds memory export --all --workspace ~/shop | kds memory import -",
    of=memory,
    name="import",
)
@click.argument("file", type=NamedPath(allow_dash=True))
@flag("--skip-known", "Leave out sessions whose id is here already.")
@common_options
def import_(*, file: Path, skip_known: bool, workspace: Workspace) -> None:
    """Put exported sessions back, as they were; FILE is JSON, `-` reads it from a pipe.

    A session whose id is here already is added beside it, as a copy with a new id. The whole file
    is examined before anything is stored.
    """
    where = "stdin" if str(file) == STDIN else str(file)
    with _opened(file) as text:
        ids = [one.session.id for one in _archives(text, where)]
        with changing(MemoryPlace.of(workspace)) as store:
            known = {one for one in ids if skip_known and store.find_session(one)}
            restored = [
                store.restore(found)
                for found in tracked(_archives(text, where), "importing", count=len(ids))
                if found.session.id not in known
            ]
            total = checksum(archive(store, session.id) for session in restored)
    if asked_json():
        print_json({"sessions": [session_dict(one) for one in restored], "checksum": total})
        return
    if restored:
        print_sessions(restored)
        click.echo()
    messages = sum(session.message_count for session in restored)
    counts = f"{counted(len(restored), 'session')}, {counted(messages, 'message')}"
    click.echo(f"imported {counts}, checksum {total}")


@contextmanager
def _opened(file: Path) -> Iterator[TextIO]:
    """Open an export to be read twice; a pipe is copied to a file without a name first."""
    if str(file) == STDIN:
        if sys.stdin is None:
            raise Refusal("there is no input to read", "pipe an export in")
        with TemporaryFile("w+", encoding="utf-8") as text:
            shutil.copyfileobj(sys.stdin, text)
            yield text
        return
    hint = "check the file and its rights"
    try:
        text = file.open(encoding="utf-8-sig")
    except OSError as error:
        raise StoreError(f"cannot be read: {error.strerror}", where=str(file), hint=hint) from error
    with text:
        try:
            yield text
        except UnicodeDecodeError as error:
            raise StoreError("is not UTF-8 text", where=str(file), hint=hint) from error


def _archives(text: TextIO, where: str) -> Iterable[Archive]:
    """The sessions of an export: of a small one all at once, with each of its problems."""
    text.seek(0)
    head = text.read(SMALL_CHARS)
    if len(head) < SMALL_CHARS:
        return from_json(head, where=where)
    text.seek(0)
    return stream_json(text, where=where)


@command("kds memory summarize", "kds memory summarize 'Dark mode' --json", of=memory)
@click.argument("name", metavar="[SESSION]", default=LAST)
@common_options
def summarize(*, name: str, workspace: Workspace) -> None:
    """Summarize now what was said in SESSION since its last summary.

    Without SESSION it is the last one. A model writes the summary if there is one (settings
    memory.summaries); else it is made of the session's own sentences.
    """
    from kds.agents.summarizer import settings_summarizer  # the others need no model
    from kds.brain.memory.memory import ConversationMemory, Tools
    from kds.router.prompts.library import PromptLibrary

    with looking(MemoryPlace.of(workspace)) as store:
        session = find_session(store, name)
    settings = load_settings(workspace)
    library = PromptLibrary.load(workspace.prompts_dir)
    memory = ConversationMemory.open(
        workspace, Tools(find_summarizer=lambda: settings_summarizer(settings.model, library))
    )
    if not memory.flags.enabled or settings.memory.summaries == "off":
        raise Refusal("summaries are off", "set memory.enabled and memory.summaries (kds config)")
    with closing(memory), slow("summarizing"):
        made = memory.summarise_now(session.id)
    told = "No summary: nothing was said since the last one."
    if made is not None:
        told = f"summary of {made.first_seq}-{made.last_seq}: {made.text}"
    say({"session": session.id, "summary": fields(made, _SUMMARY) if made else None}, told)


@command(
    "kds memory check --json",
    "kds memory check --rebuild",
    "kds memory check --backfill --embeddings langchain_ollama:OllamaEmbeddings",
    of=memory,
)
@flag("--rebuild", "First make the search indexes anew.")
@flag("--backfill", "First give every part and passage that has none its vector, for recall by "
      "meaning. It goes on where it stopped.")  # fmt: skip
@flag("--off", "With --backfill: want no vectors any more; those there are stay.")
@embeddings_option
@common_options
def check(
    *, rebuild: bool, backfill: bool, off: bool, embeddings: str | None, workspace: Workspace
) -> int:
    """Examine memory and documents, and say what they hold; exit code 1 when something is wrong.

    With another embedding model than before, the old vectors serve until the new ones are
    complete.
    """
    if (off or embeddings) and not backfill:
        raise Refusal(f"{'--off' if off else '--embeddings'} is for vectors", "add --backfill")
    if off and embeddings:
        raise Refusal("--off and --embeddings exclude each other", "give one of them")
    embedder = None if off or not backfill else chosen_embedder(embeddings, workspace)
    if backfill and not off and embedder is None:
        raise Refusal("the embedding model is off", "name one: --embeddings shipped")
    place, given, held, embedded = MemoryPlace.of(workspace), False, NO_DOCUMENTS, 0
    gone: list[str] = []
    models: Iterable[EmbeddingModel] = ()
    with looking(place) as store, looking(DocumentPlace.of(workspace)) as documents:
        stores = [one for one in (store, documents) if one is not None]
        if backfill:
            embedded = sum(_backfilled(one, embedder) for one in stores)
        with slow("examining memory and documents"):
            found = [one.rebuild() if rebuild else one.check() for one in stores]
            problems = [problem for one in found for problem in one.problems]
            stats = store.stats() if store else EMPTY
            given = bool(store and store.profile.consent().given)
            if documents is not None:
                held, models = documents.holdings(), documents.models()
                paths = (one.path for one in documents.documents())
                gone = [path for path in paths if not Path(path).exists()]
    names = "sessions messages tokens chunks summaries size_bytes schema_version"
    documents_held = fields(held, "documents sections chunks tokens size_bytes")
    documents_held |= {"gone": gone, "models": _model_dicts(models)}
    report = {
        "sound": not problems, "problems": problems, "path": str(place), **fields(stats, names),
        "models": _model_dicts(stats.models), "profile_consent": given, "documents": documents_held,
    } | ({"embedded": embedded} if backfill else {})  # fmt: skip
    say(report, lambda: _print_check(report, held))
    return TESTS_FAILED if problems else 0


def _backfilled(store: EmbeddingQueue, embedder: Any) -> int:
    """Make the vectors that wait, or want none any more; how many were made."""
    store.use_model(embedder.name if embedder else None)
    if embedder is None:
        return 0
    store.retry_embeddings()
    with reported("embedding") as tell:
        return embed_waiting(store, embedder, tell=tell)


def _print_check(report: Mapping[str, Any], held: Holdings) -> None:
    for problem in report["problems"]:
        click.echo(problem)
    if "embedded" in report:
        made = report["embedded"]
        click.echo(f"{made:,} vectors made" if made else "there was nothing to do")
    else:
        for path in report["documents"]["gone"]:
            click.echo(f"the file of a document is gone: {path}")
        if report["sound"]:
            click.echo("the memory is in order")
        names = ("sessions", "messages", "tokens", "chunks", "summaries")
        rows = [(name, f"{report[name]:,}") for name in names]
        rows += [
            ("documents", f"{held.documents:,}"),
            ("size", mebibytes(report["size_bytes"] + held.size_bytes)),
            ("profile", "kept, with consent" if report["profile_consent"] else "no consent"),
        ]
        click.echo()
        print_table(("in the memory", ""), rows)
        print_line("\nkept in", f"{report['path']} (schema {report['schema_version']})")
    for model in report["models"]:
        failed = f", {model['failed']:,} given up" if model["failed"] else ""
        made = f"{model['vectors']:,} made, {model['waiting']:,} waiting{failed}"
        print_line("vectors", f"{model['name']}: {made}; {model['state']}")


def _model_dicts(models: Iterable[EmbeddingModel]) -> list[dict[str, Any]]:
    return [fields(one, "name dimensions state vectors waiting failed") for one in models]
