"""Writing values into a settings file that people edit: their lines and comments stay.

Only what is understood is changed: a section of its own lines with keys of two spaces or more
before them. Anything else is refused with what to write by hand.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import yaml

from kds.brain.document import read_text
from kds.brain.errors import ConfigError, KdsError, Problem
from kds.brain.private_file import locked, replace_private

LOCK_S: Final = 5.0

_INDENT: Final = "  "


def write_values(path: Path, section: str, values: Mapping[str, float]) -> None:
    """Set ``values`` in a section of the settings file at ``path``; its folder must exist.

    Raises KdsError when the file is not of a shape that can be changed safely, StoreError when
    it cannot be written.
    """
    with locked(path, timeout_s=LOCK_S):
        text = read_text(path) if path.exists() else ""
        if isinstance(text, Problem):
            raise ConfigError([text])
        changed = with_values(text, section, values)
        _check(path, text, changed, section, values)
        replace_private(path, changed.encode("utf-8"))


def with_values(text: str, section: str, values: Mapping[str, float]) -> str:
    """Return the text with the values in the section, which is added when it is not there.

    >>> print(with_values("recall:\\n  hybrid: true  # mine\\n", "recall", {"rerank_beta": 0.6}))
    recall:
      hybrid: true  # mine
      rerank_beta: 0.6
    <BLANKLINE>
    """
    lines = text.splitlines()
    start = next((at for at, line in enumerate(lines) if _begins(line, section)), None)
    if start is None:
        lines += [f"{section}:", *(f"{_INDENT}{key}: {value:g}" for key, value in values.items())]
        return "\n".join(lines) + "\n"
    end = _end(lines, start)
    body = list(lines[start + 1 : end])
    for key, value in values.items():
        _set(body, key, f"{value:g}")
    return "\n".join([*lines[: start + 1], *body, *lines[end:]]) + "\n"


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


def _set(body: list[str], key: str, value: str) -> None:
    form = re.compile(rf"(?P<indent> +){re.escape(key)}:[^#\n]*?(?P<comment>\s+#.*)?")
    for at, line in enumerate(body):
        if found := form.fullmatch(line):
            body[at] = f"{found['indent']}{key}: {value}{found['comment'] or ''}"
            return
    indents = [line[: len(line) - len(line.lstrip())] for line in body if line.strip()]
    body.append(f"{indents[0] if indents else _INDENT}{key}: {value}")


def _check(path: Path, before: str, after: str, section: str, values: Mapping[str, float]) -> None:
    """See that the values got there and nothing else changed."""
    listed = ", ".join(f"{key}: {value:g}" for key, value in values.items())
    hint = f"write it by hand: under '{section}:' the lines {listed}"
    try:
        old, new = yaml.safe_load(before) or {}, yaml.safe_load(after)
        wanted = old | {section: (old.get(section) or {}) | dict(values)}
    except (yaml.YAMLError, TypeError, AttributeError) as error:
        raise KdsError("the settings are of another shape", where=str(path), hint=hint) from error
    if new != wanted:
        raise KdsError("the settings are of another shape", where=str(path), hint=hint)
