"""The user's chat model, from the name of it: LangChain's integrations do the rest.

openai:NAME, anthropic:NAME, ollama:NAME     the provider, with its own key from the environment
http://host/v1, http://host/v1#NAME          any server that speaks OpenAI's chat completions

Keys come from the environment only. That of a provider goes to this provider and nowhere else:
to an address that the user gives, KDS_MODEL_KEY goes, or a word that is no key. Nothing here, and
nothing in LangChain unless LANGSMITH_TRACING or LANGCHAIN_TRACING_V2 is set, tells anybody else.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from kds.agents.model_error import ModelError, model_error
from kds.agents.providers import OPENAI, PROVIDERS, Provider, Wanted
from kds.brain.settings import ModelSettings
from kds.brain.timeouts import Deadline
from kds.brain.yaml_files import nearest

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
        message = f"a {type(model).__name__} is no model"
        hint = "pass a chat model of LangChain, or a name such as openai:NAME"
        raise ModelError(message, kind="setting", hint=hint)
    return model


def model_timeout(model: BaseChatModel | None) -> float | None:
    """Seconds that a model of the caller's own may take, where its class says so; else None.

    The time of one request, as OpenAI's, Anthropic's, Ollama's and other classes of LangChain
    name it, or of its longest phase.
    """
    options = getattr(model, "client_kwargs", None)
    inner = options.get("timeout") if isinstance(options, Mapping) else None
    found = (*(getattr(model, name, None) for name in _TIMEOUTS), inner)
    return next((limit for limit in map(_seconds, found) if limit is not None), None)


_TIMEOUTS: Final = ("request_timeout", "default_request_timeout", "timeout")


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
    """The keys that a model holds, by names that `kds.agents.model_error` takes for such."""
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
        message = f"'{name}' is no model that KDS can reach"
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
            "the address of the model is no http or https URL", kind="setting", hint=hint
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
        raise ModelError(f"there is no key for {name}", kind="key", hint=hint)
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
