"""The user's chat model, from its name, and what goes wrong with it.

openai:NAME, anthropic:NAME, ollama:NAME     the provider, with its own key from the environment
http://host/v1#NAME                          any server that speaks OpenAI's chat completions

LangChain's integrations do the rest. Keys come from the environment only. A provider's key goes to
this provider and nowhere else: an address that the user gives gets KDS_MODEL_KEY, or a word that is
not a key, and no redirect is followed. Nothing is traced unless LANGSMITH_TRACING or
LANGCHAIN_TRACING_V2 is set.
"""

from __future__ import annotations

import atexit
import os
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from threading import Lock
from typing import TYPE_CHECKING, Any, Final, Literal
from urllib.parse import urlsplit

from kds.brain.errors import KdsError
from kds.brain.installation import load_extra
from kds.brain.message import one_line
from kds.brain.secrets.redaction import redact_secrets
from kds.brain.settings import ModelSettings
from kds.brain.yaml_files import nearest

if TYPE_CHECKING:  # LangChain stands at the edge (decision 4): it is imported with the model
    from langchain_core.language_models import BaseChatModel

Kind = Literal[
    "setting",  # the name of the model, or its URL, cannot be read
    "extra",  # the integration is not installed
    "key",  # the key is missing, or the provider refuses it
    "model",  # the provider has no such model
    "refused",  # the provider refuses the request
    "rate",  # too many requests, or nothing left on the account
    "provider",  # the provider itself fails
    "timeout",
    "unreachable",
    "garbage",  # the reply is not an answer
]

PROVIDERS: Final = {
    "openai": ("ChatOpenAI", "OPENAI_API_KEY"),
    "anthropic": ("ChatAnthropic", "ANTHROPIC_API_KEY"),
    "ollama": ("ChatOllama", None),
}
"""By the word before the colon, which also names the extra: LangChain's class, and the variable
with the provider's key."""

OWN_KEY: Final = "KDS_MODEL_KEY"
"""The variable with the key for an address that the user gives."""

NO_KEY: Final = "none"
"""Sent to servers of the user's where no key is set: clients insist on one."""

MESSAGE_CHARS: Final = 400
"""Characters of a provider's message that are shown: some send whole pages of HTML."""

SHORTEST_SECRET: Final = 6
"""Characters. Shorter values of secret variables ("none", "true") are words like any other."""

_SECRET_NAMES: Final = ("KEY", "TOKEN", "SECRET", "PASSWORD", "CREDENTIAL")

_TROUBLE: Final[Mapping[Kind, tuple[str, str]]] = {
    "key": ("refused", "check the provider's key in the environment (kds help models)"),
    "model": ("refused", "check the name of the model: KDS_MODEL, or model.name in your settings"),
    "refused": ("refused", "check the model's name, address and settings (kds help models)"),
    "rate": ("failed", "wait and try again, or check the account's limits"),
    "provider": ("failed", "try again later, or use another model: the provider has trouble"),
    "timeout": ("failed", "try again, or raise KDS_MODEL_TIMEOUT_S"),
    "unreachable": (
        "cannot be reached",
        "check that the server runs, and its address: KDS_MODEL or KDS_MODEL_URL",
    ),
    "garbage": (
        "gave no answer that can be read",
        "check that the address is that of an OpenAI-compatible API: it ends in /v1",
    ),
}
"""What a model did, and the fix."""

_STATUS: Final[Mapping[int, Kind]] = {
    401: "key", 402: "rate", 403: "key", 404: "model", 408: "timeout", 429: "rate",
}  # fmt: skip

_TIMEOUTS: Final = frozenset({"APITimeoutError", "TimeoutException", "ModelTimeoutError"})
_CONNECTIONS: Final = frozenset({"APIConnectionError", "TransportError", "ModelConnectionError"})
"""Classes of the providers' SDKs, httpx and langchain-core, by name: none of them is imported
for its errors alone."""

_SHAPELESS: Final = (TypeError, AttributeError, LookupError)
"""What the clients raise over JSON of another shape; their messages are about their code."""


