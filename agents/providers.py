"""The LangChain integrations that KDS can reach, and how each spells what is set.

Each reads keys from the environment by itself. So where the user gives an address of their own,
every header that could hold one is set here: no provider's key goes to another host.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final

from kds.agents.model_error import ModelError
from kds.agents.model_http import OPTIONS, async_client, sync_client
from kds.brain.errors import KdsError
from kds.brain.installation import load_extra
from kds.brain.settings import ModelSettings

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


Options = dict[str, Any]


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
