"""The workspace behind the MCP server: its router, prompts, conversations and memory.

Importing this loads half of KDS, so the server does it after `initialize` is answered.
"""

import threading
from contextlib import closing
from dataclasses import replace
from typing import Final

from kds.agents.models import LazyModel
from kds.agents.prompting import brief_writer
from kds.api.embeddings import load_embedder, model_name
from kds.api.memory_search import Searched, search_memory
from kds.api.turn_log import TurnLog, find_session
from kds.brain.clock import moment, utc_now
from kds.brain.context.journal import Contexts, Journal
from kds.brain.context.names import conversation_path
from kds.brain.errors import KdsError, MessageError
from kds.brain.memory.memory_store import MemoryPlace
from kds.brain.message import clean_message
from kds.brain.passages.recall import recall_settings
from kds.brain.passages.store import Embedder
from kds.brain.settings import load_settings
from kds.brain.turn import Turn
from kds.brain.workspace import Workspace
from kds.mcp.tools import PastPassage, PastPassages, PastSession
from kds.router.prompts.library import PromptLibrary
from kds.service.freshness import Mark, fingerprint
from kds.service.service_client import RouterClient
from kds.transcripts.catalogue import AssistantMemory
from kds.transcripts.handoff import brief
from kds.transcripts.recalling import ask, latest, read_session

RESULT_TOKENS: Final = 1_500
"""Of what a tool tells of past sessions of assistants."""

NOT_IMPORTED: Final = "the user can bring past sessions in: kds memory import"


class Workplace:
    """What every tool, prompt and resource works on. Threads may share it.

    Prompts and rules are read again when their files change, without those that do not load.
    """

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        self._reading = threading.RLock()
        self._routing = threading.Lock()
        self._client: RouterClient = RouterClient(workspace)
        self._library: PromptLibrary | None = None
        self._seen: Mark | None = None
        self._contexts = Contexts(workspace)
        self._embedders: dict[str, Embedder | str] = {}
        self._brief: tuple[object, str] = (None, "")

    def library(self) -> PromptLibrary:
        """Return the prompts as their files are now."""
        with self._reading:
            found = fingerprint(self.workspace)
            if self._library is None or found != self._seen:
                self._library = None
                self._library = PromptLibrary.sound(self.workspace.prompts_dir)[0]
                self._client, self._seen = RouterClient(self.workspace), found
            return self._library

    def route(self, message: str, *, conversation: str | None, log: bool) -> Turn:
        """Route ``message``; `kds.api.conversations.Conversations.route` says how.

        Raises MessageError when it is empty or too long, or the name of the conversation is
        invalid.
        """
        clean_message(message)
        if conversation is not None:
            conversation_path(self.workspace, conversation)
        self.library()
        with self._routing:  # its first call loads the router, which is to happen once
            return self._client.route(message, conversation=conversation, log=log)

    def journal(self, conversation: str | None) -> Journal:
        """Return the context of a conversation; without a name, that of the workspace.

        Raises MessageError for an invalid name.
        """
        return self._contexts.journal(conversation)

    def clear(self, conversation: str | None) -> int:
        """Clear the context of a conversation; returns the number of entries."""
        count = self.journal(conversation).clear()
        TurnLog(self.workspace).forget(conversation)
        return count

    def search(self, query: str, session: str, limit: int) -> Searched | None:
        """Search the memory; None where nothing is remembered.

        Raises KdsError for an unknown session.
        """
        if not query.strip():
            raise MessageError("the query is empty", hint="ask something")
        options = load_settings(self.workspace).recall
        with MemoryPlace.of(self.workspace).if_any() as store:
            chosen = find_session(store, session) if session else None
            if store is None:
                return None
            embedder = self._embedder(model_name(options.embeddings))
            failed = (embedder,) if isinstance(embedder, str) else ()
            found = search_memory(
                store, query, settings=recall_settings(options), limit=limit, surface="mcp",
                session=chosen.id if chosen else None, budget=options.token_budget,
                embedder=None if isinstance(embedder, str) else embedder,
            )  # fmt: skip
        return replace(found, notes=(*found.notes, *failed))

    def recall(self, question: str, everywhere: bool) -> PastPassages:
        """Search the sessions of assistants: passages of RESULT_TOKENS in all."""
        if not question.strip():
            raise MessageError("the question is empty", hint="ask something")
        settings = load_settings(self.workspace)
        embedder = self._embedder(model_name(settings.recall.embeddings))
        with closing(AssistantMemory.of(settings)) as memory:
            if not memory.exists:
                return PastPassages(notes=[NOT_IMPORTED])
            here = memory.project_of(str(self.workspace.root))
            projects = memory.projects() if everywhere else (here,) if here else ()
            answer = ask(
                memory, projects, question, now=utc_now(), surface="mcp",
                embedder=None if isinstance(embedder, str) else embedder,
            ).within(RESULT_TOKENS)  # fmt: skip
        passages = [
            PastPassage(
                session=one.kept.session.id, client=one.kept.client, branch=one.kept.branch,
                resume=one.kept.resume, message=one.hit.passage.message_id,
                at=moment(one.hit.passage.at), role=one.hit.passage.role,
                text=one.hit.passage.body, by_meaning=one.by_meaning,
            )
            for one in answer.found
        ]  # fmt: skip
        return PastPassages(sure=round(answer.sure, 2), passages=passages, notes=[*answer.notes])

    def recalled_session(self, session: str, message: str, offset: int) -> PastSession:
        """Read a part of a session of an assistant. Raises StoreError."""
        with closing(AssistantMemory.of(load_settings(self.workspace))) as memory:
            kept, text, following = read_session(
                memory, session, message=message, offset=offset, tokens=RESULT_TOKENS
            )
        title = kept.session.title
        return PastSession(session=kept.session.id, title=title, text=text, next_offset=following)

    def handoff(self, to: str) -> str:
        """Return the brief of the last session of an assistant in this repository."""
        with closing(AssistantMemory.of(load_settings(self.workspace))) as memory:
            project = memory.project_of(str(self.workspace.root))
            found = latest(memory, project) if project else None
        if found is None:
            raise KdsError("no session of an assistant is kept here", hint=NOT_IMPORTED)
        key, model = (found[0].session, to), LazyModel(load_settings(self.workspace).model)
        if self._brief[0] == key:  # a client asks again for what it shows
            return self._brief[1]
        write = brief_writer(model, self.library())
        made = brief(*found, to=to, write=write, timeout_s=model.settings.timeout_s)
        if made.by == "model":
            self._brief = key, made.text
        return made.text + "".join(f"\n({note})\n" for note in made.notes)

    def _embedder(self, name: str | None) -> Embedder | str | None:
        """The embedding model of the settings, loaded once; a note where it cannot be loaded."""
        if name is None:
            return None
        with self._reading:
            if name not in self._embedders:
                try:
                    self._embedders[name] = load_embedder(name)
                except KdsError as error:
                    self._embedders[name] = f"searched by words alone: {error}"
            return self._embedders[name]
