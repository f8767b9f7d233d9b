"""What the server has yet to take of a conversation: in a file, since the process may end before.

A line for each entry, its id and then the entry as `entry_line` writes it. By its id the server
knows again what it has: an entry that was stored although nobody could tell is not stored twice.
"""

from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Final

from kds.brain.context.entry_line import decode_lines, encode
from kds.brain.context.journal import LIMIT, LOCK_TIMEOUT_S
from kds.brain.errors import StoreError
from kds.brain.private_file import (
    append_private,
    locked,
    make_private_folder,
    read_private,
    remove_private,
    replace_private,
)
from kds.brain.turn import ContextEntry

SUFFIX: Final = ".jsonl.waiting"
"""Of the file's name: it goes with the conversations' files, and is none of them."""

Named = tuple[str, ContextEntry]
"""An entry with its id."""


class Waiting:
    """The entries of one conversation that wait, oldest first; any number of processes add some.

    Where the file cannot be written, or there is to be none, they wait in this process.
    """

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self.volatile: list[Named] = []
        """Those that end with this process."""

    def entries(self) -> list[Named]:
        """Return those that wait, of whichever process."""
        kept: list[Named] = []
        with suppress(StoreError):  # adding one says so
            kept = self._read()[0]
        return _merged(kept, self.volatile)

    def add(self, new: Iterable[Named], *, fresh: bool = False) -> None:
        """Add entries; ``fresh`` drops the earlier ones."""
        ours = _merged([] if fresh else self.volatile, new)
        self._place(ours, lambda kept: ours if fresh else _merged(kept, ours))

    def put_first(self, new: Iterable[Named]) -> None:
        """Add entries that were said before those that wait."""
        ours = _merged(new, self.volatile)
        self._place(ours, lambda kept: _merged(ours, kept))

    def drop(self, ids: Collection[str]) -> None:
        """Forget those with these ids: they were stored, or nobody wants them any more."""
        self.volatile = [one for one in self.volatile if one[0] not in ids]
        with suppress(StoreError):  # stored again it would be the same row
            if self._path is not None and read_private(self._path) is not None:
                self._change(lambda kept: [one for one in kept if one[0] not in ids])

    def note(self) -> str:
        """Say how many wait, and until when; nothing where none does."""
        count = len(self.entries())
        if not count:
            return ""
        fate = "lost when this process ends" if self.volatile else "kept on this machine until then"
        return f"; {count} not stored yet, and {fate}"

    def _place(self, ours: list[Named], change: Callable[[list[Named]], list[Named]]) -> None:
        try:
            self._change(change)
        except StoreError:
            self.volatile = ours
        else:
            self.volatile = []

    def _change(self, change: Callable[[list[Named]], list[Named]]) -> None:
        if self._path is None:
            raise StoreError("there is no folder to keep it in")
        make_private_folder(self._path.parent)
        with locked(self._path, timeout_s=LOCK_TIMEOUT_S):
            kept, damaged = self._read()
            if damaged:
                append_private(self._path.with_name(f"{self._path.name}.bad"), damaged)
            left = change(kept)[-LIMIT:]
            if left:
                lines = (one.encode() + b" " + encode(entry) + b"\n" for one, entry in left)
                replace_private(self._path, b"".join(lines))
            else:
                remove_private(self._path)

    def _read(self) -> tuple[list[Named], bytes]:
        """Return the entries of the file, and the lines that cannot be read."""
        content = (self._path and read_private(self._path)) or b""
        split = [line.partition(b" ") for line in content.splitlines() if line]
        # A line of blanks alone would be passed over, and the rest would be taken for others.
        entries = decode_lines(b"\n".join(rest.strip() or b"-" for _, _, rest in split))
        kept, damaged = [], b""
        for (one, _, rest), line in zip(split, entries, strict=True):
            if line.entry is not None and one.isalnum():
                kept.append((one.decode(), line.entry))
            else:
                damaged += one + b" " + rest + b"\n"
        return kept, damaged


def _merged(first: Iterable[Named], then: Iterable[Named]) -> list[Named]:
    return list(dict([*first, *then]).items())
