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
    "KDS_ENABLE_QUERY_REWRITING": ("memory", "enable_query_rewriting"),
    "KDS_ENABLE_SESSION_MEMORY": ("memory", "enable_session_memory"),
    "KDS_ENABLE_HISTORY_SUMMARIZATION": ("memory", "enable_history_summarization"),
    "KDS_HISTORY_MAX_TURNS": ("memory", "history_max_turns"),
    "KDS_SESSION_MEMORY_TTL_HOURS": ("memory", "session_memory_ttl_hours"),
    "KDS_MODEL": ("model", "name"),
    "KDS_MODEL_URL": ("model", "base_url"),
    "KDS_MODEL_TIMEOUT_S": ("model", "timeout_s"),
    "KDS_MODEL_RETRIES": ("model", "max_retries"),
    "KDS_MODEL_TEMPERATURE": ("model", "temperature"),
    "KDS_MODEL_MAX_TOKENS": ("model", "max_tokens"),
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

TOP_LEVEL: Final[Mapping[str, Place]] = {
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
"""Names that may stand in a settings file outside of any section -> section and key."""

PLACES: Final[Mapping[str, Place]] = {
    **VARIABLES,
    **{name: place for name, place in TOP_LEVEL.items() if name.startswith("RAG_")},
}
"""Every environment variable -> the section and key that it sets."""

SPACY_MODEL: Final = "KDS_SPACY_MODEL"
"""Names an installed spaCy pipeline (`kds.api.routing`); not a setting of a file."""


def variables_set(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variables of KDS in ``environ`` that are not empty."""
    return {name: text for name in environ if name in PLACES and (text := environ[name].strip())}


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
    given = variables_set(environ)
    found = {name: text for name, text in given.items() if PLACES[name][0] != "recall"}
    if spacy_model := environ.get(SPACY_MODEL, "").strip():
        found[SPACY_MODEL] = spacy_model
    own = own_settings(environ)
    return {**found, OWN_SETTINGS: own if os.path.exists(own) else ""}  # noqa: PTH110
