"""`kds memory`: the sessions that are remembered; how much there is, and its upkeep."""

import dataclasses
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any, Final, Literal

import click

from kds.api.embeddings import embed_waiting, load_embedder, model_name
from kds.api.session_names import LAST, NOTHING, all_sessions, find_session
from kds.brain.clock import utc_now
from kds.brain.documents.store import DocumentPlace
from kds.brain.documents.values import Holdings
from kds.brain.files import replace_private
from kds.brain.memory.export import archive, checksum, to_json, to_markdown
from kds.brain.memory.memory_store import MemoryPlace, MemoryStore
from kds.brain.memory.metrics import log_recall
from kds.brain.memory.records import Consent, Profile, Session, Stats
from kds.brain.passages.assembly import Assembled, assemble
from kds.brain.passages.embedding_queue import EmbeddingQueue
from kds.brain.passages.recall import Hit, recall, recall_settings
from kds.brain.passages.values import Scope
from kds.brain.settings import load_settings
from kds.brain.workspace import Workspace
from kds.cli.command import asked_json, command, flag, group, option
from kds.cli.commands.recall import exclude, forget, import_, join, sources
from kds.cli.guard import TESTS_FAILED, Refusal, complain, pass_on
from kds.cli.options import (
    COUNT,
    FILE,
    changing,
    check_target,
    chosen_embedder,
    common_options,
    embeddings_option,
    looking,
    question_argument,
    read_span,
    search_embedder,
)
from kds.cli.output import (
    SHOWN_ID,
    Shown,
    Table,
    counted,
    fields,
    hit_lines,
    mebibytes,
    say,
    session_dict,
    session_table,
)
from kds.cli.progress import reported, slow, tracked
from kds.cli.terminal import shown

MARKDOWN: Final = "markdown"
_RULE: Final = "\n---\n\n"
"""Between two sessions in one Markdown file."""

SEARCHING: Final = "searched: kds memory search"
"""Use of the profile, in the audit log of the consent."""

PURPOSE: Final = "answers that suit me"
USES: Final = {
    "show": "shown to its owner: kds memory profile show",
    "set": "edited by its owner: kds memory profile set",
}
"""Uses of the profile, in the audit log."""

NO_CONSENT: Final = "there is no consent: nothing is kept about you"
GRANT_HINT: Final = "give it first: kds memory consent grant"

EMPTY: Final = Stats(0, 0, 0, 0, 0, (), 0, 0)
NO_DOCUMENTS: Final = Holdings(0, 0, 0, 0, 0, 0)

_MESSAGE: Final = "id seq role speaker at tokens content"
_SUMMARY: Final = "first_seq last_seq kind at text"
_MODEL: Final = "name dimensions state vectors waiting failed"
_PROFILE: Final = " ".join(one.name for one in dataclasses.fields(Profile))

session_argument = click.argument("name", metavar="SESSION")
yes_option = flag("--yes", "Do it; without this it is only shown.")


@contextmanager
def _found(workspace: Workspace, name: str) -> Iterator[tuple[MemoryStore, Session]]:
    """The memory, and the session in it that ``name`` stands for."""
    with looking(MemoryPlace.of(workspace)) as store:
        session = find_session(store, name)
        assert store is not None  # or find_session would have refused
        yield store, session


@group(
    "kds memory show",
    "kds memory search 'which port does staging use'",
    "kds memory export last --format markdown",
    closing="More: kds help memory-cli",
)
def memory() -> None:
    """Search, show, export and look after the sessions that are remembered."""


for one in (import_, sources, join, exclude, forget):
    memory.add_command(one)


@command(
    "kds memory search 'which port does staging use'",
    "kds memory search 'retry policy' --explain",
    "kds memory search 'retry policy' --budget 500",
    of=memory,
)
@question_argument("QUERY")
@option("--session SESSION", "Search this one first, the others only when it has too little.",
        to="name")  # fmt: skip
@option("--limit N", "Most hits.", default=10, type=click.IntRange(1, 200))
@option("--budget TOKENS", "Put the hits together as context of at most so many tokens.",
        type=COUNT)  # fmt: skip
