"""Bodies of requests and replies that several routes share; /openapi.json describes them.

Requests are strict: an unknown field, or one of another type, is a 422.
"""

from typing import Annotated, Any, Final, Literal

from fastapi import Query
from pydantic import AliasChoices, BaseModel, ConfigDict, Field, model_validator

from kds.brain.context.names import NAME_LIMIT, ORIGIN
from kds.brain.message import MESSAGE_LIMIT as MESSAGE_LIMIT
from kds.brain.message import well_formed
from kds.brain.turn import Utterance
from kds.service.service_client import HISTORY_LIMIT, KNOWN_LIMIT

TEXT_LIMIT: Final = 500
"""Characters of a name: an intent, a session, what a message refers to."""

PATH_LIMIT: Final = 4_096
"""Characters of a path: PATH_MAX of Linux."""

VARIABLES_LIMIT: Final = 64
"""Variables of one request: there are some thirty."""

MessageText = Annotated[str, Field(min_length=1, max_length=MESSAGE_LIMIT)]
ShortText = Annotated[str, Field(max_length=TEXT_LIMIT)]
DocumentPath = Annotated[str, Field(max_length=PATH_LIMIT)]
ConversationName = Annotated[str | None, Field(min_length=1, max_length=NAME_LIMIT)]
ConversationQuery = Annotated[str | None, Query(min_length=1, max_length=NAME_LIMIT)]


class RequestBody(BaseModel):
    """The body of a request: strict and frozen."""

    model_config = ConfigDict(
        extra="forbid", strict=True, frozen=True, use_attribute_docstrings=True
    )

    @model_validator(mode="before")
    @classmethod
    def _readable(cls, sent: object) -> object:
        """JSON can hold half an emoji, which pydantic refuses, and 8.0 for 8."""
        if not isinstance(sent, dict):
            return sent
        return {key: _readable(one) for key, one in sent.items()}


def _readable(value: object) -> object:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return well_formed(value) if isinstance(value, str) else value


class UtteranceRequest(RequestBody):
    """An earlier message of the conversation; ``text`` is read for ``content``, too."""

    content: str = Field(max_length=MESSAGE_LIMIT, validation_alias=AliasChoices("content", "text"))
    role: Literal["user", "assistant"] = "user"


class RouteRequest(RequestBody):
    """One message to route."""

    message: MessageText
    conversation: ConversationName = None
    """Whose context counts, such as a client's session id; null: that of the workspace."""
    join: bool = False
    """Let the workspace's context stand in while the conversation is empty, and log there too."""
    origin: str | None = Field(None, pattern=rf"^{ORIGIN.pattern}$")
    """The terminal: a message does not refer to what another open terminal says."""
    log: bool = True
    history: list[UtteranceRequest] = Field([], max_length=HISTORY_LIMIT)
    """What was said before, oldest first, replies included."""
    rewrite: bool | None = None
    """Whether a model may rewrite the message; null: as the settings say."""
    known: list[str] | None = Field(None, max_length=KNOWN_LIMIT)
    """What the conversation has referred to, oldest first; null: what the memory knows."""
    variables: dict[str, str] | None = Field(None, max_length=VARIABLES_LIMIT)
    """The caller's environment variables for settings: 409 where the service has others."""
    fits: bool = False
    """Name the skill, agent, command or prompt file of the project that the message calls for."""

    @property
    def said(self) -> tuple[Utterance, ...]:
        """The history as values."""
        return tuple(Utterance(one.content, one.role) for one in self.history)


class ErrorDetail(BaseModel):
    """What is wrong, where, and how to fix it."""

    message: str
    where: str | None
    hint: str | None


class ErrorReply(BaseModel):
    """Every reply but those of the 2xx kind."""

    error: ErrorDetail


JSON: Final = dict[str, Any]
"""A reply whose fields are those of a value; the descriptions say which."""

ERRORS: Final[dict[int | str, dict[str, Any]]] = {
    kind: {"model": ErrorReply, "description": text}
    for kind, text in (
        ("4XX", "401: no valid token (TCP only). 403: `Host` or `Origin` is not this machine. "
                "404: unknown workspace, prompt or session. 409: an id in use, a memory that is "
                "off, other settings. 413, 422: too large, or not of the schema."),
        ("5XX", "500: a full disk, a defect in KDS. 503: too many requests, or it is stopping."),
    )
}  # fmt: skip
"""The documentation of the errors that any operation may have."""
