"""English in tables: every word list of the router, one YAML file for a kind of words.

A file is a mapping of list names to words with spaces between them. A workspace adds to the tables
of WORKSPACE_TABLES in ``kds-brain/english/NAME.yaml``: a word joins the list, a word behind "-"
leaves it. All tables are checked when they are read.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Final

from kds.brain.errors import ConfigError, Problem
from kds.brain.yaml_files import NOTHING, files_in, nearest, parse_yaml, read_text

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
    data = {} if document.data is None else document.data
    if not isinstance(data, dict):
        problems.append(Problem(document.where(), "is not a table of words", _SHAPE))
        return
    for key, value in data.items():
        where = document.where((key,))
        if known is not None and key not in known:
            near = nearest(key, known)
            hint = f"did you mean '{near}'?" if near else f"use one of: {', '.join(known)}"
            problems.append(Problem(where, f"there is no list '{key}'", hint))
        elif not isinstance(value, str):
            problems.append(Problem(where, f"'{key}' is not a line of words", _SHAPE))
        else:
            lines = text.split("\n")[document.line((key,)) - 1 :]
            problems += (
                Problem(f"{path}:{document.line((key,)) + _line(lines, word)}", message, hint)
                for word, message, hint in _wrong_words(key, value.split(), known)
            )
            yield key, value.split()


def _wrong_words(key: str, found: list[str], known: Table | None) -> Iterator[tuple[str, str, str]]:
    """Each word that is wrong, what is wrong with it, and the fix."""
    seen: set[str] = set()
    for one in found:
        word = one.removeprefix("-")
        if word in seen:
            yield word, f"'{word}' stands twice in '{key}'", "keep one of them"
        elif word != word.lower():
            yield word, f"'{word}' is not lower case in '{key}'", f"write '{word.lower()}'"
        elif known is not None and one != word and word not in known[key]:
            message = f"'{word}' is taken out and not in '{key}'"
            yield word, message, f"correct or remove '{one}'"
        seen.add(word)


def _line(lines: list[str], word: str) -> int:
    """The line, from 0, where a list has a word; where it begins when that cannot be told."""
    there = re.compile(rf"(?<![^\s\"'-]){re.escape(word)}(?![^\s\"':])")
    return next((n for n, line in enumerate(lines) if there.search(line)), 0)
