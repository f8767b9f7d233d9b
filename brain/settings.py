"""What a user may set for a workspace: ``kds-brain/settings.yaml``, and the environment over it.

service:
  enabled: true      # let the command line ask a running service
  autostart: false   # let it start one in the background when there is none
  idle_minutes: 30   # such a service ends after that long unasked; 0: never
"""

import os
from collections.abc import Iterator, Mapping
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from kds.brain.document import Document, parse_yaml, read_text, validate
from kds.brain.errors import ConfigError, Problem
from kds.brain.workspace import Workspace

IDLE_MINUTES: Final = 30.0
"""A coffee break must not cost a cold start of seconds; a closed editor must not keep 200 MB."""

VARIABLES: Final[Mapping[str, tuple[str, str]]] = {
    "KDS_SERVICE": ("service", "enabled"),
    "KDS_SERVICE_AUTOSTART": ("service", "autostart"),
    "KDS_SERVICE_IDLE_MINUTES": ("service", "idle_minutes"),
}
"""Environment variable -> the section and key that it overrides."""


class SettingsError(ConfigError):
    """The settings of a workspace, or a variable over them, are wrong."""


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class ServiceSettings(_Section):
    """How the command line uses the resident service."""

    enabled: bool = True
    autostart: bool = False
    idle_minutes: float = Field(default=IDLE_MINUTES, ge=0, allow_inf_nan=False)


class Settings(_Section):
    """All settings of a workspace, with their defaults."""

    service: ServiceSettings = ServiceSettings()


def load_settings(workspace: Workspace, *, environ: Mapping[str, str] = os.environ) -> Settings:
    """Read the settings of ``workspace``; what is not set has its default.

    Raises SettingsError with everything that is wrong in the file and in the environment.
    """
    document = _document(workspace)
    problems = [*_problems_of_file(document), *_problems_of_environment(environ)]
    if problems:
        raise SettingsError(problems)
    values = Settings.model_validate(document.data).model_dump()
    for section, chosen in _from_environment(environ).model_dump(exclude_unset=True).items():
        values[section] |= chosen
    return Settings.model_validate(values)


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


def _problems_of_file(document: Document) -> tuple[Problem, ...]:
    found = validate(document, Settings)
    return () if isinstance(found, Settings) else found


def _problems_of_environment(environ: Mapping[str, str]) -> Iterator[Problem]:
    try:
        _from_environment(environ)
    except ValidationError as error:
        names = {place: name for name, place in VARIABLES.items()}
        for found in error.errors():
            section, key = found["loc"][0], found["loc"][1]
            name = names[str(section), str(key)]
            message = f"{found['msg'].lower()}, not '{found['input']}'"
            yield Problem(f"${name}", message, f"correct or unset {name}")


def _from_environment(environ: Mapping[str, str]) -> Settings:
    given: dict[str, Any] = {}
    for name, (section, key) in VARIABLES.items():
        if text := environ.get(name, "").strip():
            given.setdefault(section, {})[key] = text
    return Settings.model_validate_strings(given)
