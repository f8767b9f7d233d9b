"""Rule and prompt files as they were last read: what did not change is not read and checked anew.

Parsing the packaged files costs 0.08 s of CPU with libyaml and ten times that without. One JSON
file holds the data and the lines of every document that had no problem, by the hash of its text. It
is a cache: one that cannot be read counts as empty, and so does one that came with the project.
"""

import hashlib
import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

from kds.brain.document import Document, parse_yaml
from kds.brain.errors import StoreError
from kds.brain.private_file import make_private_folder
from kds.brain.receipt import read_own, replace_own
from kds.brain.yamlreader import NodePath

FORMAT: Final = 4
"""Raise it when the reading of YAML or the checks of patterns change."""

FILE_NAME: Final = "documents.json"


@dataclass(slots=True)
class DocumentCache:
    """The documents read from one workspace. Without a ``path`` nothing is kept."""

    path: Path | None = None
    _known: Mapping[str, Any] = field(default_factory=dict)
    _used: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def open(cls, folder: Path) -> "DocumentCache":
        """The cache in the cache ``folder`` of a workspace, which need not be there."""
        path = folder / FILE_NAME
        with suppress(StoreError, ValueError, TypeError, KeyError, RecursionError):
            found = json.loads(read_own(path) or b"{}")
            if found["made_by"] == _made_by() and isinstance(found["documents"], dict):
                return cls(path, found["documents"])
        return cls(path)

    def parse(self, text: str, *, path: str, first_line: int = 1) -> Document:
        """As `parse_yaml`, from the cache where it is known."""
        with suppress(KeyError, TypeError, ValueError):
            known = self._known[_hash(text)]
            lines: dict[NodePath, int] = {
                tuple(at): line + first_line for at, line in known["lines"]
            }
            return Document(path, known["data"], lines, first_line)
        return parse_yaml(text, path=path, first_line=first_line)

    def is_sound(self, text: str) -> bool:
        """Whether a document of this text passed every check of its own before."""
        return _hash(text) in self._known

    def keep(self, text: str, document: Document) -> None:
        """Remember a document in which nothing was wrong."""
        lines = [[at, line - document.first_line] for at, line in document.lines.items()]
        self._used[_hash(text)] = {"data": document.data, "lines": lines}

    def save(self, *, whole: bool = True) -> None:
        """Write what was used, if that is new; what was known too, unless all was used that is.

        Raises StoreError.
        """
        if self.path is None or self._used.keys() <= self._known.keys():
            return
        documents = self._used if whole else {**self._known, **self._used}
        made = {"made_by": _made_by(), "documents": documents}
        try:
            content = json.dumps(made, ensure_ascii=False).encode()
        except (TypeError, ValueError):  # a date, or half a character: read anew each time
            return
        make_private_folder(self.path.parent)
        replace_own(self.path, content)


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _made_by() -> list[object]:
    return [FORMAT, version("regex"), version("PyYAML")]
