"""The settings: the user's own file, then ``kds-brain/settings.yaml``, then the environment.

A workspace's file may come with a cloned project. So it cannot name a model or a server, which
would be told all that is said, nor code to run (docs/decisions/0013-settings-of-a-project.md).

`LiveConfig` hands out the frozen `Config` that holds now: it looks at the files and the
environment, and loads again only what has changed.
"""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from threading import Lock
from types import MappingProxyType
from typing import Annotated, Any, Final, Literal

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SecretStr,
    ValidationError,
    model_validator,
)

from kds.brain.environment import PLACES, TOP_LEVEL, Place, variables_set
from kds.brain.errors import ConfigError, Problem
from kds.brain.workspace import (
    Environ,
    SharedDatabase,
    Workspace,
    own_settings_path,
    stamp_of,
)
from kds.brain.yaml_files import Document, NodePath, parse_yaml, read_text, validate

IDLE_MINUTES: Final = 30.0
"""A coffee break must not cost a cold start of seconds; a closed editor must not keep 200 MB."""

CONTEXT_LIMIT: Final = 262_144
"""Tokens: the longest conversation that can be sent whole (issue 5)."""

RewritingMode = Literal["rules-only", "rules-first", "model-first"]
SummaryMode = Literal["auto", "extractive", "off"]
SecretsMode = Literal["off", "warn", "block"]

_BARE_OFF: Final = BeforeValidator(lambda value: "off" if value is False else value)
"""In YAML a bare ``off`` is false."""


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


class ServiceSettings(_Section):
    """How the command line uses the resident service."""

    enabled: bool = True
    """Whether the command line asks a running service."""
    auto: bool = True
    """Whether the command line and the hook start one when there is none."""
    idle_minutes: float = Field(default=IDLE_MINUTES, ge=0)
    """Minutes without a request after which a service that started by itself ends; 0: never."""


class MemorySettings(_Section):
    """What a conversation remembers."""

    enabled: bool | None = None
    """None: as the surface has it, on in a chat and off where KDS only routes."""
    summary_frequency: int = Field(default=5, ge=0)
    """Assistant messages to a periodic summary; 0: none."""
    enable_query_rewriting: bool = True
    """Whether questions in sessions are made self-contained before they are searched for."""
    enable_session_memory: bool = True
    """Whether a session remembers the terms and documents that its questions were about."""
    enable_history_summarization: bool = True
    """Whether older turns go to the model as a summary."""
    summaries: Annotated[SummaryMode, _BARE_OFF] = "auto"
    """Who summarises: ``auto`` the chat model where there is one, after the answer; ``extractive``
    picks sentences of the conversation, as ``auto`` does without a model; ``off`` nobody."""
    history_max_turns: int = Field(default=10, ge=0, le=1000)
    """Earlier turns that go along with a question; the last four reach the model verbatim."""
    session_memory_ttl_hours: float = Field(default=4.0, gt=0, le=24 * 365)
    """Hours since its last use that an entity memory lives."""
    summary_words: int = Field(default=200, ge=0)
    """Words of a summary at most."""
    summary_tokens: int = Field(default=200, ge=0, le=CONTEXT_LIMIT)
    """Tokens of the summary in what goes to the model."""
    verbatim_tokens: int = Field(default=800, ge=0, le=CONTEXT_LIMIT)
    """Tokens of the turns in what goes to the model word for word."""
    query_tokens: int = Field(default=100, gt=0, le=CONTEXT_LIMIT)
    """Tokens of the question in what goes to the model."""
    context_limit_tokens: int = Field(default=0, ge=0, le=CONTEXT_LIMIT)
    """Above 0: the whole conversation is sent, and condensed at 95 % of that."""

    @property
    def condenses(self) -> bool:
        """Whether what left the window is summarised."""
        return self.enable_history_summarization and self.summaries != "off"

    @property
    def summary_every(self) -> int:
        """Assistant messages to a periodic summary; 0: none."""
        return 0 if self.summaries == "off" else self.summary_frequency

    @property
    def ttl(self) -> timedelta:
        """How long an entity memory lives."""
        return timedelta(hours=self.session_memory_ttl_hours)


