"""Finds what a project and its user have: skills, agents, commands and prompt files.

Where each client looks is one row of `PLACES`. Sources: the documentation of Claude Code, VS Code
and Copilot CLI; for Codex, Gemini CLI and opencode their npm packages.
"""

import os
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal, get_args

import yaml

from kds.brain.errors import KdsError

Kind = Literal["skill", "agent", "command", "prompt"]
KINDS: Final[tuple[Kind, ...]] = get_args(Kind)

BODY_READ: Final = 1200
"""Characters of a body that are read: what an entry is for stands at its head."""


class EntryError(KdsError):
    """An entry that lacks a name, or is of no known kind."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One skill, agent, command or prompt file.

    ``client`` is the assistant that reads it ("claude", "copilot", ...; empty where unknown).
    ``paths`` are globs of files that it is for. ``suggested`` is False where its author lets only
    the user start it (`disable-model-invocation`).
    """

    name: str
    kind: Kind = "skill"
    description: str = ""
    body: str = ""
    client: str = ""
    path: Path | None = None
    paths: tuple[str, ...] = ()
    suggested: bool = True


def entries_from(given: Iterable[Entry | Mapping[str, object]]) -> tuple[Entry, ...]:
    """Return entries for mappings with `name`, `kind`, `description` and `body`.

    Raises EntryError, which names the entry by its number.
    """
    return tuple(
        item if isinstance(item, Entry) else _entry(item, number)
        for number, item in enumerate(given, start=1)
    )


def _entry(given: Mapping[str, object], number: int) -> Entry:
    where = f"entry {number}"
    name = given.get("name")
    if not isinstance(name, str) or not name.strip():
        raise EntryError("an entry without a name", where=where, hint="give each entry a 'name'")
    kind = given.get("kind", "skill")
    if kind not in KINDS:
        raise EntryError(
            f"unknown kind {kind!r}", where=f"{where} ({name})", hint=f"one of {', '.join(KINDS)}"
        )
    texts = {}
    for key in ("description", "body"):
        text = given.get(key) or ""
        if not isinstance(text, str):
            raise EntryError(f"'{key}' is not text", where=f"{where} ({name})", hint="quote it")
        texts[key] = text
    return Entry(name, kind, texts["description"], texts["body"][:BODY_READ])


Root = Literal["project", "home"]
Naming = Literal["folder", "file"]

READ_LIMIT: Final = 32_768
"""Bytes of a file that are read: front matter and the head of the body."""
MOST_ENTRIES: Final = 500
DESCRIPTION_LIMIT: Final = 1024
"""Characters: what a skill may have (agentskills.io)."""

_NAME: Final = re.compile(r"[\w:. -]{1,64}")
"""A name reaches the model in a line of KDS: nothing else may come in with it."""


@dataclass(frozen=True, slots=True)
class Place:
    """A folder in which a client looks for entries of one kind.

    ``pattern`` is a glob below ``folder``. A skill is named by its ``folder``, all else by its
    ``file``; subfolders of commands are part of the name, as in "db:migrate".
    """

    client: str
    kind: Kind
    root: Root
    folder: str
    pattern: str
    naming: Naming = "file"


def _skills(client: str, *folders: tuple[Root, str]) -> Iterator[Place]:
    for root, folder in folders:
        yield Place(client, "skill", root, folder, "*/SKILL.md", "folder")


def _both(client: str, kind: Kind, folder: str, pattern: str = "**/*.md") -> Iterator[Place]:
    yield Place(client, kind, "project", folder, pattern)
    yield Place(client, kind, "home", folder, pattern)


def _opencode(root: Root, folder: str) -> Iterator[Place]:
    for name in ("agent", "agents"):
        yield Place("opencode", "agent", root, f"{folder}/{name}", "**/*.md")
    for name in ("command", "commands"):
        yield Place("opencode", "command", root, f"{folder}/{name}", "**/*.md")


PLACES: Final[tuple[Place, ...]] = (
    *_skills("claude", ("project", ".claude/skills"), ("home", ".claude/skills")),
    *_both("claude", "agent", ".claude/agents"),
    *_both("claude", "command", ".claude/commands"),
    *_skills("copilot", ("project", ".github/skills"), ("home", ".copilot/skills")),
    Place("copilot", "prompt", "project", ".github/prompts", "*.prompt.md"),
    Place("copilot", "agent", "project", ".github/agents", "*.md"),
    Place("copilot", "agent", "home", ".copilot/agents", "*.md"),
    *_skills("codex", ("project", ".codex/skills"), ("home", ".codex/skills")),
    Place("codex", "prompt", "home", ".codex/prompts", "*.md"),
    *_skills("gemini", ("project", ".gemini/skills"), ("home", ".gemini/skills")),
    *_both("gemini", "command", ".gemini/commands", "**/*.toml"),
    *_skills("opencode", ("project", ".opencode/skills"), ("home", ".config/opencode/skills")),
    *_opencode("project", ".opencode"),
    *_opencode("home", ".config/opencode"),
    *_skills("agents", ("project", ".agents/skills"), ("home", ".agents/skills")),
    Place("kds", "prompt", "project", "prompts", "**/*.md"),
)


READS: Final[Mapping[str, tuple[str, ...]]] = {
    "claude": ("claude",),
    "copilot": ("copilot", "agents", "claude"),
    "codex": ("codex", "agents"),
    "gemini": ("gemini", "agents"),
    "opencode": ("opencode", "agents", "claude"),
    "cursor": ("agents", "claude"),
    "kds": ("kds",),
}
"""A client -> whose skills it reads. Agents, commands and prompts it reads of its own alone."""


