"""The tools: routing, resolving, explaining, and the conversation context."""

from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, Final

import anyio.to_thread
from mcp.server.mcpserver import Context, MCPServer
from mcp_types import CallToolResult, InputRequiredResult, ToolAnnotations
from pydantic import Field

from kds.brain.clock import utc_now
from kds.brain.context.conversations import NAME_LIMIT
from kds.brain.message import MESSAGE_LIMIT, clean_message
from kds.brain.turn import ContextEntry, Turn
from kds.mcp.clarification import KEY, Answer, Question, ask, asks_by_result, can_ask
from kds.mcp.results import (
    ABSENT,
    READS,
    cleared_text,
    context_text,
    explained_text,
    resolved_text,
    result,
    routed_text,
)
from kds.mcp.tool_schemas import (
    Clarification,
    ClearedContext,
    ContextView,
    Explanation,
    Resolution,
    RoutedMessage,
)
from kds.mcp.workplace import Workplace
from kds.router.prompts.promptfile import PromptFile

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
MaybeText = Annotated[str, ABSENT]

_ADDS: Final = ToolAnnotations(
    read_only_hint=False, destructive_hint=False, idempotent_hint=False, open_world_hint=False
)
_CLEARS: Final = ToolAnnotations(
    read_only_hint=False, destructive_hint=True, idempotent_hint=True, open_world_hint=False
)


def add_tools(server: MCPServer[Any], workplace: Workplace, *, answer_s: float) -> None:
    """Register the six tools; a clarifying question waits ``answer_s`` seconds for its answer."""
    tools = _Tools(workplace, answer_s)
    server.add_tool(tools.route_message, title="Route a message", annotations=_ADDS)
    server.add_tool(tools.resolve_references, title="Resolve references", annotations=READS)
    server.add_tool(tools.context_load, title="Load the context", annotations=READS)
    server.add_tool(tools.context_log, title="Log to the context", annotations=_ADDS)
    server.add_tool(tools.context_clear, title="Clear the context", annotations=_CLEARS)
    server.add_tool(tools.explain, title="Explain the routing", annotations=READS)


