"""Settings by their dotted names ("memory.enabled"): what they are, and changing one in a file."""

import ast
import inspect
import os
from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from pydantic import SecretStr, ValidationError

from kds.api.settings_lines import change_settings, with_values, without_value
from kds.brain import settings as settings_schema
from kds.brain.environment import PLACES, Place
from kds.brain.errors import MessageError
from kds.brain.files import make_private_folder
from kds.brain.settings import USERS_ALONE, Layers, Settings, load_layers
from kds.brain.workspace import Workspace, own_settings_path
from kds.brain.yaml_files import nearest

KEYS: Final[Mapping[str, Place]] = {
    f"{section}.{key}": (section, key)
    for section, kind in Settings.model_fields.items()
    for key in type(kind.default).model_fields
}
"""Every setting, in the order of the schema."""


def place_of(key: str) -> Place:
    """Where a setting stands. Raises MessageError, which names the nearest one."""
    if key in KEYS:
        return KEYS[key]
    near = _nearest_key(key)
    raise MessageError(
        f"no setting '{key}'", hint=f"did you mean {near}?" if near else "kds config lists them"
    )


def _nearest_key(key: str) -> str | None:
    """The setting of a variable, or the one most like ``key``: as a whole, else in its last word.

    >>> _nearest_key("KDS_MODEL"), _nearest_key("db.url"), _nearest_key("idle"), _nearest_key("zz")
    ('model.name', 'database.url', 'service.idle_minutes', None)
    """
    if key.upper() in PLACES:
        return ".".join(PLACES[key.upper()])
    if near := nearest(key.lower(), list(KEYS)):
        return near
    word = key.lower().rpartition(".")[2]
    names = [name for _, name in KEYS.values()]
    near = nearest(word, names) or next((name for name in names if word and word in name), None)
    return next((one for one, (_, name) in KEYS.items() if name == near), None)


def value_of(settings: Settings, place: Place) -> Any:
    """The value of a setting."""
    return getattr(getattr(settings, place[0]), place[1])


def shown(value: object) -> str:
    """A value as people read and write it.

    >>> shown(True), shown(None), shown(0.5), shown("line")
    ('on', '-', '0.5', 'line')
    """
    if isinstance(value, bool):
        return "on" if value else "off"
    return "-" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


def set_setting(workspace: Workspace, key: str, text: str, *, own: bool = False) -> None:
    """Set a setting in the workspace's file, or in the user's ``own``; comments there stay.

    Nothing is written unless all settings together are valid with it. Raises MessageError for a
    key or a value that is none, ConfigError and StoreError for the file.
    """
    section, name = place_of(key)
    given = _plain(_parsed(section, name, text))
    path = _file(workspace, section, own=own)
    _change(workspace, path, lambda lines: with_values(lines, section, {name: given}))


def unset_setting(workspace: Workspace, key: str, *, own: bool = False) -> None:
    """Take a setting out of the workspace's file, or of the user's ``own``; errors as above.

    Raises MessageError too when it is not there.
    """
    section, name = place_of(key)
    path = _file(workspace, section, own=own)
    layers = load_layers(workspace)
    if not is_set(layers, (section, name), own=path == layers.own_path):
        source = layers.source((section, name))
        raise MessageError(f"{key} is not set in {path}", hint=f"it comes from: {source}")
    _change(workspace, path, lambda text: without_value(text, section, name))


@lru_cache(maxsize=1)
def meanings() -> Mapping[Place, str]:
    """What each setting does, in the words that stand below it in the schema."""
    tree = ast.parse(inspect.getsource(settings_schema))
    classes = {one.name: one for one in tree.body if isinstance(one, ast.ClassDef)}
    return {
        (section, name): said
        for section, kind in Settings.model_fields.items()
        for name, said in _said(classes[type(kind.default).__name__])
    }


def is_set(layers: Layers, place: Place, *, own: bool) -> bool:
    """Whether the workspace's file has a setting, or the user's ``own``."""
    data = (layers.own if own else layers.project).data
    section = data.get(place[0]) if isinstance(data, dict) else None
    return isinstance(section, dict) and place[1] in section


def _said(kind: ast.ClassDef) -> list[tuple[str, str]]:
    pairs = zip(kind.body, kind.body[1:], strict=False)
    return [
        (field.target.id, " ".join(str(text.value.value).replace("``", "").split()))
        for field, text in pairs
        if isinstance(field, ast.AnnAssign)
        and isinstance(field.target, ast.Name)
        and isinstance(text, ast.Expr)
        and isinstance(text.value, ast.Constant)
    ]


def _change(workspace: Workspace, path: Path, change: Callable[[str], str]) -> None:
    """Change a file, once all settings are valid with it."""

    def checked(text: str) -> str:
        changed = change(text)
        load_layers(workspace, texts={path: changed}).settings()
        return changed

    if path == workspace.settings_path:
        workspace.ensure()
    else:
        make_private_folder(path.parent)
    change_settings(path, checked)


def _file(workspace: Workspace, section: str, *, own: bool) -> Path:
    if own:
        return own_settings_path(os.environ)
    if section in USERS_ALONE:
        raise MessageError(
            f"a workspace cannot set '{section}': its file may come with a cloned project",
            hint="add --own",
        )
    return workspace.settings_path


def _plain(value: Any) -> Any:
    return value.get_secret_value() if isinstance(value, SecretStr) else value


def _parsed(section: str, name: str, text: str) -> Any:
    """The value as its setting wants it, read as a variable of the environment would be."""
    try:
        settings = Settings.model_validate_strings({section: {name: text}})
    except ValidationError as error:
        says = error.errors()[0]["msg"].removeprefix("Value error, ")
        fault = f"{section}.{name}: {says[0].lower()}{says[1:]}, not '{text}'"
        raise MessageError(
            fault, hint="give another value; kds help config shows examples"
        ) from error
    return value_of(settings, (section, name))
