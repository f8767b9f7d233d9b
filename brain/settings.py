"""What a user may set for a workspace: ``kds-brain/settings.yaml``, and the environment over it.

service:
  enabled: true      # let the command line ask a running service
  autostart: false   # let it start one in the background when there is none
  idle_minutes: 30   # such a service ends after that long unasked; 0: never
memory:                                # docs/memory.md says what each does
  enabled: true                        # unset: on in a chat, off where KDS only routes
  summary_frequency: 5
  enable_query_rewriting: true
  enable_session_memory: true
  enable_history_summarization: true
  history_max_turns: 4
  session_memory_ttl_hours: 4
recall:
  hybrid: true
  chunking: true
  token_budget: 1000
  embeddings: my_models:small          # unset: words and names only
"""

import os
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from kds.brain.document import Document, NodePath, parse_yaml, read_text, validate
from kds.brain.errors import ConfigError, Problem
from kds.brain.workspace import Workspace

IDLE_MINUTES: Final = 30.0
"""A coffee break must not cost a cold start of seconds; a closed editor must not keep 200 MB."""

CONTEXT_LIMIT: Final = 262_144
"""Tokens: the longest conversation that can be sent whole (issue 5)."""

Place = tuple[str, str]
"""A section and a key in it."""

VARIABLES: Final[Mapping[str, Place]] = {
    "KDS_SERVICE": ("service", "enabled"),
    "KDS_SERVICE_AUTOSTART": ("service", "autostart"),
    "KDS_SERVICE_IDLE_MINUTES": ("service", "idle_minutes"),
    "KDS_MEMORY": ("memory", "enabled"),
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


class SettingsError(ConfigError):
    """The settings of a workspace, or a variable over them, are wrong."""


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class ServiceSettings(_Section):
    """How the command line uses the resident service."""

    enabled: bool = True
    autostart: bool = False
    idle_minutes: float = Field(default=IDLE_MINUTES, ge=0, allow_inf_nan=False)


class MemorySettings(_Section):
    """What a conversation remembers."""

    enabled: bool | None = None
    """None: as the surface has it, on in a chat and off where KDS only routes."""
    summary_frequency: int = Field(default=5, ge=0)
    """Assistant messages to a periodic summary; 0: none."""
    enable_query_rewriting: bool = True
    enable_session_memory: bool = True
    enable_history_summarization: bool = True
    history_max_turns: int = Field(default=4, ge=0, le=1000)
    """Turns that go to the model verbatim."""
    session_memory_ttl_hours: float = Field(default=4.0, gt=0, le=24 * 365, allow_inf_nan=False)
    """Hours since its last use that an entity memory lives."""
    summary_words: int = Field(default=200, ge=0)
    summary_tokens: int = Field(default=200, ge=0, le=CONTEXT_LIMIT)
    verbatim_tokens: int = Field(default=800, ge=0, le=CONTEXT_LIMIT)
    query_tokens: int = Field(default=100, gt=0, le=CONTEXT_LIMIT)
    context_limit_tokens: int = Field(default=0, ge=0, le=CONTEXT_LIMIT)
    """Above 0: the whole conversation is sent, and condensed at 95 % of that."""


class RecallOptions(_Section):
    """How past conversations are searched."""

    hybrid: bool = True
    chunking: bool = True
    token_budget: int = Field(default=1000, ge=0, le=CONTEXT_LIMIT)
    rerank_alpha: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    """Weight of meaning (with an embedding model); None: the default of `kds.brain.memory`."""
    rerank_beta: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    """Weight of words."""
    rerank_gamma: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    """Weight of identifiers."""
    embeddings: str | None = Field(default=None, min_length=1)
    """The embedding model, ``module:name`` (`kds.embeddings`); None: words and names only."""

    @model_validator(mode="after")
    def _something_counts(self) -> "RecallOptions":
        if self.rerank_beta == 0 and self.rerank_gamma == 0:
            raise ValueError("rerank_beta and rerank_gamma are both 0: nothing would be found")
        return self


class Settings(_Section):
    """All settings of a workspace, with their defaults."""

    service: ServiceSettings = ServiceSettings()
    memory: MemorySettings = MemorySettings()
    recall: RecallOptions = RecallOptions()


def load_settings(workspace: Workspace, *, environ: Mapping[str, str] = os.environ) -> Settings:
    """Read the settings of ``workspace``; what is not set has its default.

    Raises SettingsError with everything that is wrong in the file and in the environment.
    """
    document = _with_flags_in_place(_document(workspace))
    chosen, faults = _from_environment(environ)
    problems = [*_problems_of_file(document), *faults]
    if problems or chosen is None:
        raise SettingsError(problems)
    values = Settings.model_validate(document.data).model_dump()
    for section, given in chosen.model_dump(exclude_unset=True).items():
        values[section] |= given
    try:
        return Settings.model_validate(values)
    except ValidationError as error:  # each is right by itself, the two together are not
        raise SettingsError(_faults(error, {}, where="the settings and the environment")) from error


def spellings(name: str) -> tuple[str, ...]:
    """Return the environment variables that a setting listens to; the first that is set counts.

    >>> spellings("history_max_turns"), spellings("KDS_MEMORY")
    (('KDS_HISTORY_MAX_TURNS', 'HISTORY_MAX_TURNS', 'history_max_turns'), ('KDS_MEMORY',))
    """
    if name in VARIABLES:
        return (name,)
    return tuple(dict.fromkeys((f"KDS_{name.upper()}", name.upper(), name)))


def variables_set(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variables of ``environ`` that say something, by name."""
    found = {}
    for name in (*VARIABLES, *FLAGS):
        set_ones = (one for one in spellings(name) if environ.get(one, "").strip())
        if (first := next(set_ones, None)) is not None:
            found[first] = environ[first].strip()
    return found


def _document(workspace: Workspace) -> Document:
    path = workspace.settings_path
    if not path.exists():
        return Document(str(path), {}, {})
    text = read_text(path)
    if isinstance(text, Problem):
        raise SettingsError([text])
    document = parse_yaml(text, path=str(path))
    if document.data is None and not document.problems:  # nothing but comments
        return Document(str(path), {}, {})
    return document


def _with_flags_in_place(document: Document) -> Document:
    """Move settings under their other names to where they belong; a line stays its line."""
    if not isinstance(document.data, dict):
        return document
    data = dict(document.data)
    lines: dict[NodePath, int] = dict(document.lines)
    problems = list(document.problems)
    for name in [name for name in FLAGS if name in data]:
        section, key = FLAGS[name]
        inner = data.setdefault(section, {})
        if not isinstance(inner, dict):
            continue  # wrong anyway, and reported as such
        if key in inner:
            message = f"'{name}' is '{key}' (in {section}), which is set too"
            problems.append(Problem(document.where((name,)), message, "keep one of the two"))
        data[section] = {key: data.pop(name), **inner}
        lines.setdefault((section, key), document.line((name,)))
    return replace(document, data=data, lines=lines, problems=tuple(problems))


def _problems_of_file(document: Document) -> tuple[Problem, ...]:
    found = validate(document, Settings)
    return () if isinstance(found, Settings) else found


def _from_environment(environ: Mapping[str, str]) -> tuple[Settings | None, tuple[Problem, ...]]:
    places = {
        one: place for name, place in {**VARIABLES, **FLAGS}.items() for one in spellings(name)
    }
    given: dict[str, Any] = {}
    names: dict[Place, str] = {}
    for name, text in variables_set(environ).items():
        section, key = places[name]
        given.setdefault(section, {})[key] = text
        names[section, key] = name
    try:
        return Settings.model_validate_strings(given), ()
    except ValidationError as error:
        return None, tuple(_faults(error, names, where="the environment"))


def _faults(error: ValidationError, names: Mapping[Place, str], *, where: str) -> Iterator[Problem]:
    for found in error.errors():
        place = tuple(map(str, found["loc"][:2]))
        message = found["msg"].removeprefix("Value error, ")
        name = names.get((place[0], place[1])) if len(place) == 2 else None
        if name is None:
            yield Problem(where, message, "correct one of the two")
        else:
            said = f"{message.lower()}, not '{found['input']}'"
            yield Problem(f"${name}", said, f"correct or unset {name}")