@flag("--explain", "Also say why each hit was found, and how long each stage took.")
@embeddings_option
@common_options
def search(
    *, query: str, name: str | None, limit: int, budget: int | None, explain: bool,
    embeddings: str | None, workspace: Workspace,
) -> None:  # fmt: skip
    """Search past conversations by words, identifiers and meaning.

    The service makes the vectors for that, and `kds memory check --backfill`.
    """
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
                store, query, scope=Scope(session.id if session else None), limit=limit,
                settings=recall_settings(load_settings(workspace).recall), embedder=embedder,
                now=utc_now(),
            )  # fmt: skip
        context = assemble(query, found.hits, budget_tokens=budget) if budget else None
        used = context.tokens if context else None
        known = store.profile.matching(found.question, SEARCHING, vector=found.vector)
        found = log_recall(
            store, found, surface="cli", budget_tokens=budget, used_tokens=used, profile=len(known)
        )
        ids = dict.fromkeys(hit.passage.session_id for hit in found.hits)
        titles = {one: kept.title for one in ids if (kept := store.find_session(one)) is not None}
    report = {
        "query": query,
        "hits": [_hit_dict(hit, titles) for hit in found.hits],
        "summaries": [
            {"session": summary.session_id, **fields(summary, "first_seq last_seq text"),
             "score": round(score, 4)}
            for summary, score in found.summaries
        ],
        "notes": list(found.notes),
        "counts": dict(found.counts),
        "timings_ms": {stage: round(ms, 3) for stage, ms in found.timings_ms.items()},
        "profile": list(known),
    }  # fmt: skip
    if context is not None:
        counts = {"used": len(context.used), "left_out": len(context.left_out)}
        report["context"] = fields(context, "text tokens budget_tokens") | counts
    say(report, _search_lines(report, context, explain=explain))


def _hit_dict(hit: Hit, titles: Mapping[str, str]) -> dict[str, Any]:
    passage, scores = hit.passage, fields(hit.parts, "dense lexical code")
    return {
        "session": passage.session_id,
        "title": titles.get(passage.session_id, ""),
        "message": passage.message_id,
        **fields(passage, "role speaker at kind header"),
        "text": passage.body,
        "tokens": passage.tokens,
        "score": round(hit.score, 4),
        "scores": {key: None if one is None else round(one, 4) for key, one in scores.items()},
        "elsewhere": hit.elsewhere,
        "why": list(hit.why),
    }


def _search_lines(
    report: Mapping[str, Any], context: Assembled | None, *, explain: bool
) -> Iterator[Shown]:
    yield [("profile", line) for line in report["profile"]]
    pass_on([*report["notes"], *(context.notes if context else ())])
    if context is None:
        for one in report["summaries"]:
            yield f"summary of messages {one['first_seq']}-{one['last_seq']}: {one['text']}\n"
        for number, hit in enumerate(report["hits"], start=1):
            yield _hit_lines(number, hit, explain=explain)
    if not report["hits"] or (context and not context.text):
        yield "nothing was found"
    elif context is not None:
        yield context.text
    if explain:
        if context is not None:
            yield "tokens", f"{context.tokens} of {context.budget_tokens}"
        counts = ", ".join(f"{source} {count}" for source, count in report["counts"].items())
        yield "candidates", counts or "none"
        yield "ms", ", ".join(f"{stage} {ms:.1f}" for stage, ms in report["timings_ms"].items())


def _hit_lines(number: int, hit: Mapping[str, Any], *, explain: bool) -> Iterator[Shown]:
    title = f" '{hit['title']}'" if hit["title"] else ""
    elsewhere = ", another session" if hit["elsewhere"] else ""
    said = f"{hit['speaker'] or hit['role']}, {shown(hit['at'])}{elsewhere}"
    heading = f"{number}. {hit['score']:.2f}  {hit['session'][:SHOWN_ID]}{title}, {said}"
    scores = (f"{key} {'-' if one is None else one}" for key, one in hit["scores"].items())
    why = [*(("why", one) for one in hit["why"]), ("scores", ", ".join(scores))]
    return hit_lines(heading, hit["text"].strip().splitlines(), why if explain else ())


