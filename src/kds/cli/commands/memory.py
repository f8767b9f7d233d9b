"""`kds memory`: the sessions that are remembered; how much there is, and its upkeep."""

import dataclasses
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any, Final, Literal

import click

from kds.api.embeddings import embed_waiting, load_embedder, model_name
from kds.api.measures import rounded
from kds.api.memory_search import Searched, search_memory
from kds.api.turn_log import LAST, NOTHING, all_sessions, find_session
from kds.brain.documents.values import Holdings
from kds.brain.files import PrivateFile
from kds.brain.memory.export import archive, checksum, to_json, to_markdown
from kds.brain.memory.memory_store import EMPTY, MemoryStore
from kds.brain.memory.profile import Consent, ConsentEvent, Profile
from kds.brain.memory.sessions import Session
from kds.brain.passages.recall import Hit
from kds.brain.passages.store import PassageStore
from kds.brain.passages.values import EmbeddingModel
from kds.brain.settings import load_settings
from kds.brain.workspace import Workspace
from kds.cli import base
from kds.cli import output as out
from kds.cli.command import asked_json
from kds.cli.commands.recall import as_clients, forget, import_, sources
from kds.cli.guard import TESTS_FAILED, Refusal, complain, pass_on
from kds.cli.output import counted, fields, say
from kds.cli.terminal import shown, slow
from kds.service.team_stores import TeamMemory, at_team, documents_of, memory_of, refuse_for_team

_RULE: Final = "\n---\n\n"
"""Between two sessions in one Markdown file."""
_AUDITED: Final = {
    "show": "shown to its owner: kds memory profile show",
    "set": "edited by its owner: kds memory profile set",
}
"""Uses of the profile, in the audit log of the consent."""
_AUDIT_LINES: Final = 20

_STATS: Final = "sessions messages tokens chunks summaries size_bytes schema_version"

NO_CONSENT: Final = "there is no consent: nothing is kept about you"
GRANT_HINT: Final = "give it first: kds memory consent grant"

session_argument = click.argument("name", metavar="SESSION")


@contextmanager
def _found(workspace: Workspace, name: str) -> Iterator[tuple[MemoryStore, Session]]:
    """The memory, and the session in it that ``name`` stands for."""
    with base.looking(memory_of(workspace)) as store:
        session = find_session(store, name)
        assert store is not None  # or find_session would have refused
        yield store, session


@base.group("kds memory search 'which port does staging use'", closing="More: kds help memory-cli")
def memory() -> None:
    """Search, show, export and look after the sessions that are remembered."""


for one in (import_, sources):
    memory.add_command(one)


@base.command("kds memory search 'which port does staging use' --budget 500", of=memory)
@base.question_argument("QUERY")
@base.option("--session SESSION", "Search this one first, others if it has little.", to="name")
@base.option("--limit N", "Most hits.", default=10, type=click.IntRange(1, 200))
@base.option("--budget TOKENS", "Print context of at most so many tokens.", type=base.COUNT)
@base.flag("--explain", "Also say why each hit was found, and how long each stage took.")
def search(
    *, query: str, name: str | None, limit: int, budget: int | None, explain: bool,
    workspace: Workspace,
) -> None:  # fmt: skip
    """Search past conversations by words, identifiers and meaning.

    The service makes the vectors for that, and `kds memory check --backfill`.
    """
    with base.looking(memory_of(workspace)) as store:
        session = find_session(store, name) if name else None
        if store is None:
            nothing = Searched(query, (), (), (NOTHING,), {}, {}, (), {})
            say(_search_dict(nothing), NOTHING)
            return
        how: dict[str, Any] = {"session": session and session.id, "limit": limit, "budget": budget}
        with slow("searching the memory"):
            if (team := at_team(store, TeamMemory)) is not None:
                found = team.search(query=query, **how)
            else:
                options = load_settings(workspace).recall
                embedder = base.search_embedder(workspace)
                found = search_memory(store, query, options=options, embedder=embedder, **how)
    context = found.context
    pass_on([] if asked_json() else [*found.notes, *(context.notes if context else ())])
    summaries = [
        f"summary of messages {one.first_seq}-{one.last_seq}: {one.text}\n"
        for one, _ in found.summaries
    ]
    say(
        _search_dict(found),
        [("profile", line) for line in found.profile],
        context.text if context else summaries,
        [] if context else _hits(found, explain=explain),
        None if found.profile or found.hits or summaries else "nothing was found",
        [("tokens", f"{context.tokens} of {budget}")] if explain and context else None,
        [("candidates", out.counts_line(found.counts)), ("ms", out.counts_line(found.timings_ms))]
        if explain else None,
    )  # fmt: skip


