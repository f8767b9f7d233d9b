"""The files by which a workspace changes what the router does: rules, words and prompts.

A file has a name, such as ``rules/mine.yaml`` or ``prompts/internal/work-planner.md``. What the
workspace has not got is read from the package; saving it lays a file over the packaged one.
"""

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from kds.brain.errors import MessageError, StoreError
from kds.brain.private_file import failure, is_read_only, locked, read_private, replace_private
from kds.brain.workspace import Workspace
from kds.router import english
from kds.router.prompts.examplefile import SUFFIX, examples_path
from kds.router.prompts.texts import FOLDERS, packaged_root
from kds.router.references import ruleset

PROMPTS: Final = tuple(f"prompts/{folder}" for folder in FOLDERS)

LOCK_S: Final = 5.0
"""How long a save waits for another one; each takes milliseconds."""

NAME_LIMIT: Final = 200
"""Bytes of a name; file systems have room for 255."""

SIZE_LIMIT: Final = 500_000
"""Characters of a file; the largest that ships has a tenth."""

_NAME: Final = re.compile(
    r"(?P<folder>[a-z]+(?:/[a-z]+)?)/(?P<file>[^./\\\x00-\x1f][^/\\\x00-\x1f]*)"
)
_SUFFIXES: Final = {"rules": (".yaml",), "english": (".yaml",)} | dict.fromkeys(
    PROMPTS, (".md", SUFFIX)
)


@dataclass(frozen=True, slots=True)
class OwnFile:
    """A file as it was read, or as it is to be."""

    name: str
    text: str
    stamp: str = ""
    """Tells one content from another; empty where the workspace has no such file."""


class OwnFiles:
    """The files of one workspace; nothing outside of it is written, whatever the name."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace

    def names(self) -> tuple[str, ...]:
        """What the workspace has."""
        return tuple(sorted(_named(folder, path) for folder, path in self._found()))

    def packaged(self) -> tuple[str, ...]:
        """What it may lay a file of its own over, or for words, beside, and has not yet."""
        tables = {f"english/{name}.yaml" for name in english.WORKSPACE_TABLES}
        others = {
            _named(folder, path)
            for folder in ("rules", *PROMPTS)
            for path in _inside(folder, _packaged(folder))
        }
        return tuple(sorted((tables | others) - set(self.names())))

    def contents(self) -> dict[Path, bytes]:
        """What the router reads of them now, links followed. Raises StoreError."""
        try:
            return {path: path.read_bytes() for _, path in self._found() if path.is_file()}
        except OSError as error:
            raise failure("read", Path(error.filename), error) from error

    def path(self, name: str) -> Path:
        """Where a file is, or would be. Raises MessageError for a name that is none."""
        folder, file = _parts(name)
        path = self._own(folder) / file
        if not path.resolve().is_relative_to(self.workspace.root.resolve()):
            raise MessageError(
                "this leads out of the workspace", hint=f"replace the link in the way of {path}"
            )
        return path

    def read(self, name: str) -> OwnFile:
        """The workspace's file, else the packaged one, of words as comments: these join it.

        Raises MessageError where there is neither, StoreError for a link and the like.
        """
        path = self.path(name)
        content = read_private(path)
        if content is not None:
            return OwnFile(name, _text(path, content), hashlib.sha256(content).hexdigest())
        if name not in self.packaged():
            raise MessageError(f"there is no file '{name}'", hint="pick one of those listed")
        folder, file = _parts(name)
        text = (_packaged(folder) / file).read_text(encoding="utf-8")
        return OwnFile(name, _commented(text) if folder == "english" else text)

    def with_companions(self, file: OwnFile) -> list[tuple[Path, str]]:
        """What is to be written for a file: itself, and the examples of a prompt laid over."""
        if len(file.text) > SIZE_LIMIT:
            message = f"the file has more than {SIZE_LIMIT:,} characters"
            raise MessageError(message, hint="split it into several")
        path = self.path(file.name)
        folder, name = _parts(file.name)
        packaged, own = examples_path(_packaged(folder) / name), examples_path(path)
        if path.exists() or own.exists() or not name.endswith(".md") or not packaged.is_file():
            return [(path, file.text)]
        return [(path, file.text), (own, packaged.read_text(encoding="utf-8"))]

    def save(self, file: OwnFile) -> None:
        """Write a file at once, unless it is another one than its stamp says. It is not checked.

        Raises MessageError and StoreError.
        """
        path = self.path(file.name)
        self.workspace.ensure()
        path.parent.mkdir(parents=True, exist_ok=True)
        with locked(self.workspace.brain / "own-files", timeout_s=LOCK_S):
            content = read_private(path)
            if file.stamp != ("" if content is None else hashlib.sha256(content).hexdigest()):
                raise MessageError(
                    f"{path} was changed by somebody else meanwhile",
                    hint="copy your text, open the file anew, and put it in there",
                )
            if is_read_only(path):
                raise StoreError("the file is read-only", where=str(path), hint="chmod u+w it")
            for place, text in self.with_companions(file):
                replace_private(place, text.encode("utf-8"))

    def _found(self) -> Iterator[tuple[str, Path]]:
        for folder in _SUFFIXES:
            yield from ((folder, path) for path in _inside(folder, self._own(folder)))

    def _own(self, folder: str) -> Path:
        own = {"rules": self.workspace.rules_dir, "english": self.workspace.english_dir}
        return own.get(folder) or self.workspace.root / folder


def _parts(name: str) -> tuple[str, str]:
    """The folder and the file of a name. Raises MessageError."""
    found = _NAME.fullmatch(name)
    if (
        found is None
        or len(name) > NAME_LIMIT
        or not name.endswith(_SUFFIXES.get(found["folder"], ("/",)))
    ):
        hint = f"names look like {', '.join(f'{one}/NAME' for one in _SUFFIXES)}"
        raise MessageError(f"'{name[:NAME_LIMIT]}' can be no file of yours", hint=hint)
    return found["folder"], found["file"]


def _packaged(folder: str) -> Path:
    if folder in PROMPTS:
        return packaged_root().parent / folder
    return ruleset.PACKAGED if folder == "rules" else english.PACKAGED


def _named(folder: str, path: Path) -> str:
    return f"{folder}/{path.name}"


def _inside(folder: str, place: Path) -> Iterator[Path]:
    for path in place.glob("*") if place.is_dir() else ():
        if path.name.endswith(_SUFFIXES[folder]) and not path.name.startswith("."):
            yield path


def _commented(text: str) -> str:
    return "".join(f"# {line}\n" for line in text.splitlines())


def _text(path: Path, content: bytes) -> str:
    try:
        return content.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise MessageError(f"{path} is not UTF-8", hint="save it as UTF-8 in an editor") from error