class RecallOptions(_Section):
    """How past conversations are searched."""

    hybrid: bool = True
    """Whether words, names and meaning are searched for together; off: words alone."""
    chunking: bool = True
    """Whether long messages are searched in parts."""
    token_budget: int = Field(default=1000, ge=0, le=CONTEXT_LIMIT)
    """Tokens that what was recalled may fill."""
    rerank_alpha: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    """Weight of meaning (with an embedding model); None: the default."""
    rerank_beta: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    """Weight of words."""
    rerank_gamma: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    """Weight of identifiers."""
    embeddings: str | None = Field(default=None, min_length=1)
    """``shipped`` (None, too), ``off``, or ``module:name``, which a workspace cannot choose."""

    @model_validator(mode="after")
    def _something_counts(self) -> "RecallOptions":
        if self.rerank_beta == 0 and self.rerank_gamma == 0:
            raise ValueError("rerank_beta and rerank_gamma are both 0: nothing would be found")
        return self


class ModelSettings(_Section):
    """The chat model that agents and the rewriter ask, and how patient they are."""

    name: str | None = Field(default=None, min_length=1)
    """``provider:model``, or the URL of an OpenAI-compatible server, ``#model`` behind it."""
    base_url: str | None = Field(default=None, min_length=1)
    """Where the provider is, when it is not at its usual address."""
    timeout_s: float = Field(default=60.0, gt=0, le=3600)
    """Seconds that one answer may take, with everything that is tried again."""
    max_retries: int = Field(default=2, ge=0, le=10)
    """How often a call that failed is made again."""
    temperature: float = Field(default=0.0, ge=0, le=2)
    """0: the same answer to the same question, as far as the model can."""
    max_tokens: int | None = Field(default=None, gt=0)
    """Of an answer; None: as the provider has it."""


class RewritingSettings(_Section):
    """Who makes a message self-contained."""

    mode: RewritingMode = "rules-first"
    """``rules-first`` asks a model only where the rules see a reference and abstain."""
    timeout_s: float = Field(default=5.0, gt=0, le=600)
    """Seconds to wait for a rewrite; then the rules have it."""


class HookSettings(_Section):
    """What the prompt hook looks for."""

    secrets: Annotated[SecretsMode, _BARE_OFF] = "off"
    """What to do about a prompt that holds a secret, and about reading files such as `.env`."""


class ActivationSettings(_Section):
    """Which skill, agent, command or prompt file is named beside a prompt."""

    enabled: bool = True
    """Whether the hook names the one that fits, once a session, when it is sure."""
    precision: float = Field(default=0.9, ge=0, le=1)
    """Share of the names that are to be right, up to 0.95; above, nothing is named."""
    learn: bool = True
    """Whether what ran after which prompt of this project is kept, and counts."""


class AssistantSettings(_Section):
    """What is kept of the sessions of assistants."""

    keep_days: int = Field(default=0, ge=0, le=36_500)
    """Days since its last message that a session is kept; 0: for ever."""
    in_database: bool = False
    """On: kept on the server of ``database.url``, for every machine of that person."""


class ReferenceSettings(_Section):
    """What is written out of what a message refers to."""

    precision: float = Field(default=0.93, ge=0, le=1)
    """Share of the written references that is to be right; 1: nothing is written, 0: all."""


class LearningSettings(_Section):
    """Whether corrections and clarifications become examples."""

    enabled: bool = True
    """Off: nothing is logged to learn from, and what was learned is not used."""


class DatabaseSettings(_Section):
    """The server that keeps conversations for many, in the place of the workspace's files."""

    url: SecretStr | None = None
    """``postgresql://...``; None: the files of the workspace. It may hold a password."""
    organisation: str = Field(default="default", min_length=1, max_length=128)
    """Whose server it is: people of different organisations never see one another."""
    person: str | None = Field(default=None, min_length=1, max_length=128)
    """Whose conversations these are; None: the name of the user on this machine."""
    project: str | None = Field(default=None, min_length=1, max_length=128)
    """What they are about; None: the name of the workspace's folder."""


