"""What goes wrong with a model, in words a person can act on; no secret is in them."""

import os
from collections.abc import Iterator, Mapping
from typing import Final, Literal
from urllib.parse import urlsplit

from kds.brain.errors import KdsError
from kds.brain.message import one_line
from kds.brain.secrets.redaction import redact_secrets

Kind = Literal[
    "setting",  # the name of the model, or its URL, cannot be read
    "extra",  # the integration is not installed
    "key",  # there is no key, or the provider refuses it
    "model",  # the provider has no such model
    "refused",  # the provider refuses the request
    "rate",  # too many requests, or nothing left on the account
    "provider",  # the provider itself fails
    "timeout",
    "unreachable",
    "garbage",  # what came back is no answer
]

MESSAGE_CHARS: Final = 400
"""Characters of a provider's message that are shown: some send whole pages of HTML."""

SHORTEST_SECRET: Final = 6
"""Characters. Shorter values of secret variables ("none", "true") are words like any other."""

_SECRET_NAMES: Final = ("KEY", "TOKEN", "SECRET", "PASSWORD", "CREDENTIAL")
_MARK: Final = "[secret]"

_HINTS: Final[Mapping[Kind, str]] = {
    "key": "check the provider's key in the environment (kds help models)",
    "model": "check the name of the model: KDS_MODEL, or model.name in your settings",
    "refused": "check the model's name and settings (kds help models)",
    "rate": "wait and try again, lower KDS_MODEL_RATE, or check the account's limits",
    "provider": "the provider has trouble: try again later, or use another model",
    "timeout": "try again, or raise KDS_MODEL_TIMEOUT_S (your own model: its timeout)",
    "unreachable": "check that the server runs, and its address: KDS_MODEL or KDS_MODEL_URL",
    "garbage": "check that the address is that of an OpenAI-compatible API: it ends in /v1",
}

_STATUS: Final[Mapping[int, Kind]] = {
    401: "key",
    402: "rate",
    403: "key",
    404: "model",
    408: "timeout",
    429: "rate",
}

_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
_MOVED_HINT: Final = (
    "KDS follows no redirect with a prompt: if that is the model's address, set it (KDS_MODEL)"
)

_TIMEOUTS: Final = frozenset({"APITimeoutError", "TimeoutException", "ModelTimeoutError"})
_CONNECTIONS: Final = frozenset({"APIConnectionError", "TransportError", "ModelConnectionError"})
"""Classes of the providers' SDKs, httpx and langchain-core, by name: none of them is imported
for its errors alone."""

_SHAPELESS: Final = (TypeError, AttributeError, LookupError)
"""What the clients raise over JSON that is none of theirs; their words are about their code."""


class ModelError(KdsError):
    """A model cannot be used, or does not answer; ``kind`` says in which way."""

    def __init__(self, message: str, *, kind: Kind, hint: str | None = None) -> None:
        super().__init__(message, hint=hint if hint is not None else _HINTS.get(kind))
        self.kind: Kind = kind


def model_error(
    error: BaseException,
    model: str,
    *,
    secrets: Mapping[str, str] = os.environ,
    timeout_s: float | None = None,
) -> ModelError:
    """What ``error`` of a provider's client means, with the provider's own message.

    ``secrets`` are variables: the values of those that are named like keys never show.

    >>> print(model_error(TimeoutError(), "gpt", secrets={}, timeout_s=60))
    gpt did not answer within 60 s
      fix: try again, or raise KDS_MODEL_TIMEOUT_S (your own model: its timeout)
    """
    known = next((one for one in _chain(error) if isinstance(one, ModelError)), None)
    if known is not None:  # raised below the provider's client, which has put its own around it
        return known
    if (moved := _moved(error)) is not None:
        message = f"{model} was not asked: its server sends on to {moved}"
        return ModelError(message, kind="setting", hint=_MOVED_HINT)
    kind = _kind(error)
    said = without_secrets(_message(error), secrets)
    if kind == "timeout":
        limit = "in time" if timeout_s is None else f"within {timeout_s:g} s"
        return ModelError(f"{model} did not answer {limit}", kind=kind)
    lead = {
        "unreachable": "cannot be reached",
        "garbage": "gave no answer that can be read",
    }.get(kind, "refused" if kind in ("key", "model", "refused") else "failed")
    status = _status(error)
    shown = f"{lead} ({status})" if status else lead
    return ModelError(f"{model} {shown}: {said}" if said else f"{model} {shown}", kind=kind)


def without_secrets(text: str, secrets: Mapping[str, str] = os.environ) -> str:
    """``text`` on one line, cut, and with every secret in it replaced."""
    for name, value in secrets.items():
        secret = any(word in name.upper() for word in _SECRET_NAMES)
        if secret and len(value) >= SHORTEST_SECRET:
            text = text.replace(value, _MARK)
    text = redact_secrets(one_line(text)[: 4 * MESSAGE_CHARS])
    return text if len(text) <= MESSAGE_CHARS else f"{text[: MESSAGE_CHARS - 1].rstrip()}…"


def _kind(error: BaseException) -> Kind:
    status = _status(error)
    if status is not None:
        return _STATUS.get(status, "refused" if status < 500 else "provider")
    names = {kind.__name__ for one in _chain(error) for kind in type(one).__mro__}
    if isinstance(error, TimeoutError) or names & _TIMEOUTS:
        return "timeout"
    if isinstance(error, OSError) or names & _CONNECTIONS:
        return "unreachable"
    return "garbage"


def _moved(error: BaseException) -> str | None:
    """Where a server redirects to, without a path: that may hold anything; None: it does not."""
    status = getattr(error, "status_code", None)
    if not isinstance(status, int) or status not in _REDIRECTS:
        return None
    headers = getattr(getattr(error, "response", None), "headers", None)
    target = headers.get("location") if isinstance(headers, Mapping) else None
    try:
        parts = urlsplit(target if isinstance(target, str) else "")
        host = f"{parts.scheme}://{parts.hostname}" + (f":{parts.port}" if parts.port else "")
    except ValueError:
        return "another address"
    return without_secrets(host) if parts.hostname else "another address"


def _status(error: BaseException) -> int | None:
    """The HTTP status: OpenAI's, Anthropic's and Ollama's errors have it in the same place."""
    status = getattr(error, "status_code", None)
    return status if isinstance(status, int) and status >= 400 else None


def _message(error: BaseException) -> str:
    """What the provider said, without what its client puts around it."""
    body = getattr(error, "body", None)
    if isinstance(body, Mapping):
        inner = body.get("error", body)
        told = inner.get("message") if isinstance(inner, Mapping) else inner
        if isinstance(told, str) and told.strip():
            return told
    if isinstance(body, str) and body.strip():
        return body
    if isinstance(error, _SHAPELESS) or type(error).__name__ == "ValidationError":
        return "it has not the shape of an answer"
    causes = [str(one).strip() for one in _chain(error)]
    if _kind(error) == "unreachable":
        return next((text for text in reversed(causes) if text), type(error).__name__)
    return causes[0] or type(error).__name__


def _chain(error: BaseException) -> Iterator[BaseException]:
    """The error, and what caused it."""
    seen: list[BaseException] = []
    current: BaseException | None = error
    while current is not None and current not in seen:
        seen.append(current)
        yield current
        current = current.__cause__
