"""Writing values into a settings file that people edit: their lines and comments stay.

Only what is understood is changed: a section of its own lines with keys of two spaces or more
before them. Anything else is refused with what to write by hand.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import yaml

from kds.brain.errors import ConfigError, KdsError, Problem, StoreError
from kds.brain.files import locked, replace_private
from kds.brain.yaml_files import parse_yaml, read_text

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
    _check(text, changed, section, values)
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
    _check_without(text, changed, section, key)
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


def _check(before: str, after: str, section: str, values: Values) -> None:
    """See that the values got there and nothing else changed."""
    listed = ", ".join(f"{key}: {_written(value)}" for key, value in values.items())
    hint = f"write it by hand: under '{section}:' the lines {listed}"

    def wanted(old: dict[str, Any]) -> dict[str, Any]:
        return old | {section: (old.get(section) or {}) | dict(values)}

    _check_change(before, after, wanted, hint)


def _check_without(before: str, after: str, section: str, key: str) -> None:
    """See that the key went, and nothing else changed."""

    def wanted(old: dict[str, Any]) -> dict[str, Any]:
        rest = {one: value for one, value in old[section].items() if one != key}
        others = {one: value for one, value in old.items() if one != section}
        return old | {section: rest} if rest else others

    _check_change(before, after, wanted, f"take '{key}' out of '{section}' by hand")


def _check_change(
    before: str, after: str, wanted: Callable[[dict[str, Any]], dict[str, Any]], hint: str
) -> None:
    try:
        as_wanted = (yaml.safe_load(after) or {}) == wanted(yaml.safe_load(before) or {})
    except (yaml.YAMLError, TypeError, AttributeError, KeyError):
        as_wanted = False
    if not as_wanted:
        raise KdsError("the settings file has a shape that KDS does not change", hint=hint)
