"""What goes over the wire: the bodies of requests and replies, documented in /openapi.json.

Requests are strict: a field too many or of another type is a 422, not a guess.
"""

from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from kds.api.records import NAME_LIMIT
from kds.service.client import HISTORY_LIMIT, KNOWN_LIMIT

MESSAGE_LIMIT: Final = 100_000
"""Characters of one message. Only its first 2,000 are analysed, but all are searched for
secrets and scored, and nobody else is served meanwhile: 0.1 to 0.6 s of CPU at this length
(measured on 28 kinds of text, from prose to nothing but brackets)."""

TEXT_LIMIT: Final = 500
"""Characters of a name that is no message: an intent, a session, what a message refers to."""

PATH_LIMIT: Final = 4_096
"""Characters of a path: PATH_MAX of Linux."""

VARIABLES_LIMIT: Final = 64
"""Variables of one request: there are some thirty."""

_MESSAGE = Field(
    min_length=1,
    max_length=MESSAGE_LIMIT,
    description="What the user said.",
    examples=["Make it purple"],
)
_CONVERSATION = Field(
    default=None,
    min_length=1,
    max_length=NAME_LIMIT,
    description="Whose context counts, such as a client's session id. None: the context of the "
    "workspace, which all its windows share.",
    examples=["f3b1c9e2-8a57-4d0e-9c55-0d8c3c1f6a11"],
)
_WORKSPACE = Field(
    default=None,
    min_length=1,
    max_length=PATH_LIMIT,
    description="Root of one of the served workspaces. None: the one whose socket, or whose "
    "token, the request came with.",
)