def _search_dict(found: Searched) -> dict[str, Any]:
    summaries = [
        {"session": one.session_id, **fields(one, "first_seq last_seq text"),
         "score": round(score, 4)}
        for one, score in found.summaries
    ]  # fmt: skip
    told = {"query": found.query, **fields(found, "counts notes"),
            "hits": [_hit_dict(hit, found.titles) for hit in found.hits], "summaries": summaries,
            "timings_ms": rounded(found.timings_ms), "profile": found.profile}  # fmt: skip
    if (context := found.context) is not None:
        counts = {"used": len(context.used), "left_out": len(context.left_out)}
        told["context"] = fields(context, "text tokens budget_tokens") | counts
    return told


def _hit_dict(hit: Hit, titles: Mapping[str, str]) -> dict[str, Any]:
    passage, scores = hit.passage, fields(hit.parts, "dense lexical code")
    return {
        "session": passage.session_id, "title": titles.get(passage.session_id, ""),
        "message": passage.message_id, **fields(passage, "role speaker at kind header"),
        "text": passage.body, "tokens": passage.tokens, "score": round(hit.score, 4),
        "scores": rounded(scores), **fields(hit, "elsewhere why"),
    }  # fmt: skip


def _hits(found: Searched, *, explain: bool) -> Iterator[out.Shown]:
    for number, hit in enumerate(found.hits, start=1):
        passage = hit.passage
        title = found.titles.get(passage.session_id)
        place = passage.session_id[: out.SHOWN_ID] + (f" '{title}'" if title else "")
        said = f"{passage.speaker or passage.role}, {shown(passage.at)}"
        heading = f"{number}. {hit.score:.2f}  {place}, {said}"
        scores = ("scores", out.counts_line(fields(hit.parts, "dense lexical code")))
        why = [*(("why", one) for one in hit.why), scores] if explain else ()
        yield out.hit_lines(heading + ", another session" * hit.elsewhere, passage.body, why)


@base.command("kds memory show last", of=memory)
@click.argument("name", metavar="[SESSION]", required=False)
@base.option("--limit N", "Sessions to list.", default=20, type=base.COUNT)
@base.option("--offset N", "Sessions to skip.", default=0, type=click.IntRange(0))
def show(*, name: str | None, limit: int, offset: int, workspace: Workspace) -> None:
    """List the sessions, the one changed last first; or print SESSION with its messages.

    SESSION is an id or the beginning of one, a title or a part of it, or `last`.
    """
    if name is None:
        with base.looking(memory_of(workspace)) as some:
            sessions = some.sessions(limit=limit, offset=offset) if some else ()
        say(map(out.session_dict, sessions), out.session_table(sessions))
        return
    with _found(workspace, name) as (store, session):
        messages = [one for one in store.messages(session.id) if one.role != "system"]
        summaries = store.summaries(session.id)
        known = store.entities.load(session.id)
    terms = known.terms if known else ()
    size = counted(session.message_count, "message")
    said = (
        f"\n{one.seq} {one.role}{f' ({one.speaker})' if one.speaker else ''} {shown(one.at)}\n"
        f"{one.content}"
        for one in messages
    )
    say(
        out.session_dict(session) | {"messages": messages, "summaries": summaries, "terms": terms},
        ("session", session.id),
        ("title", session.title or "(none yet)"),
        [("document", document) for document in session.documents],
        ("begun", session.created_at),
        ("changed", session.updated_at),
        ("holds", f"{size}, about {counted(session.token_count, 'token')}"),
        [("term", f"{one.term}: {one.snippet}" if one.snippet else one.term) for one in terms],
        [f"\nsummary of {one.first_seq}-{one.last_seq}: {one.text}" for one in summaries],
        said,
    )


