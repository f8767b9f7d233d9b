"""The workspace behind the MCP server, and the seven tools that work on it.

The SDK sends each result as structured content and as JSON text. Claude Code, Codex and opencode
hand a model the structure alone (issue 79944 of anthropics/claude-code): see ``next_step``.
Most of KDS is imported when a tool needs it: the client is answered before.
"""

import threading
from contextlib import closing
from typing import TYPE_CHECKING, Annotated, Any, Final

from pydantic import BeforeValidator, Field

from kds.brain.clock import moment, utc_now
from kds.brain.context.names import NAME_LIMIT, conversation_path
from kds.brain.errors import KdsError, MessageError
from kds.brain.message import MESSAGE_LIMIT, clean_message
from kds.brain.turn import Turn, entry_to_wire
from kds.brain.workspace import Workspace
from kds.service.freshness import Mark, fingerprint
from kds.service.service_client import RouterClient

if TYPE_CHECKING:
    from kds.brain.context.journal import Journal
    from kds.brain.passages.store import Embedder
    from kds.router.prompts.library import PromptLibrary

RESULT_TOKENS: Final = 1_500  # of what a tool tells of past sessions of assistants

NOT_IMPORTED: Final = "the user can bring past sessions in: kds memory import"

ABSENT: Final = BeforeValidator(lambda given: "" if given is None else given)
"""For a plain `str` with "" for nothing: otherwise the SDK reads a text such as "null" as JSON."""

Message = Annotated[
    str,
    Field(
        description="What the user wrote, word for word.",
        json_schema_extra={"maxLength": MESSAGE_LIMIT},
    ),
]
Conversation = Annotated[
    str,
    ABSENT,
    Field(
        description="Name of the conversation, such as the client's session id. "
        "Nothing: the one that all windows of the workspace share.",
        json_schema_extra={"maxLength": NAME_LIMIT},
    ),
]

Result = dict[str, Any]

_RESOLVED: Final = ("message", "expanded", "references", "context_ref", "context_switch")
_ROUTED: Final = (
    *_RESOLVED, "action", "intent", "confidence", "secondary_intents", "alternatives", "question",
    "candidates", "session_id", "agent", "prompt_file", "prompt", "noted", "notice", "why",
)  # fmt: skip
"""What is told of a turn."""