@command(
    "kds memory show",
    "kds memory show last",
    of=memory,
)
@click.argument("name", metavar="[SESSION]", required=False)
@option("--limit N", "Sessions to list.", default=20, type=COUNT)
@option("--offset N", "Sessions to skip.", default=0, type=click.IntRange(min=0))
@common_options
def show(*, name: str | None, limit: int, offset: int, workspace: Workspace) -> None:
    """List the sessions, the one changed last first; or print SESSION with its messages.

    SESSION is an id or the beginning of one, a title or a part of it, or `last`.
    """
    if name is None:
        with looking(MemoryPlace.of(workspace)) as some:
            sessions = some.sessions(limit=limit, offset=offset) if some else ()
        say([session_dict(one) for one in sessions], session_table(sessions))
        return
    with _found(workspace, name) as (store, session):
        messages = [one for one in store.messages(session.id) if one.role != "system"]
        summaries = store.summaries(session.id)
        known = store.entities.load(session.id)
    terms = known.terms if known else ()
    report = session_dict(session) | {
        "messages": [fields(message, _MESSAGE) for message in messages],
        "summaries": [fields(summary, _SUMMARY) for summary in summaries],
        "terms": [fields(term, "term snippet turn") for term in terms],
    }

    def text() -> Iterator[Shown]:
        size = counted(session.message_count, "message")
        yield "session", session.id
        yield "title", session.title or "(none yet)"
        yield [("document", document) for document in session.documents]
        yield "begun", shown(session.created_at)
        yield "changed", shown(session.updated_at)
        yield "holds", f"{size}, about {counted(session.token_count, 'token')}"
        for one in terms:
            yield "term", f"{one.term}: {one.snippet}" if one.snippet else one.term
        for summary in summaries:
            yield f"\nsummary of {summary.first_seq}-{summary.last_seq}: {summary.text}"
        for message in messages:
            speaker = f" ({message.speaker})" if message.speaker else ""
            yield f"\n{message.seq} {message.role}{speaker} {shown(message.at)}\n{message.content}"

    say(report, text())


@command("kds memory rename last 'Dark mode'", of=memory)
@session_argument
@click.argument("title")
@option("--document NAME", "Also say which document it is about, or several; '': none.",
        to="documents", multiple=True)  # fmt: skip
@common_options
def rename(*, name: str, title: str, documents: tuple[str, ...], workspace: Workspace) -> None:
    """Rename SESSION; later messages do not change its title."""
    with _found(workspace, name) as (store, session):
        renamed = store.rename(session.id, title)
        if documents:
            renamed = store.set_document(session.id, "\n".join(documents))
    say(session_dict(renamed), f"{renamed.id[:SHOWN_ID]} is now '{renamed.title}'")


@command("kds memory delete 'Dark mode'", "kds memory delete 3f2a91c0 --yes", of=memory)
@click.argument("names", metavar="SESSION...", nargs=-1, required=True)
@yes_option
@common_options
def delete(*, names: tuple[str, ...], yes: bool, workspace: Workspace) -> None:
    """Delete sessions and everything in them, and wipe their bytes on disk.

    Without --yes it only shows what would be deleted. Only an export brings a session back.
    """
    with looking(MemoryPlace.of(workspace)) as store:
        sessions = tuple(dict.fromkeys(find_session(store, name) for name in names))
        if yes and store is not None:
            for session in tracked(sessions, "deleting"):
                store.delete_session(session.id)
    _say_deleted(sessions, done=yes)


@command(
    "kds memory cleanup --older-than 30d", "kds memory cleanup --older-than 30d --yes", of=memory
)
@option("--older-than TIME", "Sessions unused for this long: 36h, 30d, 8w.", to="age",
        required=True, type=read_span)  # fmt: skip
@yes_option
@common_options
def cleanup(*, age: timedelta, yes: bool, workspace: Workspace) -> None:
    """Delete sessions that have not been used for a while.

    Without --yes it only shows what would be deleted.
    """
    with looking(MemoryPlace.of(workspace)) as store, slow("looking for old sessions"):
        sessions = store.cleanup(age, dry_run=not yes).sessions if store else ()
    _say_deleted(sessions, done=yes)


