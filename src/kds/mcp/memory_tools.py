"""The tools of the conversation memory: searching it, listing its sessions, writing one out."""

import logging
import threading
from dataclasses import replace
from typing import Annotated, Any, Final

from mcp.server.mcpserver import MCPServer
from mcp_types import CallToolResult
from pydantic import Field

from kds.api.embeddings import load_embedder
from kds.api.session_names import NOTHING, find_session, session_page
from kds.brain.clock import utc_now
from kds.brain.errors import KdsError, MessageError
from kds.brain.passages.assembly import assemble
from kds.brain.passages.recall import recall
from kds.brain.passages.recalled import recall_settings
from kds.brain.passages.store import Embedder
from kds.brain.passages.values import Scope
from kds.brain.sessions.memory_place import MemoryPlace
from kds.brain.sessions.metrics import log_recall
from kds.brain.sessions.portable import archive, to_json, to_markdown
from kds.brain.settings import load_settings
from kds.brain.workspace import Workspace
from kds.mcp.memory_schemas import ExportedSession, Format, MemoryHits, SessionList
from kds.mcp.results import ABSENT, READS, result

logger = logging.getLogger(__name__)

SURFACE: Final = "mcp"

SEARCHING: Final = "searched by an assistant"
"""What the audit log of the consent says."""

MOST_HITS: Final = 50
MOST_SESSIONS: Final = 200

EXPORT_CHARACTERS: Final = 40_000
"""Of one answer: about 10,000 tokens. Claude Code warns above those and cuts off at 25,000
(its documentation, "MCP output limits and warnings")."""

SessionName = Annotated[
    str,
    ABSENT,
    Field(description="A session: its id or the beginning of it, its title, or 'last'."),
]


def add_memory_tools(server: MCPServer[Any], workspace: Workspace) -> None:
    """Register the three tools. None of them changes what is remembered."""
    tools = _MemoryTools(workspace)
    server.add_tool(tools.memory_search, title="Search the memory", annotations=READS)
    server.add_tool(tools.session_list, title="List the sessions", annotations=READS)
    server.add_tool(tools.session_export, title="Write a session out", annotations=READS)


class _MemoryTools:
    """The functions behind the tools. Their docstrings are what a model reads of them."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._loading = threading.Lock()
        self._embedder: tuple[str, Embedder | None] | None = None

    def memory_search(
        self,
        query: Annotated[str, Field(description="A question, or words and names to look for.")],
        session: SessionName = "",
        limit: Annotated[int, Field(ge=1, le=MOST_HITS, description="Most passages.")] = 5,
    ) -> Annotated[CallToolResult, MemoryHits]:
        """Find what was said in past conversations: decisions, facts, code, where they stand.

        With `session` that one is searched first, the others only when it has too little.
        """
        found = self._search(_asked(query), session, limit)
        return result(_hits_text(found), found)

    def session_list(
        self,
        limit: Annotated[int, Field(ge=1, le=MOST_SESSIONS, description="Most sessions.")] = 20,
        offset: Annotated[int, Field(ge=0, description="Sessions to skip.")] = 0,
    ) -> Annotated[CallToolResult, SessionList]:
        """List the remembered sessions, the one changed last first."""
        with MemoryPlace.of(self._workspace).if_any() as store:
            sessions, following = session_page(store, limit=limit, offset=offset)
        found = SessionList.model_validate({"sessions": sessions, "next_offset": following})
        return result(_sessions_text(found), found)

    def session_export(
        self,
        session: SessionName,
        format: Annotated[Format, Field(description="json can be imported again.")] = "markdown",
        offset: Annotated[int, Field(ge=0, description="Characters to skip.")] = 0,
    ) -> Annotated[CallToolResult, ExportedSession]:
        """Write out a session with all its messages; a long one comes in several parts."""
        with MemoryPlace.of(self._workspace).if_any() as store:
            found = find_session(store, session)
            assert store is not None  # find_session refuses without one
            whole = archive(store, found.id)
        text = to_markdown(whole) if format == "markdown" else to_json([whole])
        end = offset + EXPORT_CHARACTERS
        exported = ExportedSession(
            id=found.id,
            title=found.title,
            format=format,
            content=text[offset:end],
            characters=len(text),
            next_offset=end if end < len(text) else None,
        )
        return result(exported.content, exported)

    def _search(self, query: str, session: str, limit: int) -> MemoryHits:
        options = load_settings(self._workspace).recall
        with MemoryPlace.of(self._workspace).if_any() as store:
            chosen = find_session(store, session) if session else None
            if store is None:
                return MemoryHits(query=query, hits=[], summaries=[], notes=[NOTHING])
            found = recall(
                store,
                query,
                scope=Scope(chosen.id if chosen else None),
                limit=limit,
                settings=recall_settings(options),
                embedder=self._embedding(options.embeddings),
                now=utc_now(),
            )
            quoted = assemble(query, found.hits, budget_tokens=options.token_budget)
            found = replace(found, hits=quoted.used, notes=(*found.notes, *quoted.notes))
            recalled = log_recall(
                store,
                found,
                surface=SURFACE,
                budget_tokens=options.token_budget,
                used_tokens=quoted.tokens,
            )
            ids = dict.fromkeys(hit.passage.session_id for hit in recalled.hits)
            sessions = {one.id: one for name in ids if (one := store.find_session(name))}
            profile = store.profile.matching(found.question, SEARCHING, vector=found.vector)
        return MemoryHits.of(query, recalled, sessions, profile)

    def _embedding(self, name: str | None) -> Embedder | None:
        """The model that the settings name; loading one may take seconds, which is done once."""
        if name is None:
            return None
        with self._loading:
            if self._embedder is None or self._embedder[0] != name:
                self._embedder = (name, _loaded(name))
            return self._embedder[1]


def _loaded(name: str) -> Embedder | None:
    """The model of the settings; None where it cannot be loaded: words are searched then."""
    try:
        return load_embedder(name)
    except KdsError as error:
        logger.warning("searching by words alone: %s", error)
        return None


def _asked(query: str) -> str:
    if not query.strip():
        raise MessageError("the query is empty", hint="ask something")
    return query


def _hits_text(found: MemoryHits) -> str:
    lines = [f"note: {note}" for note in found.notes]
    lines += [f"summary: {summary}" for summary in found.summaries]
    for number, hit in enumerate(found.hits, start=1):
        title = f" '{hit.title}'" if hit.title else ""
        lines.append(f"{number}. {hit.speaker or hit.role}, {hit.at}, session {hit.session}{title}")
        lines.append(hit.text.strip())
    return "\n".join(lines) if found.hits or found.notes else "nothing was found"


def _sessions_text(found: SessionList) -> str:
    lines = [
        f"{one.id} {one.updated_at} {one.title or '(no title)'}, {one.messages} messages"
        for one in found.sessions
    ]
    if found.next_offset is not None:
        lines.append(f"more from offset {found.next_offset}")
    return "\n".join(lines) or NOTHING
