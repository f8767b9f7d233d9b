"""What comes over the wire: the bodies of requests, documented in /openapi.json.

They are strict: a field too many or of another type is a 422, not a guess.
"""

import json
from collections.abc import Mapping
from importlib.resources import files
from typing import Annotated, Any, Final, Literal

from pydantic import (
    AfterValidator,
    AliasChoices,
    AwareDatetime,
    BaseModel,
    ConfigDict,
    Field,
    model_validator,
)

from kds.brain.context.conversations import NAME_LIMIT
from kds.brain.context.origin import ORIGIN
from kds.brain.database.instant import within_reach
from kds.brain.message import MESSAGE_LIMIT as MESSAGE_LIMIT
from kds.brain.message import well_formed
from kds.brain.passages.values import Role
from kds.brain.sessions.profile import PURPOSE_LIMIT
from kds.brain.sessions.session_table import ID_LIMIT, TITLE_LIMIT
from kds.service.resident.service_client import HISTORY_LIMIT, KNOWN_LIMIT

TEXT_LIMIT: Final = 500
"""Characters of a name that is no message: an intent, a session, what a message refers to."""

PATH_LIMIT: Final = 4_096
"""Characters of a path: PATH_MAX of Linux."""

VARIABLES_LIMIT: Final = 64
"""Variables of one request: there are some thirty."""

EXAMPLES: Final[Mapping[str, Any]] = json.loads(
    files(__package__).joinpath("examples.json").read_text(encoding="utf-8")
)
"""Shown in /openapi.json, where FastAPI leaves out what is null of its own."""

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
WORKSPACE = Field(
    default=None,
    min_length=1,
    max_length=PATH_LIMIT,
    description="Root of one of the served workspaces. None: the one whose socket, or whose "
    "token, the request came with.",
)


class RequestBody(BaseModel):
    """What comes in: strict and frozen, and with half a surrogate pair as U+FFFD."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    @model_validator(mode="before")
    @classmethod
    def _well_formed(cls, sent: object) -> object:
        """JSON can hold half an emoji, which pydantic takes for no text."""
        if not isinstance(sent, dict):
            return sent
        return {key: well_formed(one) if isinstance(one, str) else one for key, one in sent.items()}


def whole(number: object) -> object:
    """To JSON Schema 8.0 is an integer; to pydantic, strict as it is here, it is none."""
    return int(number) if isinstance(number, float) and number.is_integer() else number


class UtteranceRequest(RequestBody):
    """Something that was said before; ``text`` is read for ``content``, too."""

    content: str = Field(max_length=MESSAGE_LIMIT, validation_alias=AliasChoices("content", "text"))
    role: Literal["user", "assistant"] = "user"


class RouteRequest(RequestBody):
    """One message to route."""

    message: str = _MESSAGE
    conversation: str | None = _CONVERSATION
    join: bool = Field(
        default=False,
        description="Let the workspace's context stand in while the conversation is empty, and "
        "remember the message there too.",
    )
    origin: str | None = Field(
        default=None,
        pattern=rf"^{ORIGIN.pattern}$",
        description="Where a message of the workspace's context was typed, as a line of the "
        "context notes it: it does not refer to what another open terminal says.",
        examples=["terminal:4711-88321"],
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
    workspace: str | None = WORKSPACE


class ContextRequest(RequestBody):
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
    workspace: str | None = WORKSPACE


_TITLE = Field(
    default=None,
    min_length=1,
    max_length=TITLE_LIMIT,
    description="Without one the beginning of the first question serves.",
    examples=["Closing of the Maple Street deal"],
)
_DOCUMENT = Field(
    default=None,
    max_length=PATH_LIMIT,
    description="Path of the document that the session is about; null: none.",
    examples=["contracts/servicing-agreement.md"],
)


class NewSession(RequestBody):
    """A session to begin."""

    id: str | None = Field(
        default=None,
        min_length=1,
        max_length=ID_LIMIT,
        description="Printable characters, no blanks at the ends, nor `/export` or `/messages`"
        " at the end; null: a random one.",
        examples=["export-20251103"],
    )
    title: str | None = _TITLE
    document: str | None = _DOCUMENT
    workspace: str | None = WORKSPACE


class SessionChange(RequestBody):
    """What is to change of a session; what is left out stays."""

    title: str | None = _TITLE
    document: str | None = _DOCUMENT
    workspace: str | None = WORKSPACE


class NewMessage(RequestBody):
    """A message to store."""

    role: Role = Field(examples=["user"])
    content: str = Field(
        min_length=1, max_length=MESSAGE_LIMIT, examples=["What is the Determination Date?"]
    )
    speaker: str | None = Field(
        default=None, min_length=1, max_length=TEXT_LIMIT, description="Who of several it was."
    )
    at: Annotated[AwareDatetime, AfterValidator(within_reach)] | None = Field(
        default=None, strict=False, description="When it was said, year 2 to 9998; null: now."
    )
    id: str | None = Field(
        default=None,
        min_length=1,
        max_length=ID_LIMIT,
        description="With an id of yours a message that is sent twice is stored once.",
    )
    workspace: str | None = WORKSPACE


class GrantRequest(RequestBody):
    """Consent to something: for what the profile may be kept and used."""

    purpose: str = Field(
        min_length=1, max_length=PURPOSE_LIMIT, examples=["answers that suit my work"]
    )
    workspace: str | None = WORKSPACE


HOOK_INPUT: Final[dict[str, Any]] = {
    "requestBody": {
        "required": True,
        "description": "The hook input as the client wrote it, in either spelling.",
        "content": {
            "application/json": {"schema": {"type": "object"}, "examples": EXAMPLES["hook"]}
        },
    }
}
"""The body of `POST /hook` is read by `kds.service.hook.hook_call`, not by a model here."""
