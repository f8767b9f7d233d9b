"""What can be activated: skills, agents, commands and prompt files, as one kind of value."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, get_args

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
