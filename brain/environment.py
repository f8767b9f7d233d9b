"""The environment variables that stand over the settings files, and looking at them.

Imports next to nothing: `kds route` looks at them on every call, and reading the settings
themselves costs 110 ms of imports.
"""

import os
from collections.abc import Mapping
from typing import Final

from kds.brain.discovery import OFF, ON, OWN_SETTINGS, own_settings

Place = tuple[str, str]
"""A section and a key in it."""

MEMORY: Final = "KDS_MEMORY"
"""The only variable that can switch the memory on."""

DATABASE: Final = "KDS_DATABASE"
"""The address of the server that keeps conversations, if any does."""

VARIABLES: Final[Mapping[str, Place]] = {
    "KDS_SERVICE": ("service", "enabled"),
    "KDS_SERVICE_AUTO": ("service", "auto"),
    "KDS_SERVICE_IDLE_MINUTES": ("service", "idle_minutes"),
    MEMORY: ("memory", "enabled"),
    "KDS_MEMORY_SUMMARIES": ("memory", "summaries"),
    "KDS_MODEL": ("model", "name"),
    "KDS_MODEL_URL": ("model", "base_url"),
    "KDS_MODEL_TIMEOUT_S": ("model", "timeout_s"),
    "KDS_MODEL_RETRIES": ("model", "max_retries"),
    "KDS_MODEL_RATE": ("model", "requests_per_second"),
    "KDS_MODEL_TEMPERATURE": ("model", "temperature"),
    "KDS_MODEL_MAX_TOKENS": ("model", "max_tokens"),
    "KDS_CONVERSATION_JOIN": ("conversation", "join"),
    "KDS_HOOK_MODE": ("hook", "mode"),
    "KDS_REFERENCES_PRECISION": ("references", "precision"),
    "KDS_REWRITING": ("rewriting", "mode"),
    "KDS_REWRITING_TIMEOUT_S": ("rewriting", "timeout_s"),
    "KDS_LEARNING": ("learning", "enabled"),
    DATABASE: ("database", "url"),
    "KDS_DATABASE_ORGANISATION": ("database", "organisation"),
    "KDS_DATABASE_PERSON": ("database", "person"),
    "KDS_DATABASE_PROJECT": ("database", "project"),
}
"""Environment variable -> the section and key that it overrides."""

FLAGS: Final[Mapping[str, Place]] = {
    "RAG_HYBRID": ("recall", "hybrid"),
    "RAG_CHUNKING": ("recall", "chunking"),
    "RAG_TOKEN_BUDGET": ("recall", "token_budget"),
    "RAG_SUMMARY_FREQUENCY": ("memory", "summary_frequency"),
    "RAG_RERANK_ALPHA": ("recall", "rerank_alpha"),
    "RAG_RERANK_BETA": ("recall", "rerank_beta"),
    "RAG_RERANK_GAMMA": ("recall", "rerank_gamma"),
    "RAG_EMBEDDINGS": ("recall", "embeddings"),
    "enable_query_rewriting": ("memory", "enable_query_rewriting"),
    "enable_session_memory": ("memory", "enable_session_memory"),
    "enable_history_summarization": ("memory", "enable_history_summarization"),
    "history_max_turns": ("memory", "history_max_turns"),
    "session_memory_ttl_hours": ("memory", "session_memory_ttl_hours"),
}
"""Names under which a setting is known elsewhere (issue 5). As a variable each may stand as
written here, in upper case, or in upper case behind `KDS_`, which wins; as a key of the file, as
written here outside of any section."""

RENAMED: Final[Mapping[str, str]] = {"KDS_SERVICE_AUTOSTART": "KDS_SERVICE_AUTO"}
"""What a variable was called before; setting it is an error that says the new name."""

SPACY_MODEL: Final = "KDS_SPACY_MODEL"
"""Names an installed spaCy pipeline (`kds.api.routing`); it is no setting of a file."""


def spellings(name: str) -> tuple[str, ...]:
    """Return the environment variables that a setting listens to; the first that is set counts.

    >>> spellings("history_max_turns"), spellings("KDS_MEMORY")
    (('KDS_HISTORY_MAX_TURNS', 'HISTORY_MAX_TURNS', 'history_max_turns'), ('KDS_MEMORY',))
    """
    if name in VARIABLES or name in RENAMED:
        return (name,)
    return tuple(dict.fromkeys((f"KDS_{name.upper()}", name.upper(), name)))


PLACES: Final[Mapping[str, Place]] = {
    one: place for name, place in {**VARIABLES, **FLAGS}.items() for one in spellings(name)
}
"""Every variable as it may be spelled -> the section and key that it overrides."""


_KNOWN: Final = frozenset((*PLACES, *RENAMED))


def variables_set(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variables of ``environ`` that say something, by name.

    It is asked three times a turn: the environment has fewer names than there are spellings.
    """
    said = {one: text for one in environ if one in _KNOWN and (text := environ[one].strip())}
    firsts = (
        next((one for one in spellings(name) if one in said), None)
        for name in (*VARIABLES, *FLAGS, *RENAMED)
    )
    return {first: said[first] for first in firsts if first is not None} if said else {}


def switch(name: str, environ: Mapping[str, str] = os.environ) -> bool | None:
    """Return how a variable sets a switch; None when it is not set, or to something else.

    >>> switch("KDS_SERVICE", {"KDS_SERVICE": "Off"}), switch("KDS_SERVICE", {})
    (False, None)
    """
    word = environ.get(name, "").strip().lower()
    return False if word in OFF else True if word in ON else None


def routing_variables(environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return what routing a message depends on in an environment.

    That is what a command tells the service along with a message, where its own environment is
    another one. The user's settings file is always among it, by its place; "" is none.
    """
    found = {
        name: text
        for name, text in variables_set(environ).items()
        if name in RENAMED or PLACES[name][0] != "recall"
    }
    if spacy_model := environ.get(SPACY_MODEL, "").strip():
        found[SPACY_MODEL] = spacy_model
    own = own_settings(environ)
    return {**found, OWN_SETTINGS: own if os.path.exists(own) else ""}  # noqa: PTH110