class ModelError(KdsError):
    """A model cannot be used, or does not answer; ``kind`` says in which way."""

    def __init__(self, message: str, *, kind: Kind, hint: str | None = None) -> None:
        super().__init__(message, hint=hint or _TROUBLE.get(kind, ("", None))[1])
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
      fix: try again, or raise KDS_MODEL_TIMEOUT_S
    """
    chain = [error]  # the error, and what caused it
    while (cause := chain[-1].__cause__) is not None and cause not in chain:
        chain.append(cause)
    known = next((one for one in chain if isinstance(one, ModelError)), None)
    if known is not None:  # raised below the provider's client, which has put its own around it
        return known
    status = getattr(error, "status_code", None)  # OpenAI's, Anthropic's and Ollama's errors
    status = status if isinstance(status, int) and status >= 300 else None
    names = {kind.__name__ for one in chain for kind in type(one).__mro__}
    kind: Kind = "garbage"
    if status is not None:
        kind = _STATUS.get(status, "refused" if status < 500 else "provider")
    elif isinstance(error, TimeoutError) or names & _TIMEOUTS:
        kind = "timeout"
    elif isinstance(error, OSError) or names & _CONNECTIONS:
        kind = "unreachable"
    if kind == "timeout":
        limit = "in time" if timeout_s is None else f"within {timeout_s:g} s"
        return ModelError(f"{model} did not answer {limit}", kind=kind)
    shown = f"{model} {_TROUBLE[kind][0]}" + (f" ({status})" if status else "")
    said = without_secrets(_message(chain, kind), secrets)
    return ModelError(f"{shown}: {said}" if said else shown, kind=kind)


def _message(chain: Sequence[BaseException], kind: Kind) -> str:
    """What the provider said, without what its client puts around it."""
    error = chain[0]
    body = getattr(error, "body", None)
    if isinstance(body, Mapping):
        inner = body.get("error", body)
        body = inner.get("message") if isinstance(inner, Mapping) else inner
    if isinstance(body, str) and body.strip():
        return body
    if isinstance(error, _SHAPELESS) or type(error).__name__ == "ValidationError":
        return "it has not the shape of an answer"
    told = [str(one).strip() for one in (reversed(chain) if kind == "unreachable" else chain[:1])]
    return next(filter(None, told), type(error).__name__)


def without_secrets(text: str, secrets: Mapping[str, str] = os.environ) -> str:
    """``text`` on one line, cut, and with every secret in it replaced."""
    for name, value in secrets.items():
        secret = any(word in name.upper() for word in _SECRET_NAMES)
        if secret and len(value) >= SHORTEST_SECRET:
            text = text.replace(value, "[secret]")
    text = redact_secrets(one_line(text)[: 4 * MESSAGE_CHARS])
    return text if len(text) <= MESSAGE_CHARS else f"{text[: MESSAGE_CHARS - 1].rstrip()}…"


def load_chat_model(
    settings: ModelSettings, *, environ: Mapping[str, str] = os.environ
) -> BaseChatModel | None:
    """The model that ``settings`` name, ready to be asked; None when they name none.

    Nothing is sent. Raises ModelError.
    """
    name = settings.name or settings.base_url
    url = settings.base_url if settings.name else None
    if name is None:
        return None
    own_key = environ.get(OWN_KEY, "").strip() or NO_KEY
    if "://" in name:
        address, _, model = name.partition("#")
        url = _check_address(address)
        if not model:
            hint = f"write {url}#NAME; servers list their models at {url}/models"
            raise ModelError(f"no model is named at {url}", kind="setting", hint=hint)
        return _made("openai", model, settings, own_key, url)
    extra, model = _provided(name)
    _imported(f"langchain_{extra}", extra)  # without it a key is of no use
    if url is not None:
        return _made(extra, model, settings, own_key, _check_address(url))
    variable = PROVIDERS[extra][1]
    key = environ.get(variable, "").strip() if variable else None
    if key == "":
        raise ModelError(f"no key is set for {name}", kind="key", hint=f"set {variable}")
    return _made(extra, model, settings, key, None)


class LazyModel:
    """The chat model to ask, if there is any: the one that was given, or that of the settings,
    which is loaded when it is first needed."""

    def __init__(self, settings: ModelSettings, given: BaseChatModel | str | None = None) -> None:
        """``given`` is a model, or the name of one. Raises ModelError for what can be neither."""
        self._lock, self._model = Lock(), None if isinstance(given, str) else given
        if isinstance(given, str):
            _check_address(given.partition("#")[0]) if "://" in given else _provided(given)
            settings = settings.model_copy(update={"name": given})
        elif given is not None and not all(hasattr(given, one) for one in ("stream", "bind_tools")):
            message = f"not a chat model: {type(given).__name__}"
            hint = "pass a chat model of LangChain, or a name such as openai:NAME"
            raise ModelError(message, kind="setting", hint=hint)
        self.settings = settings
        named = settings.name or settings.base_url or ""
        self.name = named if self._model is None else model_label(self._model)
        """As the user calls it; "" when there is none."""

    def __bool__(self) -> bool:
        """Whether there is one. It may fail to load."""
        return bool(self.name)

    @property
    def label(self) -> str | None:
        """The model without its provider or address; None when there is none."""
        if "://" in self.name:
            return self.name.partition("#")[2] or None
        provider, _, model = self.name.partition(":")
        return model if provider in PROVIDERS else self.name or None

    def load(self) -> BaseChatModel | None:
        """Return it; importing LangChain takes about a second. Raises ModelError."""
        with self._lock:
            if self._model is None:
                self._model = load_chat_model(self.settings)
            return self._model


def model_label(model: BaseChatModel) -> str:
    """What to call a model in a reply, in notes and in errors: its name, or that of its class."""
    names = (getattr(model, field, None) for field in ("model_name", "model"))
    return next((one for one in names if isinstance(one, str) and one), type(model).__name__)


def model_secrets(model: BaseChatModel) -> dict[str, str]:
    """The keys that a model holds, by names that `without_secrets` takes for such."""
    return {
        f"{name}_KEY": str(value.get_secret_value())
        for name, value in vars(model).items()
        if hasattr(value, "get_secret_value")
    }


_open_clients: Final[list[Any]] = []


@cache
def _clients(sync: Callable[..., Any], for_loops: Callable[..., Any]) -> tuple[Any, Any]:
    """Clients of an SDK's own kinds, shared by all models: they hold connections.

    The first is closed when the process ends, or before by `close_clients`; the second only the
    event loop that used it could close.
    """
    client = sync(follow_redirects=False)
    _open_clients.append(client)
    return client, for_loops(follow_redirects=False)


@atexit.register
def close_clients() -> None:
    """Close the connections of all models; a model that is made afterwards opens new ones."""
    _clients.cache_clear()
    while _open_clients:
        _open_clients.pop().close()


def _made(
    extra: str, name: str, settings: ModelSettings, key: str | None, url: str | None
) -> BaseChatModel:
    """The chat model, at ``url`` where it is one of the user's own. Raises ModelError."""
    options: dict[str, Any] = {"model": name, "temperature": settings.temperature}
    if settings.max_tokens is not None:
        options["num_predict" if extra == "ollama" else "max_tokens"] = settings.max_tokens
    bearer = {"Authorization": f"Bearer {key}"}
    clients: tuple[Any, Any] = (None, None)
    if extra == "ollama":
        http: dict[str, Any] = {"timeout": settings.timeout_s, "follow_redirects": False}
        options["client_kwargs"] = http if url is None else http | {"headers": bearer}
    else:
        sdk = _imported(extra, extra)
        clients = _clients(sdk.DefaultHttpxClient, sdk.DefaultAsyncHttpxClient)
        options |= {
            "api_key": key, "timeout": settings.timeout_s, "max_retries": settings.max_retries,
        }  # fmt: skip
        if url is not None:
            options["default_headers"] = bearer
    if extra == "openai":
        options |= {"stream_usage": True, "http_client": clients[0],
                    "http_async_client": clients[1],
                    "openai_proxy": None}  # LangChain takes no proxy beside clients  # fmt: skip
        if url is not None:  # the user's organisation is not for others
            options["default_headers"] = {"OpenAI-Organization": "", "OpenAI-Project": ""}
    if url is not None:
        options["base_url"] = url
    try:
        made = getattr(_imported(f"langchain_{extra}", extra), PROVIDERS[extra][0])(**options)
    except ValueError as error:  # pydantic's too
        message = f"{name} cannot be set up: {type(error).__name__}"
        raise ModelError(message, kind="setting", hint="read: kds help models") from error
    if extra == "anthropic":  # its class has no option for HTTP clients, and caches these
        vars(made).update(
            _client=made._client.with_options(http_client=clients[0]),
            _async_client=made._async_client.with_options(http_client=clients[1]),
        )
    model: BaseChatModel = made
    return model