class Settings(_Section):
    """All settings of a workspace, with their defaults."""

    service: ServiceSettings = ServiceSettings()
    memory: MemorySettings = MemorySettings()
    recall: RecallOptions = RecallOptions()
    hook: HookSettings = HookSettings()
    activation: ActivationSettings = ActivationSettings()
    assistants: AssistantSettings = AssistantSettings()
    references: ReferenceSettings = ReferenceSettings()
    rewriting: RewritingSettings = RewritingSettings()
    learning: LearningSettings = LearningSettings()
    model: ModelSettings = ModelSettings()
    database: DatabaseSettings = DatabaseSettings()


USERS_ALONE: Final = ("model", "database", "assistants")
"""The sections that only the user's own file may have: they say who is told what is said, and how
long it is kept."""

STRICTER: Final[tuple[SecretsMode, ...]] = ("off", "warn", "block")
"""The levels of ``hook.secrets``, from the weakest."""

DEFAULT: Final = "default"
"""The source of a value that is not set anywhere."""

Texts = Mapping[Path, str]


class SettingsError(ConfigError):
    """The settings of a workspace, or a variable over them, are wrong."""


@dataclass(frozen=True, slots=True)
class Layers:
    """The settings as they come together: each layer stands over the one before it."""

    own_path: Path
    own: Document
    project: Document
    chosen: Settings
    """What the environment sets."""
    variables: Mapping[Place, str]
    """Which variable sets what."""

    def settings(self) -> Settings:
        """All of it together. Raises SettingsError when two layers do not go together."""
        values: dict[str, dict[str, Any]] = {}
        chosen = self.chosen.model_dump(exclude_unset=True)
        for layer in (_keys(self.own), _keys(self.project), chosen):
            for section, given in layer.items():
                values[section] = {**values.get(section, {}), **given}
        try:
            return Settings.model_validate(values)
        except ValidationError as error:  # each is right by itself, the two together are not
            where = "the settings and the environment"
            raise SettingsError(_faults(error, {}, where=where)) from error

    def source(self, place: Place) -> str:
        """Where a setting has its value from: `$VARIABLE`, `path:line`, or `default`."""
        if place in self.variables:
            return f"${self.variables[place]}"
        for document in (self.project, self.own):
            if place[1] in _keys(document).get(place[0], {}):
                return document.where(place)
        return DEFAULT


def load_settings(workspace: Workspace, *, environ: Environ = os.environ) -> Settings:
    """Read the settings of ``workspace``; what is not set has its default.

    Raises SettingsError with everything that is wrong in the files and in the environment.
    """
    return load_layers(workspace, environ=environ).settings()


def load_layers(
    workspace: Workspace, *, environ: Environ = os.environ, texts: Texts = MappingProxyType({})
) -> Layers:
    """Read the settings of ``workspace``, layer by layer.

    ``texts`` are what files would say in the place of what they do: so a change is tried before
    it is made. Raises SettingsError as `load_settings` does.
    """
    own_path = own_settings_path(environ)
    own, project = (_document(path, texts) for path in (own_path, workspace.settings_path))
    problems: list[Problem] = []
    for found in (validate(own, Settings), validate(project, Settings)):
        problems += () if isinstance(found, Settings) else found
    problems += _overreach(project, own_path)
    given: dict[str, dict[str, str]] = {}
    names: dict[Place, str] = {}
    for name, text in variables_set(environ).items():
        section, key = PLACES[name]
        given.setdefault(section, {})[key] = text
        names[section, key] = name
    try:
        chosen = Settings.model_validate_strings(given)
    except ValidationError as error:
        problems += _faults(error, names, where="the environment")
    if problems:
        raise SettingsError(problems)
    wanted, least = (
        STRICTER.index(Settings.model_validate(one.data).hook.secrets) for one in (project, own)
    )
    if wanted < least:  # a workspace's file may come with a cloned project
        _keys(project).get("hook", {}).pop("secrets", None)
    return Layers(own_path, own, project, chosen, names)


def _keys(document: Document) -> dict[str, Any]:
    return document.data if isinstance(document.data, dict) else {}


def _overreach(project: Document, own_path: Path) -> Iterator[Problem]:
    """What a workspace's file sets that only the user may."""
    data = _keys(project)
    places: list[NodePath] = [(section,) for section in USERS_ALONE if section in data]
    recall = data.get("recall")
    if isinstance(recall, dict) and ":" in str(recall.get("embeddings", "")):
        places.append(("recall", "embeddings"))
    for place in places:
        yield Problem(
            project.where(place),
            f"'{place[-1]}' cannot be set here: the file may come with a cloned project",
            f"move it to {own_path}, or set the environment variable",
        )


