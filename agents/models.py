"""The user's chat model, from the name of it, and what goes wrong with it.

openai:NAME, anthropic:NAME, ollama:NAME     the provider, with its own key from the environment
http://host/v1, http://host/v1#NAME          any server that speaks OpenAI's chat completions

LangChain's integrations do the rest. Keys come from the environment only. A provider's key goes to
this provider and nowhere else: an address that the user gives gets KDS_MODEL_KEY, or a word that is
not a key, and no redirect is followed. Nothing is traced unless LANGSMITH_TRACING or
LANGCHAIN_TRACING_V2 is set.
"""

from __future__ import annotations

import atexit
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final, Literal
from urllib.parse import urlsplit

from kds.brain.errors import KdsError
from kds.brain.installation import load_extra
from kds.brain.message import one_line
from kds.brain.secrets.redaction import redact_secrets
from kds.brain.settings import ModelSettings
from kds.brain.timeouts import Deadline
from kds.brain.yaml_files import nearest

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
"""What the clients raise over JSON of another shape; their messages are about their code."""


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


Options = dict[str, Any]

OPTIONS: Final[Options] = {"follow_redirects": False}
"""Options of an httpx client."""

_sync_clients: Final[list[Any]] = []


@cache
def sync_client(base: Callable[..., Any], proxy: str | None = None) -> Any:
    """A client of the SDK's own kind ``base``, shared by all models: it holds connections.

    It is closed when the process ends, or before by `close_clients`.
    """
    client = base(**OPTIONS, proxy=proxy)
    _sync_clients.append(client)
    return client


@atexit.register
def close_clients() -> None:
    """Close the connections of all models; a model that is made afterwards opens new ones."""
    sync_client.cache_clear()
    while _sync_clients:
        _sync_clients.pop().close()


@cache
def async_client(base: Callable[..., Any], proxy: str | None = None) -> Any:
    """As `sync_client`, for event loops; only the loop that used it could close it."""
    return base(**OPTIONS, proxy=proxy)


if TYPE_CHECKING:  # LangChain stands at the edge (decision 4): it is imported with the model
    from langchain_core.language_models import BaseChatModel

CHECKS_S: Final = 0.05
"""Seconds between two looks of LangChain's rate limiter at whether it may go on."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """A model that is to be reached. ``url`` is one of the user's own, or None."""

    name: str
    url: str | None
    key: str | None
    settings: ModelSettings


@dataclass(frozen=True, slots=True)
class Provider:
    """One integration: its extra, its class, the variable of its key, and its options."""

    extra: str
    module: str
    kind: str
    key: str | None
    options: Callable[[Wanted], Options]
    adjust: Callable[[Any], None] = lambda made: None
    """What is still to be done to the model when it is made."""

    def model(self, wanted: Wanted) -> BaseChatModel:
        """The chat model, ready to be asked. Raises ModelError."""
        module = self.integration()
        options = {
            "model": wanted.name,
            "temperature": wanted.settings.temperature,
            **self.options(wanted),
            **_rate(wanted.settings.requests_per_second),
        }
        try:
            made: BaseChatModel = getattr(module, self.kind)(**options)
            self.adjust(made)
        except ValueError as error:  # pydantic's too
            message = f"{wanted.name} cannot be set up: {type(error).__name__}"
            raise ModelError(message, kind="setting", hint="read: kds help models") from error
        return made

    def integration(self) -> ModuleType:
        """The module of LangChain's integration. Raises ModelError when it is not installed."""
        try:
            return load_extra(self.module, extra=self.extra, purpose="ask a model")
        except KdsError as error:
            raise ModelError(error.message, kind="extra", hint=error.hint) from error


def _usual(wanted: Wanted) -> Options:
    """What OpenAI's class and Anthropic's call the same."""
    settings = wanted.settings
    options: Options = {
        "api_key": wanted.key,
        "timeout": settings.timeout_s,
        "max_retries": settings.max_retries,
    }
    bound = {} if settings.max_tokens is None else {"max_tokens": settings.max_tokens}
    return options | bound


def _openai(wanted: Wanted) -> Options:
    options: Options = {**_usual(wanted), "stream_usage": True, **_openai_clients()}
    if wanted.url is not None:
        unsaid = {"OpenAI-Organization": "", "OpenAI-Project": ""}
        options |= {"base_url": wanted.url, "default_headers": unsaid}
    return options


def _openai_clients() -> Options:
    sdk = load_extra("openai", extra="openai", purpose="ask a model")
    proxy = os.environ.get("OPENAI_PROXY") or None  # LangChain takes either it or clients
    return {
        "openai_proxy": None,
        "http_client": sync_client(sdk.DefaultHttpxClient, proxy),
        "http_async_client": async_client(sdk.DefaultAsyncHttpxClient, proxy),
    }


