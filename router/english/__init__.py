"""English in tables: every word list of the router, one YAML file for a kind of words.

A file is a mapping of list names to words with spaces between them. A workspace adds to the tables
of WORKSPACE_TABLES in ``kds-brain/english/NAME.yaml``: a word joins the list, a word behind "-"
leaves it. All tables are checked when they are read.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Final

from kds.brain.errors import ConfigError, Problem
from kds.brain.yaml_files import NOTHING, Document, files_in, nearest, parse_yaml, read_text

PACKAGED: Final = Path(__file__).parent

WORKSPACE_TABLES: Final = ("particles", "people", "preferences")
"""The tables that a workspace may add to: those that an Analysis carries along."""

Table = Mapping[str, frozenset[str]]
"""The lists of one file by their names."""

_SHAPE: Final = "write 'name: word word ...'; yes, no, on, off and numbers alone in quotes"


@dataclass(frozen=True, eq=False, slots=True)
class English:
    """The tables as one workspace has them. Compared by identity: one set of files, one value."""

    particles: Table
    """Verbs by the particle that can belong to them."""
    people: Table
    preferences: Table


@cache
def table(name: str) -> Table:
    """The lists of one packaged file. Raises ConfigError."""
    path = PACKAGED / f"{name}.yaml"
    problems: list[Problem] = []
    lists = {key: frozenset(words) for key, words in _lists(path, read_text(path), problems)}
    if problems:
        raise ConfigError(problems)
    return lists


def words(name: str, key: str) -> frozenset[str]:
    """One list of a packaged file, lower-case words all. Raises ConfigError.

    >>> sorted(words("closed_class", "articles"))
    ['a', 'an', 'the']
    """
    return table(name)[key]


def load_english(folder: Path | None = None, *, without: frozenset[Path] = NOTHING) -> English:
    """The tables with what a workspace's ``folder`` says, which may be absent.

    ``without`` are files to leave out. Raises ConfigError with the problems of all others.
    """
    own = [] if folder is None else files_in(folder, "*.yaml", without)
    if isinstance(own, Problem):
        raise ConfigError([own])
    return _english(tuple((path, read_text(path)) for path in own))


@lru_cache(maxsize=16)
def _english(texts: tuple[tuple[Path, str | Problem], ...]) -> English:
    """The same files with the same texts are one value for the whole process."""
    tables = {name: table(name) for name in WORKSPACE_TABLES}
    problems: list[Problem] = []
    for path, text in texts:
        name = path.stem
        if name in tables:
            tables[name] = _changed(tables[name], path, text, problems)
        else:
            fix = f"name it as one of these: {', '.join(tables)}"
            problems.append(Problem(f"{path}:1", f"there is no table '{name}' to add to", fix))
    if problems:
        raise ConfigError(problems)
    return English(**tables)


def _changed(known: Table, path: Path, text: str | Problem, problems: list[Problem]) -> Table:
    changed = dict(known)
    for key, found in _lists(path, text, problems, known):
        taken = {word[1:] for word in found if word.startswith("-")}
        changed[key] = (known[key] - taken) | {w for w in found if not w.startswith("-")}
    return changed


def _lists(
    path: Path, text: str | Problem, problems: list[Problem], known: Table | None = None
) -> Iterator[tuple[str, list[str]]]:
    """The lists of a file as they stand there; what is wrong with them joins ``problems``."""
    if isinstance(text, Problem):
        problems.append(text)
        return
    document = parse_yaml(text, path=str(path))
    problems += document.problems
    for key, value in _entries(document, problems).items():
        if known is not None and key not in known:
            problems.append(_unknown(document, key, known))
        elif not isinstance(value, str):
            problems.append(
                Problem(document.where((key,)), f"'{key}' is not a line of words", _SHAPE)
            )
        else:
            found = value.split()
            if known is not None or len({*found} & {*value.lower().split()}) < len(found):
                problems += _wrong_words(document, text, key, found, known)
            yield key, found


def _entries(document: Document, problems: list[Problem]) -> dict[str, object]:
    if isinstance(document.data, dict):
        return document.data
    if document.data is not None:
        problems.append(Problem(document.where(), "is not a table of words", _SHAPE))
    return {}


def _unknown(document: Document, key: str, known: Table) -> Problem:
    near = nearest(key, known)
    hint = f"did you mean '{near}'?" if near else f"use one of: {', '.join(known)}"
    return Problem(document.where((key,)), f"there is no list '{key}'", hint)


def _wrong_words(
    document: Document, text: str, key: str, found: list[str], known: Table | None
) -> Iterator[Problem]:
    def problem(word: str, message: str, hint: str, *, last: bool = False) -> Problem:
        line = _line(document, text, key, word, last=last)
        return Problem(f"{document.path}:{line}", f"'{word}' {message} '{key}'", hint)

    for word, count in Counter(word.removeprefix("-") for word in found).items():
        if count > 1:
            yield problem(word, "stands twice in", "keep one of them", last=True)
        if word != word.lower():
            yield problem(word, "is not lower case in", f"write '{word.lower()}'")
        if known is not None and f"-{word}" in found and word not in known[key]:
            yield problem(word, "is taken out and not in", f"correct or remove '-{word}'")


def _line(document: Document, text: str, key: str, word: str, *, last: bool) -> int:
    """The line of the first or the ``last`` time that a word stands in a list."""
    start = document.line((key,))
    end = min((line for line in document.lines.values() if line > start), default=None)
    there = re.compile(rf"(?<![^\s\"'-]){re.escape(word)}(?![^\s\"'])")
    lines = text.split("\n")[start - 1 : end and end - 1]
    lines[0] = lines[0].partition(":")[2]  # without the name, which may be a word of the list
    found = [start + n for n, line in enumerate(lines) if there.search(line)] or [start]
    return found[-1] if last else found[0]
