"""What was taught: `learned.yaml`, a file that people read and may change.

An entry, an example of an intent or what a description means, is added as lines at the end and
taken out by its lines: everything else in the file keeps every byte.
"""

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Final, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from kds.brain.errors import ConfigError, Problem, StoreError
from kds.brain.files import LockedText
from kds.brain.learning.events import LOCK_TIMEOUT_S, example_id, reference_id
from kds.brain.workspace import LEARNED
from kds.brain.yaml_files import decoded, parse_yaml, validate

FILE_NAME: Final = LEARNED

MAX_EXAMPLES: Final = 2_000
"""Examples of a file, taught or written by hand: fitting so many takes about a second."""

HEADER: Final = """\
# Examples that KDS has learned from you, used like those of the prompt files. See docs/learning.md.
# Take one back with `kds learn undo ID`; what you change here by hand holds too.
examples:
"""

YOU: Final = "you"
"""Who taught an example with a command or the page; one that was written by hand has "hand"."""


class LearnedFileError(ConfigError):
    """The file of learned examples does not load."""


@dataclass(frozen=True, slots=True)
class LearnedExample:
    """A message that is an example of an intent; ``line`` is where the file has it."""

    id: str
    text: str
    intent: str
    by: str
    line: int = 0

    @property
    def told(self) -> str:
        """It in words."""
        return f"'{self.text}' as {self.intent}"


@dataclass(frozen=True, slots=True)
class LearnedReference:
    """A description as the user types it, and the thing that is meant. ``line`` is where."""

    id: str
    text: str
    antecedent: str
    by: str
    line: int = 0

    @property
    def told(self) -> str:
        """It in words."""
        return f"'{self.text}' means '{self.antecedent}'"


Learned = LearnedExample | LearnedReference


class _Entry(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True, str_strip_whitespace=True)
    text: Annotated[str, Field(min_length=1, max_length=2000)]
    intent: Annotated[str, Field(min_length=1)] | None = None
    antecedent: Annotated[str, Field(min_length=1, max_length=2000)] | None = None
    by: str = "hand"

    @model_validator(mode="after")
    def _says_one_thing(self) -> Self:
        if (self.intent is None) == (self.antecedent is None):
            raise ValueError("needs an intent, or an antecedent, and not both")
        return self


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)
    examples: list[_Entry] | None = None


@dataclass(frozen=True, slots=True)
class LearnedFile:
    """The text of one workspace. Methods raise StoreError when it cannot be used, LearnedFileError
    with all that is wrong in it when it does not load."""

    text: LockedText

    def load(self) -> tuple[LearnedExample, ...]:
        """The examples alone."""
        return tuple(one for one in self.entries() if isinstance(one, LearnedExample))

    def references(self) -> tuple[LearnedReference, ...]:
        """What descriptions mean, what was said last at the end."""
        return tuple(one for one in self.entries() if isinstance(one, LearnedReference))

    def entries(self) -> tuple[Learned, ...]:
        """All of it in its order; nothing when there is no file."""
        return self._parsed(self._decoded(self.text))

    def add(self, one: Learned, *, now: datetime) -> bool:
        """Write an entry at the end; False when it is there already.

        Raises StoreError also when the file is full.
        """
        with self.text.locked(timeout_s=LOCK_TIMEOUT_S) as kept:
            text = self._decoded(kept)
            present = self._parsed(text)
            ids = [entry.id for entry in present]
            if one.id in ids:
                return False
            if len(present) >= MAX_EXAMPLES:
                raise StoreError(
                    f"there are {len(present):,} learned examples, at most {MAX_EXAMPLES:,} count",
                    where=str(self.text),
                    hint="move good ones into a prompt file of yours, and undo them here",
                )
            text = text or HEADER
            indent = _depth(text.splitlines()[present[-1].line - 1]) if present else 0
            gap = "" if text.endswith("\n") else "\n"
            after = f"{text}{gap}{_block(one, now=now, indent=' ' * indent)}"
            try:
                holds = [entry.id for entry in self._parsed(after)] == [*ids, one.id]
            except LearnedFileError:  # of another shape, such as `examples: []`
                holds = False
            if not holds:
                hint = "write `examples:` as its last key, with one example a '- ' below"
                raise StoreError("no example can be added", where=str(self.text), hint=hint)
            kept.replace(after.encode())
        return True

    def remove(self, example_id: str) -> bool:
        """Take the lines of an entry out; False when it is not there.

        Blank lines and comments behind it stay. With the last entry the file goes too, if it holds
        nothing of the user's.
        """
        with self.text.locked(timeout_s=LOCK_TIMEOUT_S) as kept:
            text = self._decoded(kept)
            rows = (text or "").splitlines(keepends=True)
            entries = self._parsed(text)
            starts = [*(one.line - 1 for one in entries), len(rows)]
            at = next((at for at, one in enumerate(entries) if one.id == example_id), None)
            if at is None:
                return False
            first, end = starts[at], starts[at + 1]
            while end > first + 1 and _depth(rows[end - 1]) <= _depth(rows[first]):
                end -= 1
            left = "".join([*rows[:first], *rows[end:]])
            if left == HEADER:
                kept.remove()
            else:
                kept.replace(left.encode())
        return True

    def _decoded(self, kept: LockedText) -> str | None:
        content = kept.read()
        if content is None or not content.strip():
            return None
        text = decoded(content, path=str(self.text))
        if isinstance(text, Problem):
            raise LearnedFileError([text])
        return text

    def _parsed(self, text: str | None) -> tuple[Learned, ...]:
        document = parse_yaml(text or "", path=str(self.text))
        if document.data is None and not document.problems:
            return ()
        found = validate(document, _File)
        if not isinstance(found, _File):
            raise LearnedFileError(found)
        entries = found.examples or ()
        if len(entries) > MAX_EXAMPLES:
            where = document.where(("examples", MAX_EXAMPLES))
            message = f"holds {len(entries):,} examples, more than {MAX_EXAMPLES:,}"
            raise LearnedFileError([Problem(where, message, "remove those you need least")])
        return tuple(
            _learned(entry, document.line(("examples", index)))
            for index, entry in enumerate(entries)
        )


def _learned(entry: _Entry, line: int) -> Learned:
    if entry.antecedent is not None:
        name = reference_id(entry.text, entry.antecedent)
        return LearnedReference(name, entry.text, entry.antecedent, entry.by, line)
    intent = (entry.intent or "").upper()
    return LearnedExample(example_id(entry.text, intent), entry.text, intent, entry.by, line)


def _depth(row: str) -> int:
    """How far a row is indented; 0 for a blank one."""
    return len(row) - len(row.lstrip()) if row.strip() else 0


def _block(one: Learned, *, now: datetime, indent: str) -> str:
    said = (
        f"intent: {one.intent}"
        if isinstance(one, LearnedExample)
        else (f"antecedent: {json.dumps(one.antecedent, ensure_ascii=False)}")
    )
    return (
        f"{indent}- id: {one.id}\n"
        f"{indent}  text: {json.dumps(one.text, ensure_ascii=False)}\n"
        f"{indent}  {said}\n"
        f"{indent}  by: {one.by}\n"
        f'{indent}  at: "{now.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"\n'
    )
