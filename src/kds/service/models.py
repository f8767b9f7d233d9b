"""Bodies of requests and replies that several routes share, documented in /openapi.json.

Requests are strict: an unknown field, or one of another type, is a 422. A reply is a view of a
value: its fields are read off the attributes of the same name.
"""

import json
from collections.abc import Mapping
from datetime import datetime
from importlib.resources import files
from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, AliasChoices, BaseModel, ConfigDict, Field, model_validator
from starlette.responses import JSONResponse, Response

from kds.brain.context.conversations import NAME_LIMIT
from kds.brain.context.origin import ORIGIN
from kds.brain.message import MESSAGE_LIMIT as MESSAGE_LIMIT
from kds.brain.message import well_formed
from kds.service.service_client import HISTORY_LIMIT, KNOWN_LIMIT

TEXT_LIMIT: Final = 500
"""Characters of a name: an intent, a session, what a message refers to."""

PATH_LIMIT: Final = 4_096
"""Characters of a path: PATH_MAX of Linux."""

VARIABLES_LIMIT: Final = 64
"""Variables of one request: there are some thirty."""

EXAMPLES: Final[Mapping[str, Any]] = json.loads(
    files(__package__).joinpath("examples.json").read_text(encoding="utf-8")
)
"""Shown in /openapi.json, where FastAPI leaves out what is null of its own."""

Rounded = Annotated[float, AfterValidator(lambda value: round(value, 4))]
"""A score to four decimals."""

MESSAGE = Field(
    min_length=1,
    max_length=MESSAGE_LIMIT,
    description="What the user said.",
    examples=["Make it purple"],
)
CONVERSATION = Field(
    default=None,
    min_length=1,
    max_length=NAME_LIMIT,
    description="Whose context counts, such as a client's session id. null: the context of the "
    "workspace, which all its windows share.",
    examples=["f3b1c9e2-8a57-4d0e-9c55-0d8c3c1f6a11"],
)


class RequestBody(BaseModel):
    """The body of a request: strict and frozen, with half a surrogate pair as U+FFFD."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    @model_validator(mode="before")
    @classmethod
    def _well_formed(cls, sent: object) -> object:
        """JSON can hold half an emoji, which pydantic refuses."""
        if not isinstance(sent, dict):
            return sent
        return {key: well_formed(one) if isinstance(one, str) else one for key, one in sent.items()}


def whole(number: object) -> object:
    """Read 8.0 as 8: an integer to JSON Schema, but not to strict pydantic."""
    return int(number) if isinstance(number, float) and number.is_integer() else number


class UtteranceRequest(RequestBody):
    """An earlier message of the conversation; ``text`` is read for ``content``, too."""

    content: str = Field(max_length=MESSAGE_LIMIT, validation_alias=AliasChoices("content", "text"))
    role: Literal["user", "assistant"] = "user"


class RouteRequest(RequestBody):
    """One message to route."""

    message: str = MESSAGE
    conversation: str | None = CONVERSATION
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


class Reply(BaseModel):
    """A view of a value for the wire, of HTTP and of MCP."""

    model_config = ConfigDict(
        from_attributes=True,
        populate_by_name=True,
        use_attribute_docstrings=True,
        json_schema_serialization_defaults_required=True,
    )

    def response(self, status: int = 200) -> Response:
        """This reply as an HTTP response."""
        return JSONResponse(self.model_dump(mode="json"), status)


class HitScores(Reply):
    """What each search gave, 0 to 1; null: it does not apply."""

    dense: Rounded | None
    lexical: Rounded
    code: Rounded


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
