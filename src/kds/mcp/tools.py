"""The seven tools: routing, the conversation context, the memory; what they take and return.

The SDK sends each result as structured content and as JSON text. Claude Code, Codex and opencode
hand a model the structure alone (issue 79944 of anthropics/claude-code): see ``next_step``.
"""

import inspect
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Annotated, Any, Final

from mcp.server.mcpserver import MCPServer
from mcp_types import ToolAnnotations
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from kds.brain.clock import moment
from kds.brain.context.names import NAME_LIMIT
from kds.brain.message import MESSAGE_LIMIT
from kds.brain.turn import Action, IntentScore, Reference, Turn, entry_to_wire

if TYPE_CHECKING:
    from kds.brain.passages.recall import Hit
    from kds.mcp.workplace import Workplace

READS: Final = ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False)
ADDS: Final = ToolAnnotations(
    read_only_hint=False, destructive_hint=False, idempotent_hint=False, open_world_hint=False
)
CLEARS: Final = ToolAnnotations(
    read_only_hint=False, destructive_hint=True, idempotent_hint=True, open_world_hint=False
)

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
SessionName = Annotated[
    str,
    ABSENT,
    Field(description="A session: its id or the beginning of it, its title, or 'last'."),
]


class _Result(BaseModel):
    model_config = ConfigDict(frozen=True)


class Resolution(_Result):
    """What a message says once its references are resolved."""

    message: str
    expanded: str = Field(description="The message as it can be understood without the chat.")
    references: list[Reference]
    context_ref: str | None = Field(description="What the message is about, from the context.")
    context_switch: bool = Field(description="Whether the message changes the topic.")


class RoutedMessage(Resolution):
    """A routed message: its intent, its agent, and the prompt to follow."""

    action: Action = Field(description="route: follow `prompt`; clarify: ask `question`.")
    next_step: str = Field(description="What to do with this result.")
    intent: str
    confidence: Annotated[float, Field(ge=0, le=1)]
    secondary_intents: list[str]
    alternatives: list[IntentScore]
    question: str | None
    candidates: list[str] = Field(description="The intents that `question` offers.")
    session_id: str | None
    agent: str | None
    prompt_file: str | None
    prompt: str = Field(description="The agent's instructions for this message.")
    noted: str | None = Field(description="What was noted of a corrected intent; docs/learning.md.")
    notice: str | None = Field(description="Set for a message that KDS cannot read: not English.")
    why: list[str]


class RememberedMessage(_Result):
    """One entry of the conversation context: a message of the user, and its intent."""

    timestamp: str = Field(description="ISO 8601, UTC.")
    user_message: str
    intent: str
    session_id: str | None
    context_ref: str | None = None


class ContextView(_Result):
    """The conversation context: at most ten messages of the last two hours, oldest first."""

    conversation: str | None = Field(description="null: the one that the workspace shares.")
    entries: list[RememberedMessage]
    warnings: list[str]


class ClearedContext(_Result):
    """How many messages were cleared."""

    conversation: str | None
    cleared: int


class RecalledPassage(_Result):
    """A part of a message that answers the question, and where it was said."""

    text: str
    session: str
    title: str
    message: str
    role: str
    at: str = Field(description="ISO 8601, UTC.")
    kind: str
    score: float
    elsewhere: bool = Field(description="Of another session than the one asked about.")
    why: list[str]


class MemoryHits(_Result):
    """What past conversations say about a question, the best first."""

    query: str
    hits: list[RecalledPassage] = []
    profile: list[str] = Field(default=[], description="The user's own profile, by consent.")
    summaries: list[str] = Field(default=[], description="Of the session asked about.")
    notes: list[str] = Field(default=[], description="What to know about this search.")


class PastPassage(_Result):
    """A passage of a past session."""

    session: str
    message: str
    client: str
    at: str
    branch: str
    role: str
    text: str
    resume: str
    by_meaning: bool = Field(description="No word of the question is in it.")


class PastPassages(_Result):
    """The best passages, within the room that a result has."""

    sure: float = 0.0
    passages: list[PastPassage] = []
    notes: list[str] = []


class PastSession(_Result):
    """A part of a past session."""

    session: str
    title: str
    text: str
    next_offset: int | None


