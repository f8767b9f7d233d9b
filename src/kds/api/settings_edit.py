"""Settings by their dotted names ("memory.enabled"), and writing them into a file that people edit.

Lines and comments of the file stay. Only what is understood is changed: a section of its own lines
with keys of two spaces or more before them. Anything else is refused with what to write by hand.
"""

import ast
import inspect
import json
import os
import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import yaml
from pydantic import SecretStr, ValidationError

from kds.brain import settings as schema
from kds.brain.environment import PLACES, Place
from kds.brain.errors import ConfigError, KdsError, MessageError, Problem, StoreError
from kds.brain.files import locked, make_private_folder, replace_private
from kds.brain.settings import USERS_ALONE, Layers, Settings, load_layers
from kds.brain.workspace import Workspace, own_settings_path
from kds.brain.yaml_files import nearest, parse_yaml, read_text

LOCK_S: Final = 5.0

Values = Mapping[str, bool | float | str]
"""Keys of a section, each with its value."""

_INDENT: Final = "  "


def write_values(path: Path, section: str, values: Values) -> None:
    """Set ``values`` in a section of the settings file at ``path``; its folder must exist.

    Raises KdsError when the file is not of a shape that can be changed safely, StoreError when
    it cannot be written.
    """
    change_settings(path, lambda text: with_values(text, section, values))


def change_settings(path: Path, change: Callable[[str], str]) -> None:
    """Write what ``change`` makes of the text of the settings file at ``path``.

    Nothing is written when it raises. Raises ConfigError when the file cannot be read, StoreError
    when it cannot be written, or is a link: a project may have brought one along to a file of the
    user's, and one that the user made would be replaced by a file.
    """
    if path.is_symlink():
        hint = f"change the file that it leads to: {path.readlink()}"
        raise StoreError("the settings file is a link", where=str(path), hint=hint)
    with locked(path, timeout_s=LOCK_S):
        text = _settings_text(path)
        replace_private(path, change(text).encode("utf-8"))


def _settings_text(path: Path) -> str:
    """The text of the file, "" where there is none. Raises ConfigError when it is not YAML."""
    text = read_text(path) if path.exists() else ""
    problems = [text] if isinstance(text, Problem) else parse_yaml(text, path=str(path)).problems
    if isinstance(text, Problem) or problems:
        raise ConfigError(problems)
    return text


def with_values(text: str, section: str, values: Values) -> str:
    """Return the text with the values in the section, which is added when it is not there.

    >>> print(with_values("recall:\\n  hybrid: true  # mine\\n", "recall", {"rerank_beta": 0.6}))
    recall:
      hybrid: true  # mine
      rerank_beta: 0.6
    <BLANKLINE>
    """
    changed = _with_lines(text, section, values)
    listed = ", ".join(f"{key}: {_written(value)}" for key, value in values.items())
    hint = f"write it by hand: under '{section}:' the lines {listed}"
    _check_change(
        text, changed, lambda old: old | {section: (old.get(section) or {}) | dict(values)}, hint
    )
    return changed


def without_value(text: str, section: str, key: str) -> str:
    """Return the text without the key in the section, which goes when nothing else is in it.

    Raises KdsError when the text is not of a shape that can be changed safely.

    >>> without_value("recall:\\n  hybrid: true\\nmodel:\\n  name: x\\n", "recall", "hybrid")
    'model:\\n  name: x\\n'
    """
    lines = text.splitlines()
    start = next((at for at, line in enumerate(lines) if _begins(line, section)), len(lines))
    end = _end(lines, start)
    kept = [line for line in lines[start + 1 : end] if not _line_of(key).fullmatch(line)]
    if any(line.strip() and not line.lstrip().startswith("#") for line in kept):
        kept = [lines[start], *kept]
    changed = "".join(f"{line}\n" for line in (*lines[:start], *kept, *lines[end:]))

    def without(old: dict[str, Any]) -> dict[str, Any]:
        rest = {one: value for one, value in old[section].items() if one != key}
        others = {one: value for one, value in old.items() if one != section}
        return old | {section: rest} if rest else others

    _check_change(text, changed, without, f"take '{key}' out of '{section}' by hand")
    return changed


def _with_lines(text: str, section: str, values: Values) -> str:
    lines = text.splitlines()
    start = next((at for at, line in enumerate(lines) if _begins(line, section)), None)
    if start is None:
        lines.append(f"{section}:")
        lines += [f"{_INDENT}{key}: {_written(value)}" for key, value in values.items()]
        return "\n".join(lines) + "\n"
    end = _end(lines, start)
    body = list(lines[start + 1 : end])
    for key, value in values.items():
        _set(body, key, _written(value))
    return "\n".join([*lines[: start + 1], *body, *lines[end:]]) + "\n"


def _written(value: bool | float | str) -> str:
    """A value as YAML reads it back."""
    if isinstance(value, float) and float(f"{value:g}") == value:
        return f"{value:g}"
    return json.dumps(value, ensure_ascii=False)


def _begins(line: str, section: str) -> bool:
    return re.fullmatch(rf"{re.escape(section)}:\s*(?:#.*)?", line) is not None


def _end(lines: Sequence[str], start: int) -> int:
    """Return where the section ends: behind its last indented line."""
    end = start + 1
    for at in range(start + 1, len(lines)):
        line = lines[at]
        if line.strip() and not line.startswith((" ", "#")):
            break
        if line.startswith(" "):
            end = at + 1
    return end


def _line_of(key: str) -> re.Pattern[str]:
    """A line that gives ``key`` its value; a `#` begins a comment behind a space alone."""
    value = r"""(?:"[^"\n]*"|'[^'\n]*'|(?<!\s)#|[^#\n])*?"""
    return re.compile(rf"(?P<indent> +){re.escape(key)}:{value}(?P<comment>\s+#.*)?")


def _set(body: list[str], key: str, value: str) -> None:
    form = _line_of(key)
    for at, line in enumerate(body):
        if found := form.fullmatch(line):
            body[at] = f"{found['indent']}{key}: {value}{found['comment'] or ''}"
            return
    indents = [line[: len(line) - len(line.lstrip())] for line in body if line.strip()]
    body.append(f"{indents[0] if indents else _INDENT}{key}: {value}")


def _check_change(
    before: str, after: str, wanted: Callable[[dict[str, Any]], dict[str, Any]], hint: str
) -> None:
    """See that what is wanted got there, and nothing else changed."""
    try:
        as_wanted = (yaml.safe_load(after) or {}) == wanted(yaml.safe_load(before) or {})
    except (yaml.YAMLError, TypeError, AttributeError, KeyError):
        as_wanted = False
    if not as_wanted:
        raise KdsError("the settings file has a shape that KDS does not change", hint=hint)


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
    tree = ast.parse(inspect.getsource(schema))
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