@base.command("kds memory rename last 'Dark mode'", of=memory)
@session_argument
@click.argument("title")
@base.option("--document NAME", "What it is about; '': none.", to="documents", multiple=True)
def rename(*, name: str, title: str, documents: tuple[str, ...], workspace: Workspace) -> None:
    """Rename SESSION; later messages do not change its title."""
    with _found(workspace, name) as (store, session):
        renamed = store.rename(session.id, title)
        if documents:
            renamed = store.set_document(session.id, "\n".join(documents))
    say(out.session_dict(renamed), f"{renamed.id[: out.SHOWN_ID]} is now '{renamed.title}'")


@base.command(
    "kds memory delete 3f2a91c0 --yes", "kds memory delete --client cursor --before 180d",
    of=memory,
)  # fmt: skip
@click.argument("names", metavar="[SESSION]...", nargs=-1)
@base.option("--client NAME", "Only sessions imported from this assistant.", callback=as_clients)
@base.option("--project NAME", "Only those of a project: its name, its folder, `.` or `all`.")
@base.option("--before TIME", "Only those unused for this long: 36h, 30d.", type=base.ago)
@base.yes_option
def delete(
    *, names: tuple[str, ...], client: tuple[str, ...] | None, project: str | None,
    before: datetime | None, yes: bool, workspace: Workspace,
) -> None:  # fmt: skip
    """Delete sessions and everything in them, and wipe their bytes on disk.

    With --client, --project or --before it deletes sessions imported from your assistants: no
    import brings them back, and the assistants' own files stay. Without --yes it only shows what
    would be deleted. A session of KDS can be restored only from an export.
    """
    if client or project or before:
        say(*forget(workspace, names, client, project, before, yes=yes))
        return
    if not names:
        raise Refusal("say which sessions to delete", "SESSION, or --client, --project, --before")
    with base.looking(memory_of(workspace)) as store:
        sessions = tuple(dict.fromkeys(find_session(store, name) for name in names))
        if yes and store is not None:
            with slow("deleting"):
                for session in sessions:
                    store.delete_session(session.id)
    _say_deleted(sessions, done=yes)


@base.command("kds memory cleanup --older-than 30d --yes", of=memory)
@base.option("--older-than TIME", "Unused for: 36h, 30d.", required=True, type=base.read_span)
@base.yes_option
def cleanup(*, older_than: timedelta, yes: bool, workspace: Workspace) -> None:
    """Delete sessions that have not been used for a while.

    Without --yes it only shows what would be deleted. Interrupted, it goes on when run again.
    """
    with base.looking(memory_of(workspace)) as store, slow("looking for old sessions") as told:
        tell = partial(told, "deleting sessions")
        sessions = store.cleanup(older_than, dry_run=not yes, tell=tell) if store else ()
    _say_deleted(sessions, done=yes)


def _say_deleted(sessions: tuple[Session, ...], *, done: bool) -> None:
    messages = sum(session.message_count for session in sessions)
    counts = f"{counted(len(sessions), 'session')}, {counted(messages, 'message')}"
    text = f"\ndeleted {counts}" if done else f"\nwould delete {counts}; --yes does it"
    told = {"sessions": map(out.session_dict, sessions), "messages": messages, "dry_run": not done}
    say(told, [out.session_table(sessions), text] if sessions else "no session is that old")


@base.command("kds memory export --all --to memory.json", of=memory)
@click.argument("names", metavar="[SESSION]...", nargs=-1)
@base.flag("--all", "Every session.", to="everything")
@base.choice("--format", ["json", "markdown"], "JSON can be imported.", default="json")
@base.option("--to FILE", "Write it there, for you alone.", to="target", type=base.FILE)
def export(
    *, names: tuple[str, ...], everything: bool, format: str, target: Path | None,
    workspace: Workspace,
) -> None:  # fmt: skip
    """Write sessions as JSON or Markdown.

    With --to it says what was written; --json says it as JSON.
    """
    is_json = format == "json"
    if bool(names) == everything:
        raise Refusal("name the sessions to export", "SESSION..., or --all for every one")
    if target is None and asked_json() and not is_json:
        raise Refusal("--json does not go with Markdown on stdout", "add --to FILE")
    if target is not None and target.exists():
        raise Refusal(f"'{target}' exists already", "name another one")
    with base.looking(memory_of(workspace)) as store:
        chosen = all_sessions(store)[::-1] if everything and store else ()  # the oldest first
        chosen += tuple(find_session(store, name) for name in dict.fromkeys(names))
        with slow("exporting"):
            archives = [archive(store, session.id) for session in chosen] if store else []
    text = to_json(archives) if is_json else _RULE.join(map(to_markdown, archives))
    if target is None:
        click.echo(text, nl=False)
        return
    PrivateFile(target).replace(text.encode())
    messages, total = sum(len(found.messages) for found in archives), checksum(archives)
    counts = f"{counted(len(archives), 'session')}, {counted(messages, 'message')}"
    say(
        {"sessions": len(archives), "messages": messages, "checksum": total, "path": target},
        f"{counts} in {target}, checksum {total}",
    )


