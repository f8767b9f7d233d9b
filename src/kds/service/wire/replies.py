"""What goes over the wire in replies, documented in /openapi.json.

Where a value of KDS has the fields of its reply, it is the reply: its docstrings are the
descriptions. The classes here are views of values whose names or fields differ on the wire; they
read them off the value (`model_validate`).
"""

from datetime import datetime
from typing import Literal

from pydantic import ConfigDict, Field

from kds.brain.passages.values import Role
from kds.brain.turn import Action, IntentScore, Outcome, Reference, StepRecord
from kds.service.wire.value_view import Reply
from kds.service.workspace_notes import Reload


class ErrorDetail(Reply):
    """What is wrong, where, and how to fix it."""

    message: str
    where: str | None
    hint: str | None


class ErrorReply(Reply):
    """Every reply but those of the 2xx kind."""

    error: ErrorDetail


class EntryReply(Reply):
    """One line of the conversation context."""

    timestamp: datetime
    user_message: str
    """What the user said, with secrets taken out."""
    intent: str
    session_id: str | None
    context_ref: str | None = None
    """Left out where the message refers to nothing."""

    model_config = ConfigDict(json_schema_serialization_defaults_required=False)


class ContextReply(Reply):
    """A conversation context, oldest first: at most ten entries, none older than two hours."""

    entries: list[EntryReply]
    warnings: list[str]


class ClearedReply(Reply):
    """How many entries were forgotten."""

    cleared: int


class TurnRewritingReply(Reply):
    """That a model was asked to rewrite the message (docs/rewriting.md)."""

    model: str
    outcome: Outcome
    reason: str | None
    cached: bool
    ms: float


class TurnReply(Reply):
    """What became of a message."""

    message: str
    expanded: str
    """The message, so that it can be read on its own."""
    intent: str
    confidence: float
    action: Action
    secondary_intents: list[str]
    alternatives: list[IntentScore]
    question: str | None
    """What to ask the user when the action is `clarify`."""
    candidates: list[str]
    context_ref: str | None
    references: list[Reference]
    context_switch: bool
    session_id: str | None
    agent: str | None
    prompt_file: str | None
    prompt: str
    """The agent's prompt, filled in."""
    noted: str | None
    """What was noted of the intent of an earlier message that this one corrects."""
    notice: str | None
    """Set for a message that is not English: KDS made nothing of it."""
    why: list[str]
    at: str
    """When the message came: ISO 8601, UTC."""
    in_scope: float
    context: list[EntryReply]
    unresolved: list[str]
    """Words that point back, nobody knows to what."""
    rewriting: TurnRewritingReply | None
    """null: no model was asked."""
    records: list[StepRecord]
    warnings: list[str]
    """Such as prompts that are broken at the moment."""


class PromptReply(Reply):
    """A prompt file, in short."""

    name: str
    description: str
    intent: str | None
    ref: str
    ask: str | None
    """What it does, as a question names it: "plan something new"."""
    handoffs: tuple[str, ...]
    """Intents that its work may be handed on to."""
    confirm: bool
    """It asks before it acts."""
    tools: tuple[str, ...]
    """Names of tools that a model may call on its behalf."""


class PromptBodyReply(PromptReply):
    """A prompt file with its template."""

    body: str


class WorkspaceReply(Reply):
    """One served workspace."""

    root: str
    turns: int
    reload: Reload
    settings_error: str | None
    """Set while changed settings are wrong: those before stay in use."""
    warnings: list[str]


class HealthReply(Reply):
    """The service itself."""

    status: Literal["ok", "degraded"]
    version: str
    pid: int
    started_at: datetime
    uptime_s: float
    rss_bytes: int | None
    """Resident memory; null where nobody can tell."""
    turns: int
    workspaces: list[WorkspaceReply]


class HookSpecificOutput(Reply):
    """The key that Claude Code reads."""

    model_config = ConfigDict(extra="allow")

    hookEventName: str  # noqa: N815  # the client's spelling
    additionalContext: str  # noqa: N815  # the client's spelling


class HookReply(Reply):
    """What a client adds to the prompt, under the keys of both clients."""

    model_config = ConfigDict(extra="allow")

    additionalContext: str  # noqa: N815  # the client's spelling
    hookSpecificOutput: HookSpecificOutput  # noqa: N815  # the client's spelling


class SessionReply(Reply):
    """A session, without what was said in it."""

    id: str
    title: str
    document: str | None = Field(validation_alias="document_context")
    created_at: datetime
    updated_at: datetime
    messages: int = Field(validation_alias="message_count")
    tokens: int = Field(validation_alias="token_count")


class SavedSession(SessionReply):
    """A session that was begun or changed."""

    warnings: tuple[str, ...] = ()
    """Such as: the document is not in the store."""


class SessionsReply(Reply):
    """Sessions, the one changed last first."""

    sessions: list[SessionReply]
    next_offset: int | None
    """Where the next page begins; null: that is all."""


class MessageReply(Reply):
    """A message as it was stored: secrets are replaced by marks."""

    id: str
    seq: int
    """Position in the session, from 1."""
    role: Role
    speaker: str | None
    content: str
    at: datetime
    tokens: int


class SessionPage(SessionReply):
    """A session with a page of its messages, oldest first."""

    page: tuple[MessageReply, ...] = ()
    next_offset: int | None = None
    """Where the next page begins; null: that is all."""


class DeletedReply(Reply):
    """What is gone, with its bytes in the file."""

    deleted: str
