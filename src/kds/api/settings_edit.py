"""Settings by their dotted names ("memory.enabled"), and writing them into a file that people edit.

Lines and comments of the file stay. What has another shape than sections with one key a line is
refused, with what to write by hand.
"""

import ast
import inspect
import json
import os
from collections.abc import Callable, Mapping
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import yaml
from pydantic import SecretStr, ValidationError

from kds.brain.environment import Place
from kds.brain.errors import ConfigError, KdsError, MessageError, Problem, StoreError
from kds.brain.files import PrivateFile, make_private_folder
from kds.brain.settings import USERS_ALONE, Layers, Settings, load_layers
from kds.brain.workspace import Workspace, own_settings_path
from kds.brain.yaml_files import nearest, parse_yaml, read_text

LOCK_S: Final = 5.0

Values = Mapping[str, bool | float | str | None]
"""Keys of a section, each with its value; None takes a key out."""


def write_values(path: Path, section: str, values: Values) -> None:
    """Set ``values`` in a section of the settings file at ``path``; its folder must exist.

    Raises KdsError when the file is not of a shape that can be changed safely, ConfigError when
    it cannot be read, StoreError when it cannot be written, or is a link.
    """
    _rewrite(path, lambda text: with_values(text, section, values))


def _rewrite(path: Path, change: Callable[[str], str]) -> None:
    if path.is_symlink():  # of a project's, to a file of the user's; or the user's own
        hint = f"change the file that it leads to: {path.readlink()}"
        raise StoreError("the settings file is a link", where=str(path), hint=hint)
    with PrivateFile(path).locked(timeout_s=LOCK_S):
        text = read_text(path) if path.exists() else ""
        if isinstance(text, Problem):
            raise ConfigError([text])
        if problems := parse_yaml(text, path=str(path)).problems:
            raise ConfigError(problems)
        PrivateFile(path).replace(change(text).encode("utf-8"))


def with_values(text: str, section: str, values: Values) -> str:
    """Return the text with the values in the section, which comes and goes with its keys.

    Raises KdsError when the text is not of a shape that can be changed safely.

    >>> print(with_values("recall:\\n  hybrid: true  # mine\\n", "recall", {"rerank_beta": 0.6}))
    recall:
      hybrid: true  # mine
      rerank_beta: 0.6
    <BLANKLINE>
    >>> with_values("recall:\\n  hybrid: true\\nmodel:\\n  name: x\\n", "recall", {"hybrid": None})
    'model:\\n  name: x\\n'
    """
    changed = text
    try:
        wanted = yaml.safe_load(text) or {}
        for key, value in values.items():
            changed = _with_value(changed, section, key, value)
            wanted = wanted | {section: (wanted.get(section) or {}) | {key: value}}
            if value is None:
                del wanted[section][key]
        if not wanted[section]:
            del wanted[section]
        as_wanted = (yaml.safe_load(changed) or {}) == wanted
    except (yaml.YAMLError, TypeError, AttributeError, LookupError):
        as_wanted = False
    if not as_wanted:
        lines = ", ".join(f"{key}: {_written(one)}" for key, one in values.items())
        hint = f"under '{section}:' the lines {lines}"
        if None in values.values():
            hint = f"'{section}:' without {', '.join(values)}"
        raise KdsError(
            "the settings file has a shape that KDS does not change",
            hint=f"write it by hand: {hint}",
        )
    return changed


def _with_value(text: str, section: str, key: str, value: bool | float | str | None) -> str:
    lines = [f"{line}\n" for line in text.splitlines()]
    found = _entries(yaml.compose(text, Loader=yaml.SafeLoader)).get(section)
    if found is None:
        return "".join([*lines, f"{section}:\n", f"  {key}: {_written(value)}\n"])
    heading, body = found
    entries = _entries(None if body.value == "" else body)
    last = (
        max(one.end_mark.line for _, one in entries.values()) if entries else heading.end_mark.line
    )
    if value is None:
        first, node = found if len(entries) == 1 else entries[key]
        del lines[first.start_mark.line : (last if node is body else node.end_mark.line) + 1]
    elif key in entries:
        start, end = (mark.index for mark in (entries[key][1].start_mark, entries[key][1].end_mark))
        return f"{text[:start]}{' ' * (start == end)}{_written(value)}{text[end:]}"
    else:
        column = next((first.start_mark.column for first, _ in entries.values()), 2)
        lines.insert(last + 1, f"{' ' * column}{key}: {_written(value)}\n")
    return "".join(lines)