class Workplace:
    """What every tool, prompt and resource works on. Threads may share it.

    Prompts and rules are read again when their files change, without those that do not load. The
    docstrings of the tools are the descriptions that a model reads.
    """

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        self._reading = threading.RLock()
        self._routing = threading.Lock()
        self._client = RouterClient(workspace)
        self._library: PromptLibrary | None = None
        self._seen: Mark | None = None
        self._embedders: dict[str, Embedder | str] = {}
        self._brief: tuple[object, str] = (None, "")

    def library(self) -> "PromptLibrary":
        """Return the prompts as their files are now."""
        from kds.router.prompts.library import PromptLibrary

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

    def handoff(self, to: str) -> str:
        """Return the brief of the last session of an assistant in this repository."""
        from kds.agents.models import LazyModel
        from kds.agents.prompting import brief_writer
        from kds.brain.settings import load_settings
        from kds.transcripts.catalogue import AssistantMemory
        from kds.transcripts.handoff import brief
        from kds.transcripts.recalling import latest

        settings = load_settings(self.workspace)
        with closing(AssistantMemory.of(settings)) as memory:
            project = memory.project_of(str(self.workspace.root))
            found = latest(memory, project) if project else None
        if found is None:
            raise KdsError("no session of an assistant is kept here", hint=NOT_IMPORTED)
        key, model = (found[0].session, to), LazyModel(settings.model)
        if self._brief[0] == key:  # a client asks again for what it shows
            return self._brief[1]
        write = brief_writer(model, self.library())
        made = brief(*found, to=to, write=write, timeout_s=settings.model.timeout_s)
        if made.by == "model":
            self._brief = key, made.text
        return made.text + "".join(f"\n({note})\n" for note in made.notes)

    def route_message(
        self,
        message: Message,
        conversation: Conversation = "",
        log: Annotated[
            bool, Field(description="Remember the message for the ones that follow.")
        ] = True,
    ) -> Result:
        """Make one message of the user self-contained, find its intent, and pick the agent for it.

        Call it when a message points to something you cannot see, or the user asks for KDS, with
        the message word for word. Else do not. Then do what `next_step` says: `expanded` is the
        request with its references filled in, `prompt` has the instructions.
        """
        turn = self.route(message, conversation=conversation or None, log=log)
        told = turn.as_dict()
        return {"next_step": next_step(turn), **{name: told[name] for name in _ROUTED}}

    def resolve_references(self, message: Message, conversation: Conversation = "") -> Result:
        """Say what a message refers to ("it", "the second one"), without remembering it."""
        told = self.route(message, conversation=conversation or None, log=False).as_dict()
        return {name: told[name] for name in _RESOLVED}

    def context_load(self, conversation: Conversation = "") -> Result:
        """Show what is remembered of the conversation: ten messages, two hours."""
        loaded = self._journal(conversation).load()
        entries = list(map(entry_to_wire, loaded.entries))
        told = {"entries": entries, "warnings": list(loaded.warnings)}
        return {"conversation": conversation or None, **told}

    def context_clear(self, conversation: Conversation = "") -> Result:
        """Forget the conversation so far. Do it only when the user asks for it."""
        from kds.api.turn_log import TurnLog

        cleared = self._journal(conversation).clear()
        TurnLog(self.workspace).forget(conversation or None)
        return {"conversation": conversation or None, "cleared": cleared}

    def memory_search(
        self,
        query: Annotated[str, Field(description="A question, or words and names to look for.")],
        session: Annotated[
            str,
            ABSENT,
            Field(description="A session: its id or the beginning of it, its title, or 'last'."),
        ] = "",
        limit: Annotated[int, Field(ge=1, le=50, description="Most passages.")] = 5,
    ) -> Result:
        """Find what was said in past conversations: decisions, facts, code, and where.

        With `session` that one is searched first, the others only when it has too little.
        """
        from kds.api.memory_search import search_memory
        from kds.api.turn_log import find_session
        from kds.brain.memory.memory_store import MemoryPlace
        from kds.brain.settings import load_settings

        if not query.strip():
            raise MessageError("the query is empty", hint="ask something")
        options = load_settings(self.workspace).recall
        with MemoryPlace.of(self.workspace).if_any() as store:
            chosen = find_session(store, session) if session else None
            if store is None:
                return {"query": query, "hits": [], "notes": ["nothing is remembered yet"]}
            embedder, failed = self._embedder(options.embeddings)
            found = search_memory(
                store, query, options=options, limit=limit, surface="mcp",
                session=chosen.id if chosen else None, budget=options.token_budget,
                embedder=embedder,
            )  # fmt: skip
        used, notes = (found.context.used, found.context.notes) if found.context else ((), ())
        hits = [
            {
                "text": one.passage.body, "session": one.passage.session_id,
                "title": found.titles.get(one.passage.session_id, ""),
                "message": one.passage.message_id, "role": one.passage.role,
                "at": moment(one.passage.at), "kind": one.passage.kind,
                "score": round(one.score, 4), "elsewhere": one.elsewhere, "why": list(one.why),
            }
            for one in used
        ]  # fmt: skip
        summaries = [summary.text for summary, _ in found.summaries]
        told = {"profile": list(found.profile), "summaries": summaries}
        return {"query": query, "hits": hits, **told, "notes": [*found.notes, *failed, *notes]}

    def recall(
        self,
        question: Annotated[str, Field(description="The user's words, or a pasted error line.")],
        all_projects: Annotated[bool, Field(description="Not this repository alone.")] = False,
    ) -> Result:
        """Search the user's past sessions with every coding assistant in this repository.

        Call it when the user points back ("like last time", "what did we decide"), when you meet
        an error that may have been solved before, and before you decide what may be decided
        already. If `sure` is below 0.85, the passages may not answer. More of one: recall_session.
        """
        from kds.brain.settings import load_settings
        from kds.transcripts.catalogue import AssistantMemory
        from kds.transcripts.recalling import ask

        if not question.strip():
            raise MessageError("the question is empty", hint="ask something")
        settings = load_settings(self.workspace)
        with closing(AssistantMemory.of(settings)) as memory:
            if not memory.exists:
                return {"sure": 0.0, "passages": [], "notes": [NOT_IMPORTED]}
            here = memory.project_of(str(self.workspace.root))
            projects = memory.projects() if all_projects else (here,) if here else ()
            answer = ask(
                memory, projects, question, now=utc_now(), surface="mcp",
                embedder=self._embedder(settings.recall.embeddings)[0],
            ).within(RESULT_TOKENS)  # fmt: skip
        passages = [
            {
                "session": one.kept.session.id, "message": one.hit.passage.message_id,
                "client": one.kept.client, "at": moment(one.hit.passage.at),
                "branch": one.kept.branch, "role": one.hit.passage.role,
                "text": one.hit.passage.body, "resume": one.kept.resume,
                "by_meaning": one.by_meaning,
            }
            for one in answer.found
        ]  # fmt: skip
        return {"sure": round(answer.sure, 2), "passages": passages, "notes": [*answer.notes]}

    def recall_session(
        self,
        session: Annotated[str, Field(description="The `session` that recall gave.")],
        message: Annotated[str, ABSENT, Field(description="Begin with this `message`.")] = "",
        offset: Annotated[int, Field(ge=0, description="Characters to skip.")] = 0,
    ) -> Result:
        """Read a past session of an assistant, from a message on, in parts."""
        from kds.brain.settings import load_settings
        from kds.transcripts.catalogue import AssistantMemory
        from kds.transcripts.recalling import read_session

        with closing(AssistantMemory.of(load_settings(self.workspace))) as memory:
            kept, text, following = read_session(
                memory, session, message=message, offset=offset, tokens=RESULT_TOKENS
            )
        told = {"session": kept.session.id, "title": kept.session.title}
        return {**told, "text": text, "next_offset": following}

    def _journal(self, conversation: str) -> "Journal":
        from kds.brain.context.journal import Contexts

        return Contexts(self.workspace).journal(conversation or None)

    def _embedder(self, embeddings: str | None) -> "tuple[Embedder | None, tuple[str, ...]]":
        """The embedding model of the settings, loaded once; a note where it cannot be loaded."""
        from kds.api.embeddings import load_embedder, model_name

        if (name := model_name(embeddings)) is None:
            return None, ()
        with self._reading:
            if name not in self._embedders:
                try:
                    self._embedders[name] = load_embedder(name)
                except KdsError as error:
                    self._embedders[name] = f"searched by words alone: {error}"
            found = self._embedders[name]
        return (None, (found,)) if isinstance(found, str) else (found, ())


def next_step(turn: Turn) -> str:
    """Tell the assistant what to do with a routed message.

    >>> from kds.brain.clock import utc_now
    >>> next_step(Turn("hm", utc_now(), expanded="hm"))
    'Follow `prompt`: the message was not understood.'
    """
    if turn.notice:
        return f"{turn.notice}. Do what the user asks."
    if turn.action == "route":
        return f"Do what `prompt` says; the user's request is: {turn.expanded}"
    if turn.action == "clarify":
        return (
            "Ask the user `question`, then call route_message with the answer, such as "
            f"'{turn.candidates[0].lower().replace('_', ' ')}' or 'the first one'."
        )
    return "Follow `prompt`: the message was not understood."