def _bound_anthropic(model: Any) -> None:
    """Put our HTTP clients under ``model``: its class has no option for them, and caches these."""
    sdk = load_extra("anthropic", extra="anthropic", purpose="ask a model")
    proxy = model.anthropic_proxy or None
    sync, event_loop = sdk.DefaultHttpxClient, sdk.DefaultAsyncHttpxClient
    vars(model).update(
        _client=model._client.with_options(http_client=sync_client(sync, proxy)),
        _async_client=model._async_client.with_options(http_client=async_client(event_loop, proxy)),
    )


def _anthropic(wanted: Wanted) -> Options:
    options = _usual(wanted)
    if wanted.url is not None:
        options |= {"base_url": wanted.url, "default_headers": _bearer(wanted.key)}
    return options


def _ollama(wanted: Wanted) -> Options:
    settings = wanted.settings
    client: Options = {"timeout": settings.timeout_s, **OPTIONS}
    options: Options = {"client_kwargs": client}
    if settings.max_tokens is not None:
        options["num_predict"] = settings.max_tokens
    if wanted.url is not None:
        client["headers"] = _bearer(wanted.key)
        options["base_url"] = wanted.url
    return options


def _bearer(key: str | None) -> Mapping[str, str]:
    return {"Authorization": f"Bearer {key}"}


def _rate(per_second: float | None) -> Options:
    if per_second is None:
        return {}
    limiters = load_extra("langchain_core.rate_limiters", extra="all", purpose="ask a model")
    limiter = limiters.InMemoryRateLimiter(
        requests_per_second=per_second, check_every_n_seconds=CHECKS_S, max_bucket_size=1
    )
    return {"rate_limiter": limiter}


OPENAI: Final = Provider("openai", "langchain_openai", "ChatOpenAI", "OPENAI_API_KEY", _openai)

PROVIDERS: Final[Mapping[str, Provider]] = {
    "openai": OPENAI,
    "anthropic": Provider(
        "anthropic",
        "langchain_anthropic",
        "ChatAnthropic",
        "ANTHROPIC_API_KEY",
        _anthropic,
        _bound_anthropic,
    ),
    "ollama": Provider("ollama", "langchain_ollama", "ChatOllama", None, _ollama),
}
"""By the word before the colon of a model's name."""


if TYPE_CHECKING:  # LangChain stands at the edge (decision 4): it is imported with the model
    from langchain_core.language_models import BaseChatModel

__all__ = ["ModelError", "load_chat_model", "model_label", "model_secrets"]

OWN_KEY: Final = "KDS_MODEL_KEY"
"""The variable with the key for an address that the user gives."""

NO_KEY: Final = "none"
"""Sent to servers of the user's where no key is set: clients insist on one."""

LISTING_S: Final = 10.0
"""Seconds that a server has to say which models it serves: it need not think for that."""

LISTED: Final = 10
"""Models that an error names: some servers have hundreds."""


def load_chat_model(
    settings: ModelSettings, *, environ: Mapping[str, str] = os.environ
) -> BaseChatModel | None:
    """The model that ``settings`` name, ready to be asked; None when they name none.

    A URL without `#model` is asked which models it serves, and must serve one. Else nothing is
    sent. Raises ModelError.
    """
    name, url = settings.name, settings.base_url
    if name is None:
        name, url = url, None
    if name is None:
        return None
    if "://" in name:
        return _at_address(name, settings, environ)
    provider, model = _provided(name)
    url = None if url is None else _check_address(url)
    provider.integration()  # without it a key is of no use
    key = _key(provider, name, elsewhere=url is not None, environ=environ)
    return provider.model(Wanted(model, url, key, settings))


def checked_model(model: BaseChatModel | str | None) -> BaseChatModel | str | None:
    """``model``, when it is a chat model, None, or the name of one; nothing is loaded for that.

    Raises ModelError: what can be no model is said before anything is asked of it.
    """
    if isinstance(model, str):
        if "://" in model:
            _check_address(model.partition("#")[0])
        else:
            _provided(model)
    elif model is not None and not all(hasattr(model, each) for each in ("stream", "bind_tools")):
        message = f"not a chat model: {type(model).__name__}"
        hint = "pass a chat model of LangChain, or a name such as openai:NAME"
        raise ModelError(message, kind="setting", hint=hint)
    return model


def model_timeout(model: BaseChatModel | None) -> float | None:
    """Seconds that a model of the caller's own may take, where its class has a limit; else None.

    The time of one request, as OpenAI's, Anthropic's, Ollama's and other classes of LangChain
    name it, or of its longest phase.
    """
    options = getattr(model, "client_kwargs", None)
    inner = options.get("timeout") if isinstance(options, Mapping) else None
    found = (*(getattr(model, name, None) for name in _TIMEOUT_FIELDS), inner)
    return next((limit for limit in map(_seconds, found) if limit is not None), None)