class _Tools:
    """The functions behind the tools. Their docstrings are what a model reads of them."""

    def __init__(self, workplace: Workplace, answer_s: float) -> None:
        self._workplace = workplace
        self._answer_s = answer_s

    async def route_message(
        self,
        message: Message,
        ctx: Context[Any, Any],
        conversation: Conversation = "",
        log: Annotated[
            bool, Field(description="Remember the message for the ones that follow.")
        ] = True,
    ) -> Annotated[CallToolResult, RoutedMessage] | InputRequiredResult:
        """Route one message of the user: make it self-contained, find its intent, pick the agent.

        Call it when the user asks for KDS, or a message needs what was said in earlier chats to
        be understood; then do what `next_step` says: `expanded` is the request with its references
        filled in, `prompt` are the instructions.
        """
        wanted = _Wanted(self._workplace, message, conversation or None, log)
        if not can_ask(ctx.client_capabilities):
            turn = await wanted.route()
            return self._routed(turn, "unsupported" if turn.action == "clarify" else "none")
        turn = await wanted.route(log=False)
        if turn.action != "clarify":
            return self._routed(await wanted.logged(turn), "none")
        return await self._clarify(wanted, turn, ctx)

    def resolve_references(
        self, message: Message, conversation: Conversation = ""
    ) -> Annotated[CallToolResult, Resolution]:
        """Say what a message refers to ("it", "the second one"), without remembering it."""
        turn = self._workplace.route(message, conversation=conversation or None, log=False)
        found = Resolution.of(turn)
        return result(resolved_text(found), found)

    def context_load(
        self, conversation: Conversation = ""
    ) -> Annotated[CallToolResult, ContextView]:
        """Show what is remembered of the conversation: ten messages, two hours."""
        named = conversation or None
        view = ContextView.of(self._workplace.journal(named).load(), conversation=named)
        return result(context_text(view), view)

    def context_log(
        self,
        message: Message,
        intent: Annotated[str, Field(description="The intent of the message, such as EXECUTE.")],
        context_ref: Annotated[MaybeText, Field(description="What it refers to.")] = "",
        session_id: Annotated[MaybeText, Field(description="The session it belongs to.")] = "",
        conversation: Conversation = "",
    ) -> Annotated[CallToolResult, ContextView]:
        """Remember a message that was handled without route_message, secrets taken out."""
        named = conversation or None
        entry = ContextEntry(
            timestamp=utc_now(),
            user_message=clean_message(message),
            intent=self._workplace.agent_of(intent).intent or intent,
            session_id=clean_message(session_id) if session_id else None,
            context_ref=clean_message(context_ref) if context_ref else None,
        )
        self._workplace.workspace.ensure()
        view = ContextView.of(self._workplace.journal(named).log(entry), conversation=named)
        return result(context_text(view), view)

    def context_clear(
        self, conversation: Conversation = ""
    ) -> Annotated[CallToolResult, ClearedContext]:
        """Forget the conversation so far. Do it only when the user asks for it."""
        named = conversation or None
        count = self._workplace.clear(named)
        cleared = ClearedContext(conversation=named, cleared=count)
        return result(cleared_text(cleared), cleared)

    def explain(
        self, message: Message, conversation: Conversation = ""
    ) -> Annotated[CallToolResult, Explanation]:
        """Show how a message would be routed, step by step, without remembering it."""
        turn = self._workplace.route(message, conversation=conversation or None, log=False)
        explanation = Explanation.of(turn)
        return result(explained_text(explanation), explanation)

    async def _clarify(
        self, wanted: "_Wanted", asked: Turn, ctx: Context[Any, Any]
    ) -> CallToolResult | InputRequiredResult:
        """Ask which of the candidates is meant, and route to the one that is chosen.

        Whoever was asked and chose nothing gets the question as text; it is remembered, so
        that a later "the first one" still answers it (router/answer.py).
        """
        choices = {name: _phrase(self._workplace.agent_of(name)) for name in asked.candidates}
        question = Question(asked.question or "What did you mean?", choices)
        if not asks_by_result(ctx.protocol_version):
            answer = await ask(question, ctx, timeout_s=self._answer_s)
        elif ctx.input_responses is None:
            return InputRequiredResult(input_requests={KEY: question.request(ctx.protocol_version)})
        else:
            answer = question.answer(ctx.input_responses.get(KEY))
        return self._routed(await self._answered(wanted, asked, answer), answer.outcome)

    async def _answered(self, wanted: "_Wanted", asked: Turn, answer: Answer) -> Turn:
        if answer.intent is None:
            return await wanted.logged(asked)
        agent = self._workplace.agent_of(answer.intent)
        turn = await wanted.route(f"#file:{agent.ref} {asked.message}")
        if wanted.log:
            self._workplace.learn(asked, answer.intent, conversation=wanted.conversation)
        return turn

    def _routed(self, turn: Turn, clarification: Clarification) -> CallToolResult:
        warnings = self._workplace.warnings
        routed = RoutedMessage.made_of(turn, clarification=clarification, warnings=warnings)
        return result(routed_text(routed), routed)


@dataclass(frozen=True, slots=True)
class _Wanted:
    """A message to be routed off the event loop, and whether it is to be remembered."""

    workplace: Workplace
    message: str
    conversation: str | None
    log: bool

    async def route(self, text: str | None = None, *, log: bool | None = None) -> Turn:
        """Route ``text`` in place of the message, or the message itself."""
        work = partial(
            self.workplace.route,
            self.message if text is None else text,
            conversation=self.conversation,
            log=self.log if log is None else log,
        )
        return await anyio.to_thread.run_sync(work)

    async def logged(self, turn: Turn) -> Turn:
        """Make up for the logging of a turn that was routed silently, if it is wanted."""
        return await self.route() if self.log else turn


def _phrase(agent: PromptFile) -> str:
    return agent.ask or agent.name.replace("-", " ")