def _entries(node: yaml.Node | None) -> dict[str, tuple[yaml.Node, yaml.Node]]:
    """The keys and values of a block mapping. Raises TypeError for anything else but nothing."""
    if node is None:
        return {}
    if not isinstance(node, yaml.MappingNode) or node.flow_style:
        raise TypeError("not a block mapping")
    return {key.value: (key, value) for key, value in node.value}


def _written(value: bool | float | str | None) -> str:
    """A value as YAML reads it back."""
    if isinstance(value, float) and float(f"{value:g}") == value:
        return f"{value:g}"
    return json.dumps(value, ensure_ascii=False)


KEYS: Final[Mapping[str, Place]] = {
    f"{section}.{key}": (section, key)
    for section, kind in Settings.model_fields.items()
    for key in type(kind.default).model_fields
}
"""Every setting, in the order of the schema."""


def place_of(key: str) -> Place:
    """Where a setting stands. Raises MessageError, which names the nearest one.

    >>> place_of("memory.enabled")
    ('memory', 'enabled')
    """
    if key in KEYS:
        return KEYS[key]
    asked = key.lower()
    word = asked.rpartition(".")[2] or asked
    near = nearest(asked, list(KEYS)) or next((one for one in KEYS if word in one), None)
    hint = f"did you mean {near}?" if near else "kds config lists them"
    raise MessageError(f"no setting '{key}'", hint=hint)


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


def is_set(layers: Layers, place: Place, *, own: bool) -> bool:
    """Whether the workspace's file has a setting, or the user's ``own``."""
    data = (layers.own if own else layers.project).data
    section = data.get(place[0]) if isinstance(data, dict) else None
    return isinstance(section, dict) and place[1] in section


def set_setting(workspace: Workspace, key: str, text: str, *, own: bool = False) -> None:
    """Set a setting in the workspace's file, or in the user's ``own``; comments there stay.

    Nothing is written unless all settings together are valid with it. Raises MessageError for a
    key or a value that is none, ConfigError and StoreError for the file.
    """
    section, name = place = place_of(key)
    try:  # read as a variable of the environment would be
        settings = Settings.model_validate_strings({section: {name: text}})
    except ValidationError as error:
        says = error.errors()[0]["msg"].removeprefix("Value error, ")
        fault = f"{key}: {says[0].lower()}{says[1:]}, not '{text}'"
        hint = "give another value; kds help config shows examples"
        raise MessageError(fault, hint=hint) from error
    value = value_of(settings, place)
    plain = value.get_secret_value() if isinstance(value, SecretStr) else value
    _change(workspace, _file(workspace, section, own=own), section, {name: plain})


def unset_setting(workspace: Workspace, key: str, *, own: bool = False) -> None:
    """Take a setting out of the workspace's file, or of the user's ``own``; errors as above.

    Raises MessageError too when it is not there.
    """
    section, name = place = place_of(key)
    path, layers = _file(workspace, section, own=own), load_layers(workspace)
    if not is_set(layers, place, own=path == layers.own_path):
        hint = f"it comes from: {layers.source(place)}"
        raise MessageError(f"{key} is not set in {path}", hint=hint)
    _change(workspace, path, section, {name: None})


def _file(workspace: Workspace, section: str, *, own: bool) -> Path:
    if own:
        return own_settings_path(os.environ)
    if section in USERS_ALONE:
        raise MessageError(
            f"a workspace cannot set '{section}': its file may come with a cloned project",
            hint="add --own",
        )
    return workspace.settings_path


def _change(workspace: Workspace, path: Path, section: str, values: Values) -> None:
    """Change a file, once all settings are valid with it."""

    def checked(text: str) -> str:
        changed = with_values(text, section, values)
        load_layers(workspace, texts={path: changed}).settings()
        return changed

    if path == workspace.settings_path:
        workspace.ensure()
    else:
        make_private_folder(path.parent)
    _rewrite(path, checked)


@lru_cache(maxsize=1)
def meanings() -> Mapping[Place, str]:
    """What each setting does, in the words that stand below it in the schema."""
    said: dict[Place, str] = {}
    for section, kind in Settings.model_fields.items():
        body = ast.parse(inspect.getsource(type(kind.default))).body[0].body  # type: ignore[attr-defined]
        for field, text in pairwise(body):
            match field, text:
                case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(
                    value=ast.Constant(value=str(words))
                ):
                    said[section, name] = " ".join(words.replace("``", "").split())
    return said
