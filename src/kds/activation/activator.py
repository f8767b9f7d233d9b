"""Suggests the entry of a library that fits a prompt."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from threading import Lock
from typing import Final

from kds.activation.decision import fitted, probability, rank, rank_by_use, veto
from kds.activation.discovery import Entry, Found, discover, entries_from, reads, stamp_of
from kds.activation.features import Library, Prompt, StoredVectors
from kds.activation.uses import Evidence, Uses
from kds.brain.encoder import shared_encoder
from kds.brain.errors import KdsError
from kds.brain.turn import Utterance
from kds.brain.workspace import Workspace
from kds.router.pattern import Pattern, one_turn

PRECISION: Final = 0.9
"""The share of suggestions that are to be right: `activation.precision`."""

VECTORS: Final = "activation.npz"

_FILE: Final = re.compile(r"(?<![\w./-])[\w./-]*\w\.[A-Za-z]\w{0,5}\b")
"""A file that a prompt names."""

_GLOB: Final = re.compile(r"\*\*/?|\*|\?|\{([^{}]*)\}|.")


@dataclass(frozen=True, slots=True)
class Suggestion:
    """What fits a prompt.

    ``ranked`` are names with the probability that they are wanted, best first. ``choice`` is the
    name to say, or None: silence is the ordinary outcome; ``entry`` is what it names. ``why`` is
    the evidence for the best one, ``silent`` the reason where no name is said.
    """

    ranked: tuple[tuple[str, float], ...]
    choice: str | None
    why: Mapping[str, float]
    entry: Entry | None = None
    silent: str = ""


class Activator:
    """Knows a library of entries, and which of them a prompt calls for. For any threads."""

    def __init__(
        self, entries: Iterable[Entry], *, kept: Path | None = None, precision: float = PRECISION
    ) -> None:
        self._kept = kept
        self._decision = fitted()
        self._bar = self._decision.bar(precision)
        self._changed: Callable[[], Found | None] = lambda: None
        self._lock = Lock()
        self._uses: Uses | None = None
        self._evidence: tuple[object, Evidence | None] = (None, None)
        self._use(Found(tuple(entries)))

    @classmethod
    def from_entries(
        cls, entries: Iterable[Entry | Mapping[str, object]], *, precision: float = PRECISION
    ) -> "Activator":
        """Return an activator for mappings with `name`, `kind`, `description` and `body`.

        Raises EntryError.

        >>> notes = {"name": "release-notes", "description": "Write the notes of a release."}
        >>> activator = Activator.from_entries([notes])
        >>> activator.suggest("write up what changed for the release").ranked[0][0]
        'release-notes'
        """
        return cls(entries_from(entries), precision=precision)

    @classmethod
    def open(
        cls, workspace: Workspace | Path | str, *, client: str | None = None,
        precision: float = PRECISION, learn: bool = True,
    ) -> "Activator":  # fmt: skip
        """Return an activator for what a workspace and its user have, which follows changes.

        ``client`` leaves out what that assistant cannot use; with ``learn``, what ran after
        earlier prompts counts (`kds.activation.uses`). The vectors of the entries are kept in the
        workspace's cache, where there is a workspace folder.
        """
        if not isinstance(workspace, Workspace):
            workspace = Workspace.find(Path(workspace))
        project, user = workspace.root, Path.home()

        def changed() -> Found | None:
            if stamp_of(project, user) == opened._found.stamp:
                return None
            found = discover(project, user)
            able = (entry for entry in found.entries if client is None or reads(client, entry))
            return Found(tuple(able), found.problems, found.stamp)

        kept = workspace.cache_dir / VECTORS if workspace.brain.is_dir() else None
        opened = cls((), kept=kept, precision=precision)
        opened._use(changed() or opened._found)
        opened._changed = changed
        opened._uses = Uses(workspace) if learn else None
        return opened

    @property
    def entries(self) -> tuple[Entry, ...]:
        """The entries as they were last read."""
        return self._found.entries

    @property
    def problems(self) -> tuple[str, ...]:
        """Files that could not be read, each with the reason."""
        return self._found.problems

    def suggest(self, text: str, history: Sequence[Utterance] = ()) -> Suggestion:
        """Return the entries that fit ``text``, said after ``history`` (oldest first)."""
        with self._lock:
            if (changed := self._changed()) is not None:
                self._use(changed)
            library, evidence = self._library, self._learn()
        if library is None or not text.strip():
            return Suggestion((), None, {}, silent="no entry to compare with")
        prompt = Prompt(text, history)
        if prompt.accepted:  # "yes" to "Shall I write the release notes?" asks for them
            prompt = Prompt(prompt.accepted, history[:-1])
        found = rank(library, prompt, self._decision.ranking)
        wanted = probability(found.signs, self._decision.wanted)
        if evidence:
            found, wanted = rank_by_use(library, prompt, found, evidence.of(prompt), self._decision)
        best, *others = found.order
        # the others share what the best one leaves
        left = (1 - wanted) / max(sum(found.shares[row] for row in others), 1e-30)
        chances = {row: min(wanted, left * found.shares[row]) for row in others}
        ranked = ((library.entries[row].name, chance) for row, chance in chances.items())
        entry = library.entries[best]
        silent = veto(found.signs)
        if wanted < self._bar:
            silent = f"less probable than {self._bar:.2f}"
        elif not entry.suggested:
            silent = "only the user may start it"
        elif not _suits(entry, text):
            silent = "the prompt names files that it is not for"
        whole = ((entry.name, wanted), *ranked)
        choice, chosen = (None, None) if silent else (entry.name, entry)
        return Suggestion(whole, choice, found.signs, chosen, silent)

    def _use(self, found: Found) -> None:
        """Read the entries; copies of one for several clients count once."""
        self._found = found
        entries = {(one.kind, one.name): one for one in reversed(found.entries)}
        self._library = None
        if entries:
            encoder = StoredVectors(shared_encoder(), self._kept)
            self._library = Library([*entries.values()][::-1], encoder)
            encoder.keep()

    def _learn(self) -> Evidence | None:
        """What the uses of the project say, as far as they can be read; None without any."""
        if self._uses is None or self._library is None:
            return None
        stamp = (self._uses.stamp, self._library)
        if self._evidence[0] != stamp:
            with suppress(KdsError):
                names = [entry.name for entry in self._library.entries]
                self._evidence = stamp, Evidence(self._uses.read(), names, shared_encoder())
        return self._evidence[1]


def _suits(entry: Entry, text: str) -> bool:
    """Whether the files that a prompt names, if any, are among those that an entry is for. One
    that is named without its folder may be in any."""
    named = _FILE.findall(text)
    if not entry.paths or not named:
        return True
    with one_turn():  # a hostile project's globs may backtrack for ever
        return any(_matches(file, glob) for file in named for glob in entry.paths)


def _matches(file: str, glob: str) -> bool:
    if "/" not in file or "/" not in glob:
        file, glob = PurePosixPath(file).name, PurePosixPath(glob).name
    pattern = Pattern.compile(rf"\A{_pattern(glob.removeprefix('./'))}\Z", where=glob)
    return isinstance(pattern, Pattern) and pattern.search(file.removeprefix("./")) is not None


def _pattern(glob: str) -> str:
    """A glob as a regular expression: ``**`` is any number of folders, ``{a,b}`` either."""

    def part(found: re.Match[str]) -> str:
        if found[0] == "**/":
            return "(?:.*/)?"
        if found[1] is not None:
            return f"(?:{'|'.join(map(_pattern, found[1].split(',')))})"
        return {"**": ".*", "*": "[^/]*", "?": "[^/]"}.get(found[0]) or re.escape(found[0])

    return _GLOB.sub(part, glob)