def add_tools(server: MCPServer[Any], workplace: "Callable[[], Workplace]") -> None:
    """Register the tools."""
    tools = _Tools(workplace)
    for function, title, annotations in (
        (tools.route_message, "Route a message", ADDS),
        (tools.resolve_references, "Resolve references", READS),
        (tools.context_load, "Load the context", READS),
        (tools.context_clear, "Clear the context", CLEARS),
        (tools.memory_search, "Search the memory", READS),
        (tools.recall, "Recall past sessions", READS),
        (tools.recall_session, "Read a past session", READS),
    ):
        description = inspect.getdoc(function)  # without the indentation of the code
        server.add_tool(function, title=title, annotations=annotations, description=description)


class _Tools:
    """The functions behind the tools. Their docstrings are the descriptions that a model reads."""

    def __init__(self, workplace: "Callable[[], Workplace]") -> None:
        self._workplace = workplace

    def route_message(
        self,
        message: Message,
        conversation: Conversation = "",
        log: Annotated[
            bool, Field(description="Remember the message for the ones that follow.")
        ] = True,
    ) -> RoutedMessage:
        """Make one message of the user self-contained, find its intent, and pick the agent for it.

        Call it when a message points to something you cannot see, or the user asks for KDS, with
        the message word for word. Else do not. Then do what `next_step` says: `expanded` is the
        request with its references filled in, `prompt` has the instructions.
        """
        turn = self._workplace().route(message, conversation=conversation or None, log=log)
        return RoutedMessage.model_validate({**turn.as_dict(), "next_step": next_step(turn)})

    def resolve_references(self, message: Message, conversation: Conversation = "") -> Resolution:
        """Say what a message refers to ("it", "the second one"), without remembering it."""
        turn = self._workplace().route(message, conversation=conversation or None, log=False)
        return Resolution.model_validate(turn.as_dict())

    def context_load(self, conversation: Conversation = "") -> ContextView:
        """Show what is remembered of the conversation: ten messages, two hours."""
        return context_view(self._workplace(), conversation or None)

    def context_clear(self, conversation: Conversation = "") -> ClearedContext:
        """Forget the conversation so far. Do it only when the user asks for it."""
        cleared = self._workplace().clear(conversation or None)
        return ClearedContext(conversation=conversation or None, cleared=cleared)

    def memory_search(
        self,
        query: Annotated[str, Field(description="A question, or words and names to look for.")],
        session: SessionName = "",
        limit: Annotated[int, Field(ge=1, le=50, description="Most passages.")] = 5,
    ) -> MemoryHits:
        """Find what was said in past conversations: decisions, facts, code, and where.

        With `session` that one is searched first, the others only when it has too little.
        """
        found = self._workplace().search(query, session, limit)
        if found is None or found.context is None:
            return MemoryHits(query=query, notes=["nothing is remembered yet"])
        return MemoryHits(
            query=query,
            hits=[_passage(hit, found.titles) for hit in found.context.used],
            profile=list(found.profile),
            summaries=[summary.text for summary, _ in found.summaries],
            notes=[*found.notes, *found.context.notes],
        )

    def recall(
        self,
        question: Annotated[str, Field(description="The user's words, or a pasted error line.")],
        all_projects: Annotated[bool, Field(description="Not this repository alone.")] = False,
    ) -> PastPassages:
        """Search the user's past sessions with every coding assistant in this repository.

        Call it when the user points back ("like last time", "what did we decide"), when you meet
        an error that may have been solved before, and before you decide what may be decided
        already. If `sure` is below 0.85, the passages may not answer. More of one: recall_session.
        """
        return self._workplace().recall(question, all_projects)

    def recall_session(
        self,
        session: Annotated[str, Field(description="The `session` that recall gave.")],
        message: Annotated[str, ABSENT, Field(description="Begin with this `message`.")] = "",
        offset: Annotated[int, Field(ge=0, description="Characters to skip.")] = 0,
    ) -> PastSession:
        """Read a past session of an assistant, from a message on, in parts."""
        return self._workplace().recalled_session(session, message, offset)


def context_view(workplace: "Workplace", conversation: str | None) -> ContextView:
    """Return the context of a conversation as the tools show it."""
    loaded = workplace.journal(conversation).load()
    entries = [RememberedMessage.model_validate(entry_to_wire(entry)) for entry in loaded.entries]
    return ContextView(conversation=conversation, entries=entries, warnings=list(loaded.warnings))


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


def _passage(hit: "Hit", titles: Mapping[str, str]) -> RecalledPassage:
    passage = hit.passage
    return RecalledPassage(
        text=passage.body,
        session=passage.session_id,
        title=titles.get(passage.session_id, ""),
        message=passage.message_id,
        role=passage.role,
        at=moment(passage.at),
        kind=passage.kind,
        score=round(hit.score, 4),
        elsewhere=hit.elsewhere,
        why=list(hit.why),
    )
