"""Finds what a project and its user have: skills, agents, commands and prompt files.

Where each client looks is one row of `PLACES`. Sources: the documentation of Claude Code, VS Code
and Copilot CLI; for Codex, Gemini CLI and opencode their npm packages.
"""

import os
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal, get_args

import yaml

from kds.brain.errors import KdsError

Kind = Literal["skill", "agent", "command", "prompt"]
KINDS: Final[tuple[Kind, ...]] = get_args(Kind)

BODY_READ: Final = 1200
"""Characters of a body that are compared: what an entry is for stands at its head."""
READ_LIMIT: Final = 32_768
"""Bytes of a file that are read."""
MOST_ENTRIES: Final = 500
DESCRIPTION_READ: Final = 4096
"""Characters of a description that are read: more than any client shows."""

_NAME: Final = re.compile(r"[\w:. -]{1,64}")
"""A name reaches the model in a line of KDS: nothing else may come in with it."""


class EntryError(KdsError):
    """An entry that lacks a name, or is of no known kind."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One skill, agent, command or prompt file.

    ``client`` is the assistant that reads it ("claude", "copilot", ...; empty where unknown).
    ``paths`` are globs of files that it is for. Its author may let only the user start it
    (`disable-model-invocation`: not ``suggested``), or only the model (`user-invocable: false`:
    not ``invocable``).
    """

    name: str
    kind: Kind = "skill"
    description: str = ""
    body: str = ""
    client: str = ""
    path: Path | None = None
    paths: tuple[str, ...] = ()
    suggested: bool = True
    invocable: bool = True


def entries_from(given: Iterable[Entry | Mapping[str, object]]) -> tuple[Entry, ...]:
    """Return entries for mappings with `name`, `kind`, `description` and `body`.

    Raises EntryError, which names the entry by its number.
    """
    return tuple(
        item if isinstance(item, Entry) else _entry(item, number)
        for number, item in enumerate(given, start=1)
    )


def _entry(given: object, number: int) -> Entry:
    where = f"entry {number}"
    if not isinstance(given, Mapping):
        hint = "give each entry as {'name': ..., 'description': ...}"
        raise EntryError(f"{type(given).__name__} is not a mapping", where=where, hint=hint)
    name = given.get("name")
    if not isinstance(name, str) or not name.strip():
        raise EntryError("an entry without a name", where=where, hint="give each entry a 'name'")
    if not name.isprintable():
        raise EntryError(f"invalid name {name[:64]!r}", where=where, hint="use one line of text")
    where, kind = f"{where} ({name})", given.get("kind", "skill")
    if kind not in KINDS:
        raise EntryError(f"unknown kind {kind!r}", where=where, hint=f"one of {', '.join(KINDS)}")
    texts = {key: given.get(key) or "" for key in ("description", "body")}
    for key, text in texts.items():
        if not isinstance(text, str):
            raise EntryError(f"'{key}' is not text", where=where, hint="quote it")
    return Entry(name, kind, str(texts["description"]), str(texts["body"])[:BODY_READ])


@dataclass(frozen=True, slots=True)
class Place:
    """Where a client looks for entries of one kind: a glob below a folder of the project and one of
    the user's home. A skill is named by its folder, all else by its file; subfolders of commands
    are part of the name, as in "db:migrate". ``prefix`` is the name of a plugin."""

    client: str
    kind: Kind
    project: str | None
    home: str | None
    pattern: str = "**/*.md"
    prefix: str = ""


_SKILLS: Final = "*/SKILL.md"

PLACES: Final = (
    Place("claude", "skill", ".claude/skills", ".claude/skills", _SKILLS),
    Place("claude", "agent", ".claude/agents", ".claude/agents"),
    Place("claude", "command", ".claude/commands", ".claude/commands"),
    Place("copilot", "skill", ".github/skills", ".copilot/skills", _SKILLS),
    Place("copilot", "prompt", ".github/prompts", None, "*.prompt.md"),
    Place("copilot", "agent", ".github/agents", ".copilot/agents", "*.md"),
    Place("codex", "skill", ".codex/skills", ".codex/skills", _SKILLS),
    Place("codex", "prompt", None, ".codex/prompts", "*.md"),
    Place("gemini", "skill", ".gemini/skills", ".gemini/skills", _SKILLS),
    Place("gemini", "command", ".gemini/commands", ".gemini/commands", "**/*.toml"),
    Place("opencode", "skill", ".opencode/skills", ".config/opencode/skills", _SKILLS),
    Place("opencode", "agent", ".opencode/agent", ".config/opencode/agent"),
    Place("opencode", "agent", ".opencode/agents", ".config/opencode/agents"),
    Place("opencode", "command", ".opencode/command", ".config/opencode/command"),
    Place("opencode", "command", ".opencode/commands", ".config/opencode/commands"),
    Place("agents", "skill", ".agents/skills", ".agents/skills", _SKILLS),
    Place("kds", "prompt", "prompts", None, "**/[!_]*.md"),
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
    skill = entry.kind == "skill"
    return entry.client in READS.get(client, (client,)) if skill else entry.client == client


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
        for path, status, _, _ in _files(project, home)
    )


def discover(project: Path, home: Path) -> Found:
    """Read the entries of ``project`` and of the user, whose folder is ``home``.

    What the project has goes before what the user has, of the same client, kind and name. A file
    that cannot be read is named in ``problems``.
    """
    entries: dict[tuple[str, Kind, str], Entry] = {}
    problems = []
    stamp = stamp_of(project, home)
    for path, _, folder, place in _files(project, home):
        if len(entries) >= MOST_ENTRIES:
            problems.append(f"{path}: more than {MOST_ENTRIES} entries; the rest is left out")
            break
        try:
            entry = _read(path, folder, place)
        except (OSError, ValueError, RecursionError) as error:
            problems.append(f"{path}: {error}")
            continue
        entries.setdefault((entry.client, entry.kind, entry.name), entry)
    return Found(tuple(entries.values()), (*problems, *_misplaced(project, home)), stamp)