def _document(path: Path, texts: Texts) -> Document:
    """A settings file, with settings under their other names moved to where they belong."""
    text = texts[path] if path in texts else read_text(path) if path.exists() else ""
    if isinstance(text, Problem):
        raise SettingsError([text])
    document = parse_yaml(text, path=str(path))
    if document.data is None and not document.problems:  # nothing but comments
        return Document(str(path), {}, {})
    if not isinstance(document.data, dict):
        return document
    data, lines, problems = dict(document.data), dict(document.lines), list(document.problems)
    for name in [name for name in TOP_LEVEL if name in data]:
        section, key = TOP_LEVEL[name]
        inner = data.setdefault(section, {})
        if not isinstance(inner, dict):
            continue  # wrong anyway, and reported as such
        if key in inner:
            message = f"'{name}' is '{key}' (in {section}), which is set too"
            problems.append(Problem(document.where((name,)), message, "keep one of the two"))
        data[section] = {key: data.pop(name), **inner}
        lines.setdefault((section, key), document.line((name,)))
    return replace(document, data=data, lines=lines, problems=tuple(problems))


def _faults(error: ValidationError, names: Mapping[Place, str], *, where: str) -> Iterator[Problem]:
    for found in error.errors():
        section, key = (*map(str, found["loc"][:2]), "", "")[:2]
        message = found["msg"].removeprefix("Value error, ")
        if name := names.get((section, key)):
            said = f"{message.lower()}, not '{found['input']}'"
            yield Problem(f"${name}", said, f"correct or unset {name}")
        else:
            yield Problem(where, message, "correct one of the two")


@dataclass(frozen=True)
class Config:
    """A workspace, the environment, and what is set in both."""

    workspace: Workspace
    settings: Settings
    environ: Environ

    @property
    def database(self) -> SharedDatabase | None:
        """The server that keeps conversations in place of the workspace's files, if any."""
        return SharedDatabase.of(self.settings, self.workspace)


def cautious(workspace: Workspace, *, environ: Mapping[str, str] = os.environ) -> Settings:
    """What holds while the settings of a workspace are wrong: the user's own, else the defaults.

    Nothing is remembered meanwhile, as the file may say so. Raises SettingsError when it is the
    environment that is wrong.
    """
    texts = {workspace.settings_path: ""}
    try:
        settings = load_layers(workspace, environ=environ, texts=texts).settings()
    except SettingsError:
        texts[own_settings_path(environ)] = ""
        settings = load_layers(workspace, environ=environ, texts=texts).settings()
    memory = settings.memory.model_copy(update={"enabled": False})
    return settings.model_copy(update={"memory": memory})


class LiveConfig:
    """The configuration of a workspace as it is now. For any threads."""

    def __init__(self, workspace: Workspace, *, environ: Mapping[str, str] = os.environ) -> None:
        self.workspace = workspace
        self.environ = environ
        self._lock = Lock()
        self._stamp: object = None
        self._config: Config | None = None
        self.problem: SettingsError | None = None
        """What is wrong with the settings as they are now."""

    @property
    def settings(self) -> Settings:
        """The settings as they are now. Raises as `current` does."""
        return self.current().settings

    def current(self) -> Config:
        """Return the configuration as it is now: the same object while nothing has changed.

        While the settings are wrong the last good ones hold, the first time `cautious` ones, and
        `problem` says why. Raises SettingsError when it is the environment that is wrong.
        """
        with self._lock:
            files = (self.workspace.settings_path, own_settings_path(self.environ))
            stamp = (*map(stamp_of, files), tuple(variables_set(self.environ).items()))
            if self._config is None or stamp != self._stamp:
                self._config, self._stamp = self._loaded(), stamp
            return self._config

    def _loaded(self) -> Config:
        self.problem = None
        try:
            settings = load_settings(self.workspace, environ=self.environ)
        except SettingsError as error:
            self.problem = error
            if self._config is not None:
                return self._config
            settings = cautious(self.workspace, environ=self.environ)
        return Config(self.workspace, settings, self.environ)
