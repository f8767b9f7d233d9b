"""What a workspace remembers, by kind and count: what amnesia takes, and what it leaves.

Only files that KDS itself makes in `kds-brain/` are ever counted, and never what a link leads to.
"""

import re
import stat
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, get_args

from kds.amnesia.database import COMPANIONS, count_rows
from kds.amnesia.tenant import ON_SERVER, STAYS_THERE, HeldText, texts_on_server
from kds.brain.context.work_file import FOLDER as WORK_DIR
from kds.brain.documents.document_store import DocumentStore
from kds.brain.documents.document_values import UPLOADS
from kds.brain.learning.event_log import FILE_NAME as EVENTS_FILE
from kds.brain.learning.learned_file import FILE_NAME as LEARNED_FILE
from kds.brain.sessions.sqlite_store import SqliteStore
from kds.brain.shared_database import shared_database
from kds.brain.workspace import Workspace

Kind = Literal["context", "conversations", "memory", "documents", "learned", "work", "cache"]
KINDS: Final[tuple[Kind, ...]] = get_args(Kind)

LABELS: Final[Mapping[Kind, str]] = {
    "context": "conversation context",
    "conversations": "conversations of their own",
    "memory": "long memory and profile",
    "documents": "indexed documents",
    "learned": "what was taught and corrected",
    "work": "work in progress",
    "cache": "caches (fitted models; made anew when needed)",
}

BACKUPS_DIR: Final = "backups"

STAYS: Final = (
    "prompts/ and kds-brain/rules/: your prompts and rules",
    "settings.yaml, README.md and .gitignore",
    "service files, the hook's log and the record of `kds init`",
    "the files of your assistants, and the application itself",
    "backups/: what amnesia has put away before",
)

DATABASES: Final[Mapping[str, tuple[Kind, tuple[tuple[str, str], ...]]]] = {
    SqliteStore.file_name: (
        "memory",
        (
            ("sessions", "session"),
            ("messages", "message"),
            ("profile fields", "profile"),
            ("notes of consent", "consent_event"),
            ("items of agents", "item"),
            ("measurements", "metric"),
        ),
    ),
    DocumentStore.file_name: ("documents", (("documents", "document"), ("sections", "section"))),
}
"""Each database with what is counted in it: what it is called, and its table."""

_THERE: Final = f"(?:{ON_SERVER})?"

_DATA: Final[tuple[tuple[Kind, re.Pattern[str]], ...]] = (
    ("context", re.compile(rf"{_THERE}conversation-context\.jsonl(?:\.bad)?")),
    (
        "conversations",
        re.compile(
            rf"{_THERE}conversations/[a-z0-9-]*-[0-9a-f]{{16}}\.jsonl(?:\.waiting)?(?:\.bad)?"
        ),
    ),
    ("learned", re.compile(rf"{_THERE}(?:learned\.yaml|learning\.jsonl(?:\.bad)?)")),
    ("learned", re.compile(rf"{ON_SERVER}learned-verdict\.json")),  # of earlier versions
    ("work", re.compile(rf"{_THERE}work/[a-z0-9-]+\.json(?:\.bad)?")),
    ("cache", re.compile(r"cache/[\w.-]+")),
    ("documents", re.compile(rf"{UPLOADS}/[^/]+")),
    *(
        (
            kind,
            re.compile(
                rf"{re.escape(name)}(?:-journal|-wal|-shm|\.suspect|\.(?:bad|backup)-[^/]+)?"
            ),
        )
        for name, (kind, _) in DATABASES.items()
    ),
)
"""Names of data, from `kds-brain/`. Whatever has another name is none of ours, and stays."""

_LEFTOVER: Final = re.compile(r"\.(?P<name>[^/]+)\.[0-9a-f]{12}\.tmp")
"""What a write that was killed leaves beside a file (`kds.brain.private_file`)."""

_FOLDERS: Final = ("", "conversations", WORK_DIR, "cache", UPLOADS)


@dataclass(frozen=True, slots=True)
class Item:
    """All that is there of one kind: its files, and how many of what are in them."""

    kind: Kind
    files: tuple[str, ...]
    counts: Mapping[str, int]

    @property
    def label(self) -> str:
        """What it is, for people."""
        return LABELS[self.kind]


@dataclass(frozen=True, slots=True)
class Survey:
    """What a workspace remembers. ``links`` are names that lead elsewhere and stay untouched."""

    workspace: Workspace
    items: tuple[Item, ...]
    links: tuple[str, ...] = ()
    stays: tuple[str, ...] = STAYS

    @property
    def is_empty(self) -> bool:
        """Whether nothing is remembered."""
        return not any(item.files for item in self.items)

    def as_dict(self) -> dict[str, object]:
        """The survey as JSON has it."""
        return {
            "workspace": str(self.workspace.root),
            "items": [
                {"kind": one.kind, "label": one.label, "counts": dict(one.counts),
                 "files": list(one.files)}
                for one in self.items
            ],
            "links": list(self.links),
            "stays": list(self.stays),
        }  # fmt: skip

    def lines(self) -> tuple[str, ...]:
        """What would go, a line for each kind that is there."""
        return tuple(f"{one.label}: {told(one.counts)}" for one in self.items if one.files)