def _misplaced(project: Path, home: Path) -> Iterator[str]:
    """Files in a folder of skills that no client reads, for their name or their place."""
    folders = (
        top / below
        for place in PLACES
        if place.pattern == _SKILLS
        for top, below in ((project, place.project), (home, place.home))
        if below
    )
    for folder in dict.fromkeys(folders):
        for path in sorted(folder.glob("*/[Ss][Kk][Ii][Ll][Ll].[Mm][Dd]")):
            if path.name != "SKILL.md":
                yield f"{path}: no client reads this name: call it SKILL.md"
        for path in sorted(folder.glob("*.md")):
            with suppress(OSError, ValueError):
                if "description" in _split(path)[0]:
                    yield f"{path}: no client reads it here: call it {path.stem}/SKILL.md"


def instructions(entry: Entry) -> str:
    """The whole text that an entry has its model follow. Raises OSError and ValueError."""
    return _split(entry.path)[1].strip() if entry.path else entry.body


def _files(project: Path, home: Path) -> Iterator[tuple[Path, os.stat_result, Path, Place]]:
    """Each file once, however many links lead to it, with its state, folder and place."""
    seen = set()
    for place in (*PLACES, *_plugins(home)):
        folders = [project / place.project] if place.project else []
        if place.home and home != project:
            folders.append(home / place.home)
        for folder in filter(Path.is_dir, folders):
            for path in sorted(folder.glob(place.pattern)):
                try:
                    status = path.stat()
                except OSError:
                    continue
                identity = status.st_dev, status.st_ino
                if path.name.lower() != "readme.md" and identity not in seen:
                    seen.add(identity)
                    yield path, status, folder, place


def _plugins(home: Path) -> Iterator[Place]:
    """The folders of Claude Code's installed plugins, which have skills, agents and commands."""
    for folder in sorted((home / ".claude/plugins/cache").glob("*/*")):
        at, name = folder.relative_to(home).as_posix(), f"{folder.name}:"
        yield Place("claude", "skill", None, at, "**/skills/*/SKILL.md", name)
        yield Place("claude", "agent", None, at, "**/agents/*.md", name)
        yield Place("claude", "command", None, at, "**/commands/*.md", name)


def _read(path: Path, folder: Path, place: Place) -> Entry:
    """Read one file. Raises OSError, and ValueError with what is wrong."""
    data, body = _split(path)
    name = _text(data.get("name")) if place.kind in ("skill", "agent") else ""
    if place.kind == "skill":
        name = name or path.parent.name
    elif place.kind == "command" and not place.prefix:
        name = ":".join(path.relative_to(folder).with_suffix("").parts)
    name = place.prefix + (name or path.name.split(".")[0])
    if not _NAME.fullmatch(name):
        raise ValueError(f"invalid name {name[:64]!r}: use letters, digits and -, at most 64")
    return Entry(
        name,
        place.kind,
        (_text(data.get("description")) or _first_line(body))[:DESCRIPTION_READ],
        body[:BODY_READ],
        place.client,
        path,
        _globs(data.get("paths") or data.get("globs") or data.get("applyTo")),
        suggested=not _is(data.get("disable-model-invocation"), "true"),
        invocable=not _is(data.get("user-invocable"), "false"),
    )


def _split(path: Path) -> tuple[Mapping[str, Any], str]:
    """The keys of a file and its body; without front matter all of it is the body."""
    if not path.is_file():
        raise ValueError("not a regular file")
    with path.open("rb") as file:
        text = file.read(READ_LIMIT).decode("utf-8-sig", "replace")
    if path.suffix == ".toml":
        data = tomllib.loads(text)
        prompt = data.get("prompt")
        return data, prompt if isinstance(prompt, str) else ""
    lines = [line.strip() for line in text.splitlines()]
    if lines[:1] != ["---"]:
        return {}, text
    if "---" not in lines[1:]:
        raise ValueError("the front matter has no end: write '---' below its keys")
    end = lines.index("---", 1)
    lines = text.splitlines()
    return _yaml("\n".join(lines[1:end])), "\n".join(lines[end + 1 :])


def _yaml(text: str) -> Mapping[str, Any]:
    """The front matter as clients read it: a description may hold an unquoted colon."""
    try:
        data = yaml.load(text, Loader=_LOADER)
    except yaml.YAMLError:
        return dict(_PLAIN_KEY.findall(text))
    return data if isinstance(data, dict) else {}


_LOADER: Final = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_PLAIN_KEY: Final = re.compile(r"^([a-zA-Z-]+):[ \t]*(.+?)[ \t]*$", re.MULTILINE)


def _text(value: object) -> str:
    return " ".join(value.split()) if isinstance(value, str) else ""


def _is(value: object, word: str) -> bool:
    """Whether a value is true or false; authors put it in quotes, too."""
    return str(value).strip("\"' ").lower() == word


def _globs(value: object) -> tuple[str, ...]:
    parts = value.split(",") if isinstance(value, str) else value
    texts = parts if isinstance(parts, list) else ()
    return tuple(part.strip() for part in texts if isinstance(part, str) and part.strip())


def _first_line(body: str) -> str:
    """The first line of text, which clients show for what has no description."""
    lines = (line.strip().lstrip("#>*- ").strip() for line in body.splitlines())
    return next(filter(None, lines), "")
