"""The pages of the memory: search, sessions with what they were about, profile, upkeep; and what it
measured of turns and recalls, in tables."""

import asyncio
import csv
import io
from contextlib import closing, suppress
from datetime import timedelta
from typing import Any, Final
from urllib.parse import urlencode

from starlette.responses import Response

from kds.api.turn_log import all_sessions, session_page
from kds.brain.clock import utc_now
from kds.brain.errors import KdsError, MessageError, StoreError
from kds.brain.memory.entities import EntityMemory
from kds.brain.memory.export import archive, to_json
from kds.brain.memory.profile import Consent, Profile
from kds.brain.memory.sessions import Session
from kds.brain.passages.values import Summary
from kds.brain.settings import LiveConfig
from kds.brain.workspace import shared_database
from kds.learning.teaching import learned_in
from kds.query.values import Query
from kds.service.errors import NotServedError
from kds.service.routes.query import look
from kds.service.workspaces import ServedWorkspace
from kds.testing.metrics import MetricsTable, read_report
from kds.transcripts.catalogue import AssistantMemory
from kds.transcripts.recalling import Found, ask
from kds.web.auth import Note
from kds.web.chat_page import address
from kds.web.documents_page import document_link
from kds.web.rendering import marked
from kds.web.request_context import RequestContext, download, get, post

SHOWN: Final = 20
"""Sessions on a page."""
FOUND: Final = 12
"""Passages of either kind that a search shows."""
PAST: Final = 5
PAST_TOKENS: Final = 2_000
"""Passages of assistants' sessions that a search shows, and their tokens in all."""
EVENTS: Final = 20
"""Lines of the audit log, the latest first."""
MOST_DAYS: Final = 3650

PROFILE_FIELDS: Final = {
    "name": "Name", "role": "What you do", "languages": "Languages, with commas between",
    "frameworks": "Frameworks, with commas between", "style": "How answers are to be written",
    "goals": "Goals", "domain": "Domain", "constraints": "Constraints",
}  # fmt: skip
"""Fields of one line, and their labels."""

PROFILE_LISTS: Final = ("languages", "frameworks")

RANGES: Final = {1: "a day", 7: "a week", 30: "a month"}
"""Days to look back; measurements are kept for thirty."""


async def show(context: RequestContext) -> Response:
    """What is remembered; with ``q``, what was found about that."""
    question, offset = context.text("q").strip(), context.number("offset", 0)
    served, found, past = context.served, None, tuple[Found, ...]()

    def held() -> dict[str, Any]:
        store = served.memory_if_any()
        sessions, later = session_page(store, limit=SHOWN, offset=offset)
        holds = {"sessions": sessions, "later": later, "consent": Consent(given=False)}
        if store is None:
            return holds
        given, events = store.profile.consent(), store.profile.events()[: -EVENTS - 1 : -1]
        profile = store.profile.use("shown to its owner on the page") if given.given else None
        return holds | {
            "stats": store.stats(), "consent": given, "profile": profile, "events": events,
        }  # fmt: skip

    holds = await context.archive(held)
    if question:
        asked = Query(question, scope="all", limit=FOUND, answer=False)
        found = await context.route(lambda: look(served.queries, asked))
        try:  # not on a worker, where an import may take long
            past = await asyncio.to_thread(_recalled, served, question)
        except KdsError as error:  # what the workspace has is shown all the same
            context.visitor.notes.append(Note("", error=error))
    config = LiveConfig(served.workspace)
    learned, problem = await context.archive(lambda: learned_in(config.current()))
    return context.page(
        "memory.html", title="Memory", held=holds, found=found, past=past, question=question,
        marked=marked, earlier=max(offset - SHOWN, 0) if offset else None,
        purpose="answers that suit me", flags=served.memory.flags, fields=PROFILE_FIELDS.items(),
        link=address, document_link=document_link, problem=problem,
        learned=learned,
        typed=typed(holds.get("profile") or Profile()) | context.take_refused("/memory/profile"),
    )  # fmt: skip


def _recalled(served: ServedWorkspace, question: str) -> tuple[Found, ...]:
    """The passages that `kds recall` finds; of a shared memory, where theirs are on the server."""
    memory = AssistantMemory.of(served.memory.config.settings)
    shared = shared_database(served.workspace, environ=served.environ)
    if not memory.exists or (shared and memory.server is None):
        return ()
    embedder = None
    with suppress(KdsError):  # words are searched where the model cannot be loaded
        embedder = served.queries.embedder.load()
    with closing(memory):
        project = memory.project_of(served.root)
        answer = ask(
            memory, [project] if project else [], question, limit=PAST, now=utc_now(),
            embedder=embedder, surface="web",
        )  # fmt: skip
    return answer.within(PAST_TOKENS).found


async def about(context: RequestContext) -> Response:
    """What one session was about: its summaries and terms."""
    name = context.text("session")

    def read() -> tuple[Session, tuple[Summary, ...], EntityMemory | None]:
        store = context.served.store_of(name)
        return store.session(name), store.summaries(name), store.entities.load(name)

    session, summaries, terms = await context.archive(read)
    return context.page(
        "session.html", title=session.title or "A session", session=session, summaries=summaries,
        terms=terms, link=address,
    )  # fmt: skip


async def summarise(context: RequestContext) -> Response:
    """Summarise now what was said in a session since its last summary."""
    name, memory = context.text("session"), context.served.memory
    await context.archive(lambda: context.served.store_of(name).session(name))
    made = await asyncio.to_thread(memory.summarise_now, name)  # a model may be waited for
    said = "The session is summarized." if made else "There is nothing new to summarize."
    return context.go(f"/memory/session?{urlencode({'session': name})}", said)