def survey(workspace: Workspace, *, keep: Sequence[str] = ()) -> Survey:
    """Look at what is there, but for the kinds to ``keep``. Changes nothing.

    Raises StoreError when a folder or the server cannot be read.
    """
    names, links = data_files(workspace)
    on_server = texts_on_server(workspace)
    items = [_item(workspace, kind, names, on_server) for kind in KINDS if kind not in keep]
    stays = (*STAYS, STAYS_THERE) if shared_database(workspace) else STAYS
    return Survey(workspace, tuple(items), links, stays)


def data_files(workspace: Workspace) -> tuple[dict[Kind, list[str]], tuple[str, ...]]:
    """Every file of data by kind, named from `kds-brain/`; and the links among them."""
    found: dict[Kind, list[str]] = {}
    links: list[str] = []
    for name in _listed(workspace.brain):
        kind = kind_of(name)
        if kind is None:
            continue
        mode = (workspace.brain / name).lstat().st_mode
        if stat.S_ISREG(mode):
            found.setdefault(kind, []).append(name)
        elif stat.S_ISLNK(mode):
            links.append(name)
    links += [one for one in _FOLDERS[1:] if (workspace.brain / one).is_symlink()]
    return found, tuple(links)


def kind_of(name: str) -> Kind | None:
    """What a file of `kds-brain/` holds, by its name from there; None: none of our data.

    >>> kind_of("memory.db-wal"), kind_of("settings.yaml"), kind_of("work/../rules/x.json")
    ('memory', None, None)
    """
    folder, slash, last = name.rpartition("/")
    if last in (".", "..") or "\\" in last or not last.isprintable():
        return None  # names of other places to some system, or to a terminal
    if left := _LEFTOVER.fullmatch(last):
        name = f"{folder}{slash}{left['name']}"
    return next((kind for kind, pattern in _DATA if pattern.fullmatch(name)), None)


def is_companion(name: str) -> bool:
    """Whether a file is part of an open database, or what a killed write left: not backed up."""
    last = name.rpartition("/")[2]
    database = next((one for one in DATABASES if last.startswith(one)), None)
    beside = database is not None and last.removeprefix(database) in COMPANIONS
    return beside or _LEFTOVER.fullmatch(last) is not None


def told(counts: Mapping[str, int]) -> str:
    """Counts in words.

    >>> told({"sessions": 1, "messages": 2_000, "items of agents": 0})
    '1 session, 2,000 messages'
    """
    rows = [
        f"{count:,} {noun if count != 1 else _singular(noun)}"
        for noun, count in counts.items()
        if count
    ]
    return ", ".join(rows) or "nothing"


def _singular(noun: str) -> str:
    first, space, rest = noun.partition(" ")
    if space and first.endswith("s"):
        return f"{first.removesuffix('s')} {rest}"
    return noun.removesuffix("s")


def _listed(brain: Path) -> Iterator[str]:
    for folder in _FOLDERS:
        place = brain / folder if folder else brain
        if place.is_dir() and (not folder or not place.is_symlink()):
            prefix = f"{folder}/" if folder else ""
            yield from sorted(f"{prefix}{path.name}" for path in place.iterdir())


def _item(
    workspace: Workspace,
    kind: Kind,
    names: Mapping[Kind, Sequence[str]],
    on_server: Mapping[str, HeldText],
) -> Item:
    there = [name for name in on_server if kind_of(name) == kind]
    files = (*names.get(kind, ()), *there)
    return Item(kind, files, _counts(workspace.brain, kind, files, on_server))


def _counts(
    brain: Path, kind: Kind, files: Sequence[str], on_server: Mapping[str, HeldText]
) -> dict[str, int]:
    for name, (owner, tables) in DATABASES.items():
        if owner == kind:
            found = count_rows(brain / name, tables) if name in files else {}
            aside = [one for one in files if ".bad-" in one or ".backup-" in one]
            return found | {"copies set aside": len(aside)}
    if kind not in ("context", "conversations", "learned"):
        return {"files": len(files)}
    texts = {
        name: on_server[name].content if name in on_server else _content(brain / name)
        for name in files
    }
    return _counted(kind, texts)


def _counted(kind: Kind, texts: Mapping[str, bytes]) -> dict[str, int]:
    if kind == "learned":
        examples, events = _lines(texts, LEARNED_FILE, rb"^- "), _lines(texts, EVENTS_FILE)
        return {"examples": examples, "events": events}
    whole = len([name for name in texts if name.endswith(".jsonl")])
    counts = {"conversations": whole} if kind == "conversations" else {}
    return counts | {"messages": _lines(texts)}


def _lines(texts: Mapping[str, bytes], name: str | None = None, start: bytes = rb"^\s*\S") -> int:
    """The lines of all texts, or of those of a name, that begin so."""
    return sum(
        len(re.findall(start, content, re.MULTILINE))
        for place, content in texts.items()
        if name in (None, place.removeprefix(ON_SERVER))
    )


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""
