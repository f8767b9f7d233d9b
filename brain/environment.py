"""Where a workspace and the user's own files are, and which settings the environment sets.

`kds-hook` asks this before every prompt, so it imports what Python has loaded by then, and no more
(see `kds.hooks.client`). Everybody else finds a workspace by `kds.brain.workspace`.
"""

import errno
import os
import stat
import sys
from _collections_abc import Mapping  # loaded already, by `os`; `collections` is not

BRAIN = "kds-brain"
NESTED = "KDS"
HOME_VARIABLE = "KDS_HOME"
OWN_SETTINGS = "KDS_CONFIG"
"""Environment variable that names the user's own settings file."""

OFF = frozenset(("0", "off", "f", "false", "n", "no"))
ON = frozenset(("1", "on", "t", "true", "y", "yes"))
"""How a switch is spelled, in any case: as pydantic reads it (docs.pydantic.dev, booleans)."""


Place = tuple[str, str]
"""A section of the settings and a key in it."""

MEMORY = "KDS_MEMORY"
"""The only variable that can switch the memory on."""

DATABASE = "KDS_DATABASE"
"""The address of the server that keeps conversations, if any does."""

VARIABLES: dict[str, Place] = {
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

TOP_LEVEL: dict[str, Place] = {
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

PLACES = VARIABLES | {name: TOP_LEVEL[name] for name in TOP_LEVEL if name.startswith("RAG_")}
"""Every environment variable -> the section and key that it sets."""

SPACY_MODEL = "KDS_SPACY_MODEL"
"""Names an installed spaCy pipeline (`kds.api.routing`); not a setting of a file."""


def find_workspace(start: str) -> tuple[str, str] | None:
    """The root and the ``kds-brain`` of the workspace of ``start``; None where none is yet."""
    try:
        found = locate(start)
    except OSError:
        return None
    return found if os.path.isdir(found[1]) else None


def locate(start: str, environ: Mapping[str, str] = os.environ) -> tuple[str, str]:
    """The root and the ``kds-brain`` of the workspace of ``start``, which may not exist yet.

    The first that applies: ``$KDS_HOME``, which names the folder that holds ``kds-brain/`` or that
    folder itself; the nearest of ``start`` and its parents with ``kds-brain/`` or
    ``KDS/kds-brain/``, or whose repository has one that it is a `git worktree` of; ``start``. A
    ``kds-brain/`` that belongs neither to this user nor to the owner of ``start`` is passed over:
    anyone who may write to a folder above, such as /tmp, must not read along.

    Raises OSError when the current folder no longer exists, links lead in a circle, or the home is
    that of a user who does not exist.
    """
    if home := environ.get(HOME_VARIABLE, "").strip():
        return _named(home)
    origin = os.path.realpath(start)
    try:
        if not stat.S_ISDIR(os.stat(origin).st_mode):
            origin = os.path.dirname(origin)
    except OSError as error:  # it may be made later
        if error.errno == errno.ELOOP:
            raise
    folder, above = origin, ""
    while folder != above:
        main = common_git_folder(os.path.join(folder, ".git"))
        for place in (folder, os.path.dirname(main) if os.path.basename(main) == ".git" else ""):
            for root in (place, os.path.join(place, NESTED)) if place else ():
                if _has_brain(root) and is_owned(os.path.join(root, BRAIN), origin):
                    return root, os.path.join(root, BRAIN)
        folder, above = os.path.dirname(folder), folder
    return origin, os.path.join(origin, BRAIN)


def _named(home: str) -> tuple[str, str]:
    home = os.path.expanduser(home)
    if home.startswith("~"):
        raise FileNotFoundError(errno.ENOENT, "no such user", home)
    home = os.path.abspath(home)
    if os.path.basename(home) == BRAIN:
        return os.path.dirname(home), home
    roots = [root for root in (home, os.path.join(home, NESTED)) if _has_brain(root)]
    root = roots[0] if roots else home
    return root, os.path.join(root, BRAIN)


def _has_brain(root: str) -> bool:
    return os.path.isdir(os.path.join(root, BRAIN))


def common_git_folder(link: str) -> str:
    """The git folder that the `.git` file of a worktree belongs to; "" for anything else.

    The file names the worktree's folder in the repository, which names the worktree. A project can
    bring along the one, but not the other: it must not pass for a part of another.
    """
    if not os.path.isfile(link):
        return ""
    named = _line(link).removeprefix("gitdir: ")
    back = _line(os.path.join(named, "gitdir"))
    if not (os.path.isabs(named) and back and os.path.realpath(back) == os.path.realpath(link)):
        return ""
    return os.path.normpath(os.path.join(named, _line(os.path.join(named, "commondir"))))


def _line(path: str) -> str:
    """The first line of a small file; "" when it cannot be read."""
    if not os.path.isfile(path):  # a pipe would be waited for
        return ""
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            return file.readline(4096).rstrip("\r\n")
    except (OSError, ValueError):
        return ""


def own_folder(environ: Mapping[str, str] = os.environ) -> str:
    """The user's own folder of KDS: no project, and no variable of KDS, says where it is."""
    variable = "APPDATA" if sys.platform == "win32" else "XDG_CONFIG_HOME"
    folder = environ.get(variable, "").strip()
    base = folder if os.path.isabs(folder) else os.path.expanduser("~/.config")
    return os.path.join(base, "kds")


def own_settings(environ: Mapping[str, str] = os.environ) -> str:
    """Where the user's own settings are, which hold in every workspace.

    ``$KDS_CONFIG``, else ``kds/settings.yaml`` in the folder that the system keeps for settings:
    ``%APPDATA%`` on Windows, else ``$XDG_CONFIG_HOME`` or ``~/.config`` (XDG base directories).
    """
    if path := environ.get(OWN_SETTINGS, "").strip():
        return os.path.expanduser(path)
    return os.path.join(own_folder(environ), "settings.yaml")


def runtime_folder(environ: Mapping[str, str] = os.environ) -> str:
    """Where the files of the user's one service are: its socket, its lock, its log.

    ``kds`` in ``$XDG_RUNTIME_DIR`` or ``/run/user/UID``, whichever is there and belongs to this
    user, else ``run`` in the user's own folder of KDS.
    """
    if hasattr(os, "geteuid"):
        given = environ.get("XDG_RUNTIME_DIR", "").strip()
        for base in (given, f"/run/user/{os.geteuid()}"):
            try:
                if os.path.isabs(base) and os.stat(base).st_uid == os.geteuid():
                    return os.path.join(base, "kds")
            except OSError:  # it is not there
                continue
    return os.path.join(own_folder(environ), "run")


def is_owned(path: str, origin: str) -> bool:
    """Whether ``path`` is this user's, or of the owner of the folder ``origin`` that they work in.

    A link counts as what it leads to, and as the one who made it.
    """
    if not hasattr(os, "geteuid"):
        return True
    owners = {os.stat(path).st_uid, os.lstat(path).st_uid}
    try:
        return owners <= {os.geteuid(), os.stat(origin).st_uid}
    except OSError:  # ``origin`` need not exist
        return owners == {os.geteuid()}


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
    return {**found, OWN_SETTINGS: own if os.path.exists(own) else ""}