class _Request(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class UtteranceRequest(_Request):
    """Something that was said before."""

    text: str = Field(max_length=MESSAGE_LIMIT)
    role: Literal["user", "assistant"] = "user"


class RouteRequest(_Request):
    """One message to route."""

    message: str = _MESSAGE
    conversation: str | None = _CONVERSATION
    join: bool = Field(
        default=False,
        description="Let the workspace's context stand in while the conversation is empty, and "
        "remember the message there too.",
    )
    log: bool = Field(default=True, description="Remember the message.")
    history: list[UtteranceRequest] = Field(
        default=[],
        max_length=HISTORY_LIMIT,
        description="What was said before, oldest first, replies included: for a model that "
        "rewrites the message.",
    )
    rewrite: bool | None = Field(
        default=None,
        description="Whether a model may rewrite the message; null: as the settings say.",
    )
    known: list[str] | None = Field(
        default=None,
        max_length=KNOWN_LIMIT,
        description="What the conversation has referred to, oldest first; null: what the memory "
        "of the workspace knows, if it is on.",
    )
    variables: dict[str, str] | None = Field(
        default=None,
        max_length=VARIABLES_LIMIT,
        description="The caller's environment variables for settings (KDS_MEMORY and so on). "
        "They count in the place of those of the service; where they cannot, the reply is a 409.",
        examples=[{"KDS_MEMORY": "on"}],
    )
    workspace: str | None = _WORKSPACE


class ContextRequest(_Request):
    """One message to remember as it stands."""

    message: str = _MESSAGE
    intent: str = Field(
        min_length=1,
        max_length=TEXT_LIMIT,
        description="The intent of one of the agents.",
        examples=["EXECUTE"],
    )
    context_ref: str | None = Field(
        default=None,
        max_length=TEXT_LIMIT,
        description="What the message refers to.",
        examples=["FAB button"],
    )
    session_id: str | None = Field(
        default=None,
        max_length=TEXT_LIMIT,
        description="The session it belongs to.",
        examples=["fab-button-20251103"],
    )
    conversation: str | None = _CONVERSATION
    workspace: str | None = _WORKSPACE


class ErrorDetail(BaseModel):
    """What is wrong, where, and how to fix it."""

    message: str
    where: str | None
    hint: str | None


class ErrorReply(BaseModel):
    """Every reply but those of the 2xx kind."""

    error: ErrorDetail


class EntryReply(BaseModel):
    """One line of the conversation context."""

    timestamp: str = Field(description="ISO 8601, UTC.")
    user_message: str = Field(description="What the user said, with secrets taken out.")
    intent: str
    session_id: str | None
    context_ref: str | None = None


class ContextReply(BaseModel):
    """A conversation context, oldest first: at most ten entries, none older than two hours."""

    entries: list[EntryReply]
    warnings: list[str]


class ClearedReply(BaseModel):
    """How many entries were forgotten."""

    cleared: int


class ScoreReply(BaseModel):
    """A candidate intent and its calibrated probability."""

    intent: str
    confidence: float


class ReferenceReply(BaseModel):
    """A mention, where it stands in the message, and what it points to."""

    text: str
    start: int
    end: int
    target: str
    rule: str
    score: float


class RecordReply(BaseModel):
    """What one step of the router did."""

    step: str
    notes: list[str]
    cpu_ms: float


class TurnRewritingReply(BaseModel):
    """That a model was asked to rewrite the message (docs/rewriting.md)."""

    model: str
    outcome: Literal["used", "unchanged", "rejected", "failed", "resting"]
    reason: str | None
    cached: bool
    ms: float


class TurnReply(BaseModel):
    """What became of a message."""

    message: str
    expanded: str = Field(description="The message, so that it can be read on its own.")
    intent: str
    confidence: float
    action: Literal["route", "clarify", "abstain"]
    secondary_intents: list[str]
    alternatives: list[ScoreReply]
    question: str | None = Field(description="What to ask the user when the action is `clarify`.")
    candidates: list[str]
    context_ref: str | None
    references: list[ReferenceReply]
    context_switch: bool
    session_id: str | None
    agent: str | None
    prompt_file: str | None
    prompt: str = Field(description="The agent's prompt, filled in.")
    why: list[str]
    at: str = Field(description="When the message came: ISO 8601, UTC.")
    in_scope: float
    context: list[EntryReply]
    unresolved: list[str] = Field(description="Words that point back, nobody knows to what.")
    rewriting: TurnRewritingReply | None = Field(description="null: no model was asked.")
    records: list[RecordReply]
    warnings: list[str] = Field(description="Such as prompts that are broken at the moment.")


class PromptReply(BaseModel):
    """A prompt file, in short."""

    name: str
    description: str
    intent: str | None
    ref: str


class PromptBodyReply(PromptReply):
    """A prompt file with its template."""

    body: str


class ReloadReply(BaseModel):
    """The last time prompts and rules were read anew."""

    count: int
    at: str | None
    error: str | None = Field(description="Set while the files on disk are broken.")


class WorkspaceReply(BaseModel):
    """One served workspace."""

    root: str
    turns: int
    reload: ReloadReply
    settings_error: str | None = Field(
        description="Set while changed settings are wrong: those before stay in use."
    )
    warnings: list[str]


class HealthReply(BaseModel):
    """The service itself."""

    status: Literal["ok", "degraded"]
    version: str
    pid: int
    started_at: str
    uptime_s: float
    rss_bytes: int | None = Field(description="Resident memory; null where nobody can tell.")
    turns: int
    workspaces: list[WorkspaceReply]


class HookSpecificOutput(BaseModel):
    """The key that Claude Code reads."""

    model_config = ConfigDict(extra="allow")

    hookEventName: str  # noqa: N815  # the client's spelling
    additionalContext: str  # noqa: N815  # the client's spelling


class HookReply(BaseModel):
    """What a client adds to the prompt, under the keys of both clients."""

    model_config = ConfigDict(extra="allow")

    additionalContext: str  # noqa: N815  # the client's spelling
    hookSpecificOutput: HookSpecificOutput  # noqa: N815  # the client's spelling


HOOK_INPUT: Final[dict[str, Any]] = {
    "requestBody": {
        "required": True,
        "description": "The hook input as the client wrote it, in either spelling.",
        "content": {
            "application/json": {
                "schema": {"type": "object"},
                "examples": {
                    "claude": {
                        "summary": "Claude Code",
                        "value": {
                            "session_id": "f3b1c9e2",
                            "cwd": "/home/me/project",
                            "hook_event_name": "UserPromptSubmit",
                            "prompt": "Make it purple",
                        },
                    },
                    "copilot": {
                        "summary": "Copilot",
                        "value": {
                            "sessionId": "f3b1c9e2",
                            "cwd": "/home/me/project",
                            "prompt": "Make it purple",
                        },
                    },
                },
            }
        },
    }
}
"""The body of `POST /hook` is read by `kds.service.hook_call`, not by a model here."""