@base.command("kds memory summarize 'Dark mode'", of=memory)
@click.argument("name", metavar="[SESSION]", default=LAST)
def summarize(*, name: str, workspace: Workspace) -> None:
    """Summarize now what was said in SESSION since its last summary.

    Without SESSION it is the last one. A model writes the summary if there is one (settings
    memory.summaries); else it is made of the session's own sentences.
    """
    from kds.agents.models import LazyModel  # the others need no model
    from kds.agents.prompting import summarizer_of
    from kds.brain.memory.memory import ConversationMemory, Tools
    from kds.router.prompts.library import PromptLibrary

    refuse_for_team(workspace, "to summarize by hand", "the service does so by itself")
    with _found(workspace, name) as (_, session):
        settings = load_settings(workspace)
    library = PromptLibrary.sound(workspace.prompts_dir)[0]
    memory = ConversationMemory.open(
        workspace, Tools(find_summarizer=lambda: summarizer_of(LazyModel(settings.model), library))
    )
    if not memory.flags.enabled or settings.memory.summaries == "off":
        raise Refusal("summaries are off", "set memory.enabled and memory.summaries (kds config)")
    with closing(memory), slow("summarizing"):
        made = memory.summarise_now(session.id)
    told = made and f"summary of {made.first_seq}-{made.last_seq}: {made.text}"
    say(
        {"session": session.id, "summary": made},
        told or "No summary: nothing was said since the last one.",
    )


@base.command("kds memory check --backfill", of=memory)
@base.flag("--rebuild", "First make the search indexes anew.")
@base.flag("--backfill", "First make the vectors that are missing, for recall by meaning.")
def check(*, rebuild: bool, backfill: bool, workspace: Workspace) -> int:
    """Check memory and documents, and show what they hold; exit code 1 when something is wrong.

    `recall.embeddings` names the embedding model. After a change, the old vectors are used until
    the new ones are complete; with `off` no more vectors are made.
    """
    refuse_for_team(workspace, "checking")
    embedder = base.embedder_of(workspace) if backfill else None
    place, docs = memory_of(workspace), documents_of(workspace)
    with base.looking(place) as store, base.looking(docs) as documents:
        stores = [one for one in (store, documents) if one is not None]
        embedded = sum(_backfilled(one, embedder) for one in stores) if backfill else None
        with slow("examining memory and documents"):
            found = [one.rebuild() if rebuild else one.check() for one in stores]
            problems = [problem for one in found for problem in one.problems]
            stats = store.stats() if store else EMPTY
            given = bool(store and store.profile.consent().given)
            held = documents.holdings() if documents else Holdings(0, 0, 0, 0, 0, 0)
            paths = [one.path for one in documents.documents()] if documents else []
            models = documents.models() if documents else ()
    gone = [path for path in paths if not Path(path).exists()]
    holds = fields(stats, _STATS)
    kept = fields(held, "documents sections chunks tokens size_bytes") | {"gone": gone}
    report = {
        "sound": not problems, "problems": problems, "path": str(place), **holds,
        "models": stats.models, "profile_consent": given,
        "documents": kept | {"models": models},
        **({} if embedded is None else {"embedded": embedded}),
    }  # fmt: skip
    lines: list[out.Shown] = [
        [f"the file of a document is gone: {path}" for path in gone],
        None if problems else "the memory is in order",
        list(holds.items())[:5],
        ("documents", held.documents),
        ("size", out.mebibytes(stats.size_bytes + held.size_bytes)),
        ("profile", "kept, with consent" if given else "no consent"),
        ("kept in", f"{place} (schema {stats.schema_version})"),
    ]
    if embedded is not None:
        lines = [f"{embedded:,} vectors made" if embedded else "there was nothing to do"]
    say(report, problems, lines, map(_model_line, stats.models))
    return TESTS_FAILED if problems else 0


