"""The clarifying question as an MCP elicitation: a form with one choice (DESIGN 7).

Two generations of the protocol ask in two ways. Up to 2025-11-25 the server sends a request of
its own while the tool call waits; from 2026-07-28 on the call returns the question, and the
client calls again with the answer.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from mcp import MCPError
from mcp.server.mcpserver import Context
from mcp.shared.message import ServerMessageMetadata
from mcp_types import ClientCapabilities, ElicitRequest, ElicitRequestFormParams, ElicitResult
from mcp_types.version import is_version_at_least
from pydantic import ValidationError

from kds.mcp.tool_schemas import Clarification

ANSWER_S: Final = 55.0
"""Seconds to wait for the user. The TypeScript SDK, which most clients are built with, gives up
on a tool call after 60 s (DEFAULT_REQUEST_TIMEOUT_MSEC): the text must come before that."""

KEY: Final = "intent"
"""The one field of the form, and the name of the question between two calls."""

_ASKS_BY_RESULT: Final = "2026-07-28"
_TITLED_CHOICES: Final = "2025-11-25"
"""First version with `oneOf` choices (SEP-1330); before, titles are `enumNames`."""


@dataclass(frozen=True, slots=True)
class Question:
    """A question and its choices: intent -> the phrase that stands for it."""

    text: str
    choices: Mapping[str, str]

    def request(self, protocol_version: str | None) -> ElicitRequest:
        """The form, in the spelling that the version of the protocol knows."""
        if protocol_version is None or is_version_at_least(protocol_version, _TITLED_CHOICES):
            spelled: dict[str, Any] = {
                "oneOf": [{"const": name, "title": title} for name, title in self.choices.items()]
            }
        else:
            spelled = {"enum": list(self.choices), "enumNames": list(self.choices.values())}
        choice = {"type": "string", "title": "What did you mean?", **spelled}
        schema = {"type": "object", "properties": {KEY: choice}, "required": [KEY]}
        params = ElicitRequestFormParams(message=self.text, requested_schema=schema)
        return ElicitRequest(params=params)

    def answer(self, result: object) -> "Answer":
        """Read what the client sent back; whatever is no answer counts as none."""
        if not isinstance(result, ElicitResult):
            return Answer("unanswered")
        if result.action != "accept":
            return Answer("declined" if result.action == "decline" else "cancelled")
        chosen = (result.content or {}).get(KEY)
        if isinstance(chosen, str) and chosen in self.choices:
            return Answer("accepted", chosen)
        return Answer("unanswered")


@dataclass(frozen=True, slots=True)
class Answer:
    """What became of a question, and the intent if one was chosen."""

    outcome: Clarification
    intent: str | None = None


def can_ask(capabilities: ClientCapabilities | None) -> bool:
    """Tell whether the client shows forms. `elicitation: {}` says so too: it predates modes."""
    elicitation = capabilities.elicitation if capabilities is not None else None
    return elicitation is not None and (elicitation.form is not None or elicitation.url is None)


def asks_by_result(protocol_version: str | None) -> bool:
    """Tell whether a question travels as the result of the call (2026-07-28 and later)."""
    return protocol_version is not None and is_version_at_least(protocol_version, _ASKS_BY_RESULT)


async def ask(question: Question, ctx: Context[Any, Any], *, timeout_s: float) -> Answer:
    """Ask while the call waits, for ``timeout_s`` at most. Never raises: no answer is an answer."""
    metadata = ServerMessageMetadata(related_request_id=ctx.request_id)
    try:
        result = await ctx.session.send_request(
            question.request(ctx.protocol_version),
            ElicitResult,
            request_read_timeout_seconds=timeout_s,
            metadata=metadata,
        )
    except (MCPError, ValidationError):  # too late, refused, cannot be delivered, or misshapen
        return Answer("unanswered")
    return question.answer(result)