def _imported(module: str, extra: str) -> Any:
    try:
        return load_extra(module, extra=extra, purpose="ask a model")
    except KdsError as error:
        raise ModelError(error.message, kind="extra", hint=error.hint) from error


def _provided(name: str) -> tuple[str, str]:
    """The provider of a name, and what it calls the model. Raises ModelError."""
    prefix, _, model = (part.strip() for part in name.partition(":"))
    extra = prefix.lower()
    if extra in PROVIDERS and model:
        return extra, model
    forms = ", ".join(f"{each}:NAME" for each in PROVIDERS)
    hint = f"use {forms}, or a URL http://host/v1#NAME"
    if extra in PROVIDERS:
        hint = f"write {extra}:NAME-OF-THE-MODEL"
    elif near := nearest(extra, PROVIDERS):
        hint = f"did you mean {near}:...?"
    raise ModelError(f"unknown model '{name}'", kind="setting", hint=hint)


def _check_address(url: str) -> str:
    """``url`` without what stands around it; raises ModelError when it cannot be one of an API."""
    hint = "write it as http://host:port/v1"
    try:
        parts = urlsplit(url.strip())
        bad = parts.scheme not in ("http", "https") or not parts.hostname or parts.port == 0
    except ValueError:
        bad = True
    if bad:
        message = "the address of the model is not an http or https URL"
        raise ModelError(message, kind="setting", hint=hint)
    if parts.username or parts.password or parts.query:
        message = "the address of the model holds a password or a query"
        raise ModelError(message, kind="setting", hint=f"{hint}; a key goes into {OWN_KEY}")
    return parts._replace(fragment="").geturl().rstrip("/")