def _backfilled(store: PassageStore, embedder: Any) -> int:
    """Make the vectors that wait, or want none any more; how many were made."""
    store.use_model(embedder.name if embedder else None)
    if embedder is None:
        return 0
    store.retry_embeddings()
    with slow("embedding") as tell:
        return embed_waiting(store, embedder, tell=tell)


def _model_line(model: EmbeddingModel) -> tuple[str, str]:
    failed = f", {model.failed:,} given up" if model.failed else ""
    made = f"{model.vectors:,} made, {model.waiting:,} waiting{failed}"
    return "vectors", f"{model.name}: {made}; {model.state}"


@base.command("kds memory consent grant --for 'knowing my stack'", of=memory)
@click.argument("action", type=click.Choice(["show", "grant", "revoke"]), default="show")
@base.option("--for PURPOSE", "Of a grant.", to="purpose", default="answers that suit me")
def consent(*, action: str, purpose: str, workspace: Workspace) -> None:
    """Show, grant or revoke your consent to a profile; it is off until you grant it.

    `show` prints the audit log, too: every grant, change and use, never what the profile says.
    `revoke` wipes the profile and its vectors, down to their bytes on disk.
    """
    found, log = Consent(given=False), tuple[ConsentEvent, ...]()
    opened = base.changing if action == "grant" else base.looking
    with opened(memory_of(workspace)) as store:
        if store is not None and action == "show":
            found, log = store.profile.consent(), store.profile.events()[-_AUDIT_LINES:]
        elif store is not None:
            kept = store.profile
            found = kept.grant(purpose) if action == "grant" else kept.revoke()
    since = shown(found.since) if found.since else None
    told = f"consent stands since {since}, for: {found.purpose}"
    if not found.given:
        told = NO_CONSENT + (f"; revoked {since}" if since else "")
    table = out.Table(("at", "what", "for"), [(one.at, one.action, one.purpose) for one in log])
    say(fields(found, "given since purpose") | {"events": log}, told, ["", table] if log else None)


@base.command(
    "kds memory profile set name=Ada role='backend developer' languages=go,python tests=pytest",
    of=memory,
)
@click.argument("action", type=click.Choice(["show", "set", "clear"]), default="show")
@click.argument("pairs", metavar="[KEY=VALUE]...", nargs=-1)
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
    with base.looking(memory_of(workspace)) as store:
        if action == "clear":
            granted = store is not None and store.profile.consent().given
            if store is not None and granted:
                store.profile.save(Profile())
            say({"cleared": granted}, "the profile is empty" if granted else NO_CONSENT)
            return
        found = store.profile.use(_AUDITED[action]) if store else None
        if action == "set":
            if store is None or found is None:
                raise Refusal(NO_CONSENT, GRANT_HINT)
            found = store.profile.save(_changed(found, pairs))
            if at_team(store, TeamMemory) is None:
                _embed(store, workspace)
    lines: list[out.Shown] = [f"{NO_CONSENT}\n{GRANT_HINT}"]
    if found is not None:
        told = dataclasses.asdict(found)
        told["prefers"] = [f"{name}={value}" for name, value in told.pop("preferences").items()]
        lines = [(key, one if isinstance(one, str) else ", ".join(one))
                 for key, one in told.items() if one]  # fmt: skip
    say({"consent": found is not None, "profile": found}, lines or "the profile is empty")


def _changed(before: Profile, pairs: Iterable[str]) -> Profile:
    change: dict[str, Any] = {}
    preferences = dict(before.preferences)
    for pair in pairs:
        key, equals, value = (part.strip() for part in pair.partition("="))
        if not equals or not key or key == "preferences":
            raise Refusal(f"'{pair}' is not KEY=VALUE", "such as role='backend developer'")
        if key in ("languages", "frameworks"):
            change[key] = tuple(filter(None, map(str.strip, value.split(","))))
        elif key in {one.name for one in dataclasses.fields(before)}:
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