def reads(client: str, entry: Entry) -> bool:
    """Whether an assistant can use ``entry``."""
    if entry.kind == "skill":
        return entry.client in READS.get(client, (client,))
    return entry.client == client


@dataclass(frozen=True, slots=True)
class Found:
    """The entries of a workspace, what could not be read, and the state of the files."""

    entries: tuple[Entry, ...]
    problems: tuple[str, ...] = ()
    stamp: object = field(default=None, repr=False)
    """Equal while no file has changed."""


def stamp_of(project: Path, home: Path) -> object:
    """Return what tells one state of the files from the next, without reading them."""
    return tuple(
        (str(path), status.st_mtime_ns, status.st_size)
        for path, _ in _files(project, home)
        if (status := _status(path))
    )


def discover(project: Path, home: Path) -> Found:
    """Read the entries of ``project`` and of the user, whose folder is ``home``.

    What the project has goes before what the user has, of the same client, kind and name. A file
    that cannot be read is named in ``problems``, with its line where there is one.
    """
    entries: dict[tuple[str, Kind, str], Entry] = {}
    problems = []
    stamp = stamp_of(project, home)
    for path, place in _files(project, home):
        if len(entries) >= MOST_ENTRIES:
            problems.append(f"{path}: more than {MOST_ENTRIES} entries; the rest is left out")
            break
        try:
            entry = _read(path, place, home if place.root == "home" else project)
        except (OSError, ValueError, RecursionError) as error:
            problems.append(f"{path}: {error}")
            continue
        entries.setdefault((entry.client, entry.kind, entry.name), entry)
    return Found(tuple(entries.values()), tuple(problems), stamp)


def _files(project: Path, home: Path) -> Iterator[tuple[Path, Place]]:
    seen = set()
    for place in (*PLACES, *_plugins(home)):
        folder = (home if place.root == "home" else project) / place.folder
        if place.root == "home" and home == project:
            continue
        for path in sorted(folder.glob(place.pattern)) if folder.is_dir() else ():
            if path.name.lower() != "readme.md" and (real := os.path.realpath(path)) not in seen:
                seen.add(real)
                yield path, place


def _plugins(home: Path) -> Iterator[Place]:
    """The folders of Claude Code's installed plugins, which have skills, agents and commands."""
    cache = Path(".claude/plugins/cache")
    for folder in sorted((home / cache).glob("*/*")) if (home / cache).is_dir() else ():
        at = folder.relative_to(home).as_posix()
        yield Place("claude", "skill", "home", at, "**/skills/*/SKILL.md", "folder")
        yield Place("claude", "agent", "home", at, "**/agents/*.md")
        yield Place("claude", "command", "home", at, "**/commands/*.md")


def _status(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except OSError:
        return None


def _read(path: Path, place: Place, root: Path) -> Entry:
    """Read one file. Raises OSError, and ValueError with what is wrong."""
    if not path.is_file():
        raise ValueError("not a regular file")
    with path.open("rb") as file:
        text = file.read(READ_LIMIT).decode("utf-8-sig", "replace")
    data, body = _toml(text) if path.suffix == ".toml" else _front_matter(text)
    name = _name(path, place, root, data)
    description = _text(data.get("description")) or _first_line(body)
    return Entry(
        name,
        place.kind,
        description[:DESCRIPTION_LIMIT],
        body[:BODY_READ],
        place.client,
        path,
        _globs(data.get("paths") or data.get("globs") or data.get("applyTo")),
        data.get("disable-model-invocation") is not True,
    )


def _name(path: Path, place: Place, root: Path, data: dict[str, Any]) -> str:
    if place.naming == "folder":
        name = _text(data.get("name")) or path.parent.name
    elif place.kind == "command":
        inside = path.relative_to(root / place.folder).with_suffix("")
        name = ":".join(inside.parts) if "plugins" not in place.folder else path.stem
    else:
        stem = path.name.split(".")[0]
        name = (_text(data.get("name")) if place.kind == "agent" else "") or stem
    if not _NAME.fullmatch(name):
        raise ValueError(f"invalid name {name[:64]!r}: use letters, digits and -, at most 64")
    return name


def _front_matter(text: str) -> tuple[dict[str, Any], str]:
    """Split a Markdown file; without front matter all of it is the body."""
    lines = text.splitlines()
    if not lines or lines[0].strip() != "---":
        return {}, text
    for number, line in enumerate(lines[1:], start=1):
        if line.strip() == "---":
            return _yaml("\n".join(lines[1:number])), "\n".join(lines[number + 1 :])
    return {}, text


def _yaml(text: str) -> dict[str, Any]:
    """The front matter as clients read it: a description may hold an unquoted colon."""
    try:
        data = yaml.load(text, Loader=_LOADER)
    except yaml.YAMLError:
        return dict(_PLAIN_KEY.findall(text))
    return data if isinstance(data, dict) else {}


_LOADER: Final = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_PLAIN_KEY: Final = re.compile(r"^(name|description):[ \t]*(.+?)[ \t]*$", re.MULTILINE)


def _toml(text: str) -> tuple[dict[str, Any], str]:
    data = tomllib.loads(text)
    return data, _text(data.get("prompt"))


def _text(value: object) -> str:
    return " ".join(value.split()) if isinstance(value, str) else ""


def _globs(value: object) -> tuple[str, ...]:
    parts: Sequence[object] = value.split(",") if isinstance(value, str) else ()
    if isinstance(value, list):
        parts = value
    return tuple(part.strip() for part in parts if isinstance(part, str) and part.strip())


def _first_line(body: str) -> str:
    """The first line of text, which clients show for what has no description."""
    for line in body.splitlines():
        if text := line.strip().lstrip("#>*- ").strip():
            return text
    return ""
