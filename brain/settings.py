"""What a user may set: a file of their own, ``kds-brain/settings.yaml`` of a workspace over it,
and the environment over both.

service: {idle_minutes: 30}
memory: {enabled: true}

`kds.brain.settings_schema` has the sections and what each value may be; `kds config` shows them.

A workspace's file may come with a cloned project. So it cannot name a model or a server, which
would be told all that is said, nor code of its choice to run
(docs/decisions/0013-settings-of-a-project.md).
"""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from pydantic import ValidationError

from kds.brain.document import Document, NodePath, parse_yaml, read_text, validate
from kds.brain.errors import ConfigError, Problem
from kds.brain.settings_schema import IDLE_MINUTES, ModelSettings, Settings
from kds.brain.settings_variables import FLAGS, PLACES, RENAMED, Place, variables_set
from kds.brain.workspace import Workspace, own_settings_path

__all__ = [
    "DEFAULT",
    "IDLE_MINUTES",
    "Layers",
    "ModelSettings",
    "Settings",
    "SettingsError",
    "load_layers",
    "load_settings",
]

USERS_ALONE: Final = ("model", "database")
"""The sections that only the user's own file may have: they say who is told what is said."""

DEFAULT: Final = "default"
"""Where the value comes from of what nobody has set."""


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
        values = Settings().model_dump()
        files = (Settings.model_validate(one.data) for one in (self.own, self.project))
        for layer in (*files, self.chosen):
            for section, given in layer.model_dump(exclude_unset=True).items():
                values[section] |= given
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
            section = document.data.get(place[0]) if isinstance(document.data, dict) else None
            if isinstance(section, dict) and place[1] in section:
                return document.where(place)
        return DEFAULT


def load_settings(workspace: Workspace, *, environ: Mapping[str, str] = os.environ) -> Settings:
    """Read the settings of ``workspace``; what is not set has its default.

    Raises SettingsError with everything that is wrong in the files and in the environment.
    """
    return load_layers(workspace, environ=environ).settings()


def load_layers(
    workspace: Workspace,
    *,
    environ: Mapping[str, str] = os.environ,
    texts: Mapping[Path, str] = MappingProxyType({}),
) -> Layers:
    """Read the settings of ``workspace``, layer by layer.

    ``texts`` are what files would say in the place of what they do: so a change is tried before
    it is made. Raises SettingsError as `load_settings` does.
    """
    own_path = own_settings_path(environ)
    own = _with_flags_in_place(_document(own_path, texts))
    project = _with_flags_in_place(_document(workspace.settings_path, texts))
    chosen, variables, faults = _from_environment(environ)
    overreach = _overreach(project, own_path)
    problems = [*_problems_of_file(own), *_problems_of_file(project), *overreach, *faults]
    if problems or chosen is None:
        raise SettingsError(problems)
    return Layers(own_path, own, project, chosen, variables)


def _overreach(document: Document, own_path: Path) -> Iterator[Problem]:
    """What a workspace's file sets that only the user may."""
    data = document.data if isinstance(document.data, dict) else {}
    places: list[NodePath] = [(section,) for section in USERS_ALONE if section in data]
    recall = data.get("recall")
    if isinstance(recall, dict) and ":" in str(recall.get("embeddings", "")):
        places.append(("recall", "embeddings"))
    for place in places:
        yield Problem(
            document.where(place),
            f"'{place[-1]}' cannot be set here: the file may come with a cloned project",
            f"move it to {own_path}, or set the environment variable",
        )


def _document(path: Path, texts: Mapping[Path, str]) -> Document:
    if path not in texts and not path.exists():
        return Document(str(path), {}, {})
    text = texts[path] if path in texts else read_text(path)
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


def _from_environment(
    environ: Mapping[str, str],
) -> tuple[Settings | None, Mapping[Place, str], tuple[Problem, ...]]:
    given: dict[str, Any] = {}
    names: dict[Place, str] = {}
    old: list[Problem] = []
    for name, text in variables_set(environ).items():
        if name in RENAMED:
            new = RENAMED[name]
            old.append(Problem(f"${name}", "no such variable", f"did you mean '{new}'?"))
            continue
        section, key = PLACES[name]
        given.setdefault(section, {})[key] = text
        names[section, key] = name
    try:
        return Settings.model_validate_strings(given), names, tuple(old)
    except ValidationError as error:
        return None, names, (*old, *_faults(error, names, where="the environment"))


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