async def grant(context: RequestContext) -> Response:
    """Note the consent to a profile."""
    purpose, served = context.text("purpose").strip(), context.served
    await context.archive(lambda: served.memory_for_writing().profile.grant(purpose))
    return context.go("/memory#profile", "You consented. You can take that back at any time.")


async def revoke(context: RequestContext) -> Response:
    """Withdraw consent, and erase the profile with its bytes."""
    if (store := await context.archive(context.served.memory_if_any)) is not None:
        await context.archive(store.profile.revoke)
    return context.go("/memory#profile", "The profile is erased, and its bytes with it.")


async def save_profile(context: RequestContext) -> Response:
    """Keep what the user tells about themselves."""
    pairs: dict[str, str] = {}
    for number, line in enumerate(context.text("preferences").splitlines(), start=1):
        key, _, value = (part.strip() for part in line.partition("="))
        if line.strip() and ("=" not in line or not key):
            raise MessageError(
                f"not saved: “{line.strip()}” is not a preference",
                where=f"preferences, line {number}",
                hint="write key=value, as in tests=pytest, or put it under “Anything else”",
            )
        if key:
            pairs[key] = value
    profile = Profile(preferences=pairs, about=context.text("about").strip())
    for name in PROFILE_FIELDS:
        text = context.text(name).strip()
        parts = tuple(one.strip() for one in text.split(",") if one.strip())
        profile = profile.with_field(name, parts if name in PROFILE_LISTS else text)

    def save() -> None:
        store = context.served.memory_for_writing()
        store.profile.use("edited by its owner on the page")
        store.profile.save(profile)

    await context.archive(save)
    return context.go("/memory#profile", "The profile is saved.")


def typed(profile: Profile) -> dict[str, str]:
    """The profile as it stands in the fields of its form."""
    told = {name: getattr(profile, name) for name in PROFILE_FIELDS}
    fields = {name: ", ".join(told[name]) if name in PROFILE_LISTS else told[name] for name in told}
    lines = "\n".join(f"{key}={value}" for key, value in profile.preferences.items())
    return {**fields, "preferences": lines, "about": profile.about}


async def clean_up(context: RequestContext) -> Response:
    """Erase what nothing happened in for a while; without ``sure``, say what that would be."""
    days = context.number("days", 0, most=MOST_DAYS)
    if not days:
        raise MessageError("how many days?", where="days", hint="a whole number from 1 on")
    sure = context.form.get("sure") == "yes"

    def clean() -> tuple[Session, ...]:
        store = context.served.memory_if_any()
        return store.cleanup(timedelta(days=days), dry_run=not sure) if store else ()

    gone = await context.archive(clean)
    if sure:
        return context.go("/memory#upkeep", f"Sessions erased: {len(gone)}.")
    return context.page("cleanup.html", title="Clean up", sessions=gone, days=days)


async def check(context: RequestContext) -> Response:
    """Examine the whole memory, or make its index anew."""
    anew = context.text("rebuild") == "yes"

    def examine() -> tuple[str, ...]:
        store = context.served.memory_if_any()
        return (store.rebuild() if anew else store.check()).problems if store else ()

    problems = await context.archive(examine)
    told = "The search index has been made anew." if anew else "The memory is in order."
    hint = "kds memory check" if anew else "make the search index anew, below"
    errors = (StoreError(one, where="memory.db", hint=hint) for one in problems)
    context.visitor.notes += (Note("", error=error) for error in errors)
    return context.go("/memory#upkeep", None if problems else told)


async def backup(context: RequestContext) -> Response:
    """Every session in one file, which can be imported again."""

    def read() -> str:
        store = context.served.memory_if_any()
        kept = [archive(store, one.id) for one in all_sessions(store)[::-1]] if store else []
        return to_json(kept)

    return download(await context.archive(read), "kds-memory.json", "application/json")


routes = (
    get("/memory", show),
    get("/memory/session", about),
    post("/memory/summarize", summarise),
    get("/memory/backup", backup),
    post("/memory/consent", grant),
    post("/memory/revoke", revoke),
    post("/memory/profile", save_profile),
    get("/memory/cleanup", clean_up),
    post("/memory/cleanup", clean_up),
    post("/memory/check", check),
)


async def analytics(context: RequestContext) -> Response:
    """Every figure of the days that were asked for."""
    days, tables = await _tables(context)
    return context.page(
        "analytics.html", title="Analytics", days=days, ranges=RANGES, figures=tables
    )


async def table(context: RequestContext) -> Response:
    """One of the tables, as CSV."""
    _, tables = await _tables(context)
    found, key = {one.key: one for one in tables}, context.text("table")
    if (chosen := found.get(key)) is None:
        raise NotServedError(
            f"there is no table '{key}' for these days",
            where="/analytics.csv",
            hint=f"ask for one of: {', '.join(found) or 'none, nothing was measured'}",
        )
    text = io.StringIO()
    csv.writer(text).writerows([chosen.heads, *chosen.rows])
    return download(text.getvalue(), f"kds-{key}.csv", "text/csv")


async def _tables(context: RequestContext) -> tuple[int, list[MetricsTable]]:
    """The days that were asked for, and what was measured."""
    asked, served = context.number("days", 7), context.served
    days = asked if asked in RANGES else 7
    corrections = served.conversations.library.corrections()

    def read() -> list[MetricsTable]:
        return [*read_report(served.memory_if_any(), timedelta(days=days), corrections).tables()]

    return days, await context.archive(read)


analytics_routes = (get("/analytics", analytics), get("/analytics.csv", table))