_TIMEOUT_FIELDS: Final = ("request_timeout", "default_request_timeout", "timeout")


def _seconds(limit: object) -> float | None:
    if isinstance(limit, int | float) and not isinstance(limit, bool):
        return float(limit) if limit > 0 else None
    phases = limit if isinstance(limit, tuple) else [
        getattr(limit, phase, None) for phase in ("connect", "read", "write", "pool")
    ]  # fmt: skip
    known = [phase for phase in phases if isinstance(phase, int | float) and phase > 0]
    return float(max(known)) if known else None


def _provided(name: str) -> tuple[Provider, str]:
    """The provider of a name, and what it calls the model. Raises ModelError."""
    prefix, _, model = name.partition(":")
    provider = PROVIDERS.get(prefix.strip().lower())
    if provider is None or not model.strip():
        raise _unknown(name, prefix.strip())
    return provider, model.strip()


def model_label(model: BaseChatModel) -> str:
    """What to call a model in a reply, in notes and in errors: its name, or that of its class."""
    for field in ("model_name", "model"):
        name = getattr(model, field, None)
        if isinstance(name, str) and name:
            return name
    return type(model).__name__


def model_secrets(model: BaseChatModel) -> dict[str, str]:
    """The keys that a model holds, by names that `kds.agents.models` takes for such."""
    return {
        f"{name}_KEY": str(value.get_secret_value())
        for name, value in vars(model).items()
        if hasattr(value, "get_secret_value")
    }


def _unknown(name: str, prefix: str) -> ModelError:
    if prefix.lower() in PROVIDERS:
        message, hint = f"'{name}' names no model", f"write {prefix.lower()}:NAME-OF-THE-MODEL"
    else:
        near = nearest(prefix.lower(), PROVIDERS)
        message = f"unknown model '{name}'"
        forms = ", ".join(f"{each}:NAME" for each in PROVIDERS)
        hint = f"did you mean {near}:...?" if near else f"use {forms}, or a URL http://host/v1#NAME"
    return ModelError(message, kind="setting", hint=hint)


def _at_address(name: str, settings: ModelSettings, environ: Mapping[str, str]) -> BaseChatModel:
    """A model of a server that speaks OpenAI's protocol."""
    address, _, model = name.partition("#")
    url = _check_address(address)
    key = _key(OPENAI, url, elsewhere=True, environ=environ)
    if not model:
        probe = OPENAI.model(Wanted("any", url, key, settings))
        model = _only_model(probe, url, min(settings.timeout_s, LISTING_S), environ)
    return OPENAI.model(Wanted(model, url, key, settings))


def _check_address(url: str) -> str:
    """``url`` without what stands around it; raises ModelError when it cannot be one of an API."""
    hint = "write it as http://host:port/v1"
    try:
        parts = urlsplit(url.strip())
        bad = parts.scheme not in ("http", "https") or not parts.hostname or parts.port == 0
    except ValueError:
        bad = True
    if bad:
        raise ModelError(
            "the address of the model is not an http or https URL", kind="setting", hint=hint
        )
    if parts.username or parts.password or parts.query:
        message = "the address of the model holds a password or a query"
        raise ModelError(message, kind="setting", hint=f"{hint}; a key goes into {OWN_KEY}")
    return parts._replace(fragment="").geturl().rstrip("/")


def _key(
    provider: Provider, name: str, *, elsewhere: bool, environ: Mapping[str, str]
) -> str | None:
    if elsewhere:
        return environ.get(OWN_KEY, "").strip() or NO_KEY
    if provider.key is None:
        return None
    key = environ.get(provider.key, "").strip()
    if not key:
        hint = f"set {provider.key}"
        raise ModelError(f"no key is set for {name}", kind="key", hint=hint)
    return key


def _only_model(probe: Any, url: str, timeout_s: float, environ: Mapping[str, str]) -> str:
    """The one model of a server. Raises ModelError when it has none, or several to choose from."""
    client = probe.root_client.with_options(max_retries=0, timeout=timeout_s)
    try:
        names = Deadline(timeout_s).call(lambda: [each.id for each in client.models.list()])
    except Exception as error:  # noqa: BLE001  # whatever a server makes of its client
        raise model_error(error, url, secrets=environ, timeout_s=timeout_s) from None
    found = sorted({name for name in names if isinstance(name, str) and name})
    if len(found) == 1:
        return found[0]
    if not found:
        raise ModelError(f"{url} serves no model", kind="model", hint=f"load one, or {url}#NAME")
    shown = ", ".join(found[:LISTED]) + (", ..." if len(found) > LISTED else "")
    message = f"{url} serves {len(found)} models: {shown}"
    raise ModelError(message, kind="model", hint=f"say which: {url}#{found[0]}")