def _say_deleted(sessions: tuple[Session, ...], *, done: bool) -> None:
    messages = sum(session.message_count for session in sessions)
    listed = [session_dict(session) for session in sessions]
    counts = f"{counted(len(sessions), 'session')}, {counted(messages, 'message')}"
    text = f"\ndeleted {counts}" if done else f"\nwould delete {counts}; --yes does it"
    told = {"sessions": listed, "messages": messages, "dry_run": not done}
    say(told, [session_table(sessions), text] if sessions else "no session is that old")


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
        type=FILE)  # fmt: skip
@common_options
def export(
    *, names: tuple[str, ...], everything: bool, form: str, target: Path | None,
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
        if target.exists():
            raise Refusal(f"'{target}' exists already", "name another one")
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

    with _found(workspace, name) as (_, session):
        pass
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
    """Check memory and documents, and show what they hold; exit code 1 when something is wrong.

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
    place = MemoryPlace.of(workspace)
    with looking(place) as store, looking(DocumentPlace.of(workspace)) as documents:
        stores = [one for one in (store, documents) if one is not None]
        embedded = sum(_backfilled(one, embedder) for one in stores) if backfill else None
        with slow("examining memory and documents"):
            found = [one.rebuild() if rebuild else one.check() for one in stores]
            problems = [problem for one in found for problem in one.problems]
            stats = store.stats() if store else EMPTY
            given = bool(store and store.profile.consent().given)
            held = documents.holdings() if documents else NO_DOCUMENTS
            paths = [one.path for one in documents.documents()] if documents else []
            models = documents.models() if documents else ()
    report: dict[str, Any] = {
        "sound": not problems,
        "problems": problems,
        "path": str(place),
        **fields(stats, "sessions messages tokens chunks summaries size_bytes schema_version"),
        "models": [fields(one, _MODEL) for one in stats.models],
        "profile_consent": given,
        "documents": fields(held, "documents sections chunks tokens size_bytes")
        | {
            "gone": [path for path in paths if not Path(path).exists()],
            "models": [fields(one, _MODEL) for one in models],
        },
    } | ({} if embedded is None else {"embedded": embedded})
    say(report, problems, _check_lines(report))
    return TESTS_FAILED if problems else 0


def _backfilled(store: EmbeddingQueue, embedder: Any) -> int:
    """Make the vectors that wait, or want none any more; how many were made."""
    store.use_model(embedder.name if embedder else None)
    if embedder is None:
        return 0
    store.retry_embeddings()
    with reported("embedding") as tell:
        return embed_waiting(store, embedder, tell=tell)


def _check_lines(report: Mapping[str, Any]) -> Iterator[Shown]:
    if "embedded" in report:
        made = report["embedded"]
        yield f"{made:,} vectors made" if made else "there was nothing to do"
    else:
        held = report["documents"]
        yield [f"the file of a document is gone: {path}" for path in held["gone"]]
        yield "the memory is in order" if report["sound"] else None
        names = ("sessions", "messages", "tokens", "chunks", "summaries")
        yield [(name, f"{report[name]:,}") for name in names]
        yield "documents", f"{held['documents']:,}"
        yield "size", mebibytes(report["size_bytes"] + held["size_bytes"])
        yield "profile", "kept, with consent" if report["profile_consent"] else "no consent"
        yield "kept in", f"{report['path']} (schema {report['schema_version']})"
    for model in report["models"]:
        failed = f", {model['failed']:,} given up" if model["failed"] else ""
        made = f"{model['vectors']:,} made, {model['waiting']:,} waiting{failed}"
        yield "vectors", f"{model['name']}: {made}; {model['state']}"


@command(
    "kds memory consent show",
    "kds memory consent grant --for 'knowing my stack'",
    "kds memory consent revoke",
    of=memory,
)
@click.argument("action", type=click.Choice(["show", "grant", "revoke"]), default="show")
@option("--for PURPOSE", "With grant: what you consent to.", to="purpose", default=PURPOSE)
@option("--limit N", "With show: latest lines of the audit log.", default=20, type=COUNT)
@common_options
def consent(*, action: str, purpose: str, limit: int, workspace: Workspace) -> None:
    """Show, grant or revoke your consent to a profile; it is off until you grant it.

    `show` prints the audit log, too: every grant, change and use, never what the profile says.
    `revoke` wipes the profile and its vectors, down to their bytes on disk.
    """
    found, log = Consent(given=False), []
    opened = changing if action == "grant" else looking
    with opened(MemoryPlace.of(workspace)) as store:
        if action == "grant" and store is not None:
            found = store.profile.grant(purpose)
        elif action == "revoke" and store is not None:
            found = store.profile.revoke()
        elif store is not None:
            found, events = store.profile.consent(), store.profile.events()[-limit:]
            log = [fields(event, "at action purpose") for event in events]
    since = shown(found.since) if found.since else None
    if found.given:
        told = f"consent stands since {since}, for: {found.purpose}"
    else:
        told = NO_CONSENT + (f"; revoked {since}" if since else "")
    rows = [(shown(one["at"]), one["action"], one["purpose"]) for one in log]
    table = ["", Table(("at", "what", "for"), rows)] if rows else None
    say(fields(found, "given since purpose") | {"events": log}, told, table)


@command(
    "kds memory profile show",
    "kds memory profile set name=Ada role='backend developer' languages=go,python",
    "kds memory profile set tests=pytest answers= about='I maintain the billing service.'",
    "kds memory profile clear",
    of=memory,
)
@click.argument("action", type=click.Choice(["show", "set", "clear"]), default="show")
@click.argument("pairs", metavar="[KEY=VALUE]...", nargs=-1)
@common_options
def profile(
    *, action: Literal["show", "set", "clear"], pairs: tuple[str, ...], workspace: Workspace
) -> None:
    """Show, set or clear what KDS remembers about you; it needs your consent.

    Keys of `set` are name, role, languages and frameworks (with commas), style, goals, domain,
    constraints and about; any other key is a preference. `KEY=` takes one out, the rest stays.
    Every use, `show` too, goes into the audit log. `clear` keeps the consent; to wipe the bytes of
    the profile, revoke it.
    """
    if bool(pairs) != (action == "set"):
        hint = "kds memory profile set role='backend developer'; see --help"
        raise Refusal("KEY=VALUE is for set, which needs one at least", hint)
    with looking(MemoryPlace.of(workspace)) as store:
        if action == "clear":
            granted = store is not None and store.profile.consent().given
            if store is not None and granted:
                store.profile.save(Profile())
            say({"cleared": granted}, "the profile is empty" if granted else NO_CONSENT)
            return
        found = store.profile.use(USES[action]) if store else None
        if action == "set":
            if store is None or found is None:
                raise Refusal(NO_CONSENT, GRANT_HINT)
            found = store.profile.save(_changed(found, pairs))
            _embed(store, workspace)
    kept = None if found is None else fields(found, _PROFILE)
    say({"consent": found is not None, "profile": kept}, _profile_lines(kept))


def _changed(before: Profile, pairs: Iterable[str]) -> Profile:
    change: dict[str, Any] = {}
    preferences = dict(before.preferences)
    for pair in pairs:
        key, equals, value = (part.strip() for part in pair.partition("="))
        if not equals or not key or key == "preferences":
            raise Refusal(f"'{pair}' is not KEY=VALUE", "such as role='backend developer'")
        if key in ("languages", "frameworks"):
            change[key] = tuple(filter(None, map(str.strip, value.split(","))))
        elif key in _PROFILE.split():
            change[key] = value
        else:
            preferences[key] = value
    kept = {key: value for key, value in preferences.items() if value}
    return dataclasses.replace(before, **change, preferences=kept)


def _embed(store: MemoryStore, workspace: Workspace) -> None:
    """Make the vectors of the profile, where there is an embedding model."""
    if model := model_name(load_settings(workspace).recall.embeddings):
        try:
            store.profile.embed(load_embedder(model))
        except Exception as error:  # noqa: BLE001  # the user's model may raise anything
            complain(f"the profile is saved and found by its words only: {error}")


def _profile_lines(kept: Mapping[str, Any] | None) -> Iterator[Shown]:
    if kept is None:
        yield f"{NO_CONSENT}\n{GRANT_HINT}"
    elif not any(kept.values()):
        yield "the profile is empty"
    for key, one in (kept or {}).items():
        if key == "preferences":
            one = [f"{name}={value}" for name, value in one.items()]
        if one:
            label = "prefers" if key == "preferences" else key
            yield label, one if isinstance(one, str) else ", ".join(one)
