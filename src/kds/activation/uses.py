"""Learning from use: which entry ran after which prompt of a project, and which name was ignored.

Uses are kept in ``kds-brain/skills-used.jsonl``, for the owner alone and without secrets. A prompt
is compared with the kept ones by kernel ridge regression (Saunders et al. 1998): what it says of
an entry is added to the score, and weighed by `fitted.json` (``tools/fit_activation.py``).
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, Literal

from pydantic import TypeAdapter, ValidationError

from kds.activation.features import Prompt, TermIndex, pattern
from kds.brain.encoder import Encoder
from kds.brain.files import PrivateFile
from kds.brain.secrets.redaction import storable
from kds.brain.workspace import Workspace

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vector = NDArray[np.float32]

FILE: Final = "skills-used.jsonl"
KEPT: Final = 600
"""Uses that are kept, the newest: comparing with them takes 2 ms of CPU."""
PROMPT_CHARS: Final = 300
WAIT_S: Final = 2.0

RIDGE: Final = 0.1
"""Weight of the regression's penalty. With .1, .69 of the best entries are right after 20 uses of
each as ``tools/fit_activation.py`` simulates them, with .3 .68, with 1 .61 (.49 without uses)."""

_NAMED_BY: Final[Mapping[str, tuple[str, ...]]] = {
    "skill": ("skill", "command", "name"),
    "slashcommand": ("command",),
    "task": ("subagent_type", "agent_type", "agent"),
    "agent": ("subagent_type", "agent_type", "agent"),
}
"""By tool, in lower case: the arguments that say which entry it runs, in the clients' spellings."""

Outcome = Literal["used", "ignored"]


@dataclass(frozen=True, slots=True)
class Use:
    """A prompt, and the entry that ran after it or was named and did not run."""

    prompt: str
    entry: str
    outcome: Outcome
    at: str
    """When it was noted, ISO 8601."""


_LINE: Final = TypeAdapter(Use)


def runs_in(events: Iterable[Any]) -> Iterator[tuple[str, str]]:
    """Yield each prompt with the entry that the assistant ran after it, of the events of a session
    (`kds.transcripts.formats.Event`)."""
    prompt = ""
    for event in events:
        if event.kind == "user":
            prompt = event.text
        elif event.kind == "call" and prompt and (name := _entry_of(event)):
            yield prompt, name


def _entry_of(event: Any) -> str:
    given = event.arguments
    if not isinstance(given, Mapping):
        return ""
    keys = _NAMED_BY.get(event.tool.lower(), ())
    name = next((given[key] for key in keys if isinstance(given.get(key), str)), "")
    return name.removeprefix("/").partition(" ")[0] if name.startswith("/") else name


class Uses:
    """The uses that a workspace keeps. For any threads and processes."""

    def __init__(self, workspace: Workspace) -> None:
        self.path: Final = workspace.brain / FILE
        self._file: Final = PrivateFile(self.path)

    @property
    def stamp(self) -> tuple[int, int]:
        """What changes when the file does."""
        try:
            found = self.path.stat()
        except OSError:
            return 0, 0
        return found.st_mtime_ns, found.st_size

    def read(self) -> tuple[Use, ...]:
        """Return what is kept, oldest first; a line that cannot be read counts for nothing.

        Raises StoreError.
        """
        return tuple(_read_lines((self._file.read() or b"").splitlines()))

    def add(self, prompt: str, entry: str, outcome: Outcome) -> None:
        """Keep a use, without what is secret in it. Raises StoreError."""
        now = datetime.now(UTC).isoformat(timespec="seconds")
        new = Use(storable(prompt)[:PROMPT_CHARS], entry, outcome, now)
        with self._file.locked(timeout_s=WAIT_S):
            before = [one for one in self.read() if (one.prompt, one.entry) != (new.prompt, entry)]
            self._write([*before, new][-KEPT:])

    def forget(self, entry: str | None = None) -> int:
        """Remove the uses of an entry, or all of them; return how many. Raises StoreError."""
        with self._file.locked(timeout_s=WAIT_S):
            uses = self.read()
            left = [one for one in uses if entry is not None and one.entry != entry]
            self._write(left)
        return len(uses) - len(left)

    def _write(self, uses: Sequence[Use]) -> None:
        rows = (json.dumps(asdict(use), ensure_ascii=False) + "\n" for use in uses)
        self._file.replace("".join(rows).encode("utf-8", "replace"))


def _read_lines(lines: Iterable[bytes]) -> Iterator[Use]:
    for line in lines:
        try:
            yield _LINE.validate_json(line, strict=True)
        except ValidationError:
            continue


class Evidence:
    """What the uses of a project say of a prompt."""

    def __init__(self, uses: Iterable[Use], names: Sequence[str], encoder: Encoder) -> None:
        import numpy as np

        rows = {name: row for row, name in enumerate(names)}
        # a bare "yes" accepts what was offered then: it says nothing of the next one
        bare = pattern("plain_yes").match
        known = [use for use in uses if use.entry in rows and not bare(use.prompt)]
        self._count = len(names)
        self._entries = np.array([rows[use.entry] for use in known], dtype=int)
        self._ran = np.array([use.outcome == "used" for use in known], dtype=bool)
        prompts = [Prompt(use.prompt) for use in known]
        self._terms = TermIndex([prompt.terms for prompt in prompts])
        self._vectors = encoder.encode([prompt.text for prompt in prompts])
        self._encoder = encoder
        self._weights = self._fit()

    def __bool__(self) -> bool:
        return len(self._entries) > 0

    def of(self, prompt: Prompt) -> "tuple[Vector, Vector, Vector]":
        """Return by entry: what its uses say, the likest use, and the likest ignored name."""
        import numpy as np

        (vector,) = self._encoder.encode([prompt.text])
        like = (self._vectors @ vector + self._terms.like(prompt.terms)) / 2
        said = (like[self._ran] @ self._weights).astype(np.float32)
        nearest, ignored = np.zeros((2, self._count), dtype=np.float32)
        np.maximum.at(nearest, self._entries[self._ran], like[self._ran])
        np.maximum.at(ignored, self._entries[~self._ran], like[~self._ran])
        return said, nearest, ignored

    def _fit(self) -> "Vector":
        """Solve for the weight of each use, by entry."""
        import numpy as np

        vectors, terms = self._vectors[self._ran], self._terms.rows[self._ran]
        alike = (vectors @ vectors.T + terms @ terms.T) / 2
        wanted = np.eye(self._count, dtype=np.float32)[self._entries[self._ran]]
        penalty = RIDGE * np.eye(len(vectors), dtype=np.float32)
        weights: Vector = np.linalg.solve(alike + penalty, wanted)
        return weights
