"""Copying the texts: what was learned, what the guard found of it, and live work in progress.

What the server has under a name stays. What stands in a text is compared, not its bytes: a service
may have learned more since.
"""

from collections.abc import Iterator
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Final

from kds.brain.context.work import NOTHING
from kds.brain.context.work_file import FOLDER, WorkFile
from kds.brain.database.instant import to_micros
from kds.brain.errors import StoreError
from kds.brain.kept_text import KeptText, PrivateText
from kds.brain.learning.event_log import FILE_NAME as EVENTS
from kds.brain.learning.learned_file import FILE_NAME as LEARNED
from kds.brain.learning.learned_file import LearnedFile, LearnedFileError
from kds.brain.passages.rows import insert
from kds.brain.postgres.tenancy import Tenancy
from kds.brain.postgres.texts import PostgresText
from kds.brain.workspace import Workspace

LEARNED_TEXTS: Final = (("learned examples", LEARNED), ("events of learning", EVENTS))


def copy_texts(workspace: Workspace, target: Tenancy) -> int:
    """Copy what the server has not got; returns how many texts are new. Raises StoreError.

    Where the server has events, what was learned is what they say: it may have been taken back.
    """
    held = dict(_held(workspace, target))
    now = to_micros(target.clock())
    with target.write() as connection:
        known = connection.execute("SELECT name FROM kept_text WHERE name = ANY(?)", [[EVENTS]])
        left = {LEARNED} if known.fetchone() else set[str]()
        rows = [(name, text, now) for name, text in held.items() if name not in left]
        clash = "ON CONFLICT DO NOTHING"
        return insert(connection, "kept_text", "name, content, at", rows, clash)


def live_work(workspace: Workspace, target: Tenancy) -> Iterator[str]:
    """Yield the names of the work that has not expired."""
    for path in sorted((workspace.brain / FOLDER).glob("*.json")):
        if WorkFile(PrivateText(path), clock=target.clock).load().work != NOTHING:
            yield f"{FOLDER}/{path.name}"


def entries_in(text: KeptText, name: str) -> list[str]:
    """Return the examples of a text, or its lines."""
    if name == LEARNED:
        with suppress(LearnedFileError):
            return [f"{one.id} {one.told} {one.by}" for one in LearnedFile(text).entries()]
    lines = (text.read() or b"").decode(errors="backslashreplace").splitlines()
    return [line for line in lines if line.strip()]


def text_of(target: Tenancy, name: str) -> PostgresText:
    """Return a text on the server."""
    return PostgresText(lambda: nullcontext(target), name, target.place)


def _held(workspace: Workspace, target: Tenancy) -> Iterator[tuple[str, str]]:
    for name in (LEARNED, EVENTS, *live_work(workspace, target)):
        if (content := PrivateText(workspace.brain / name).read()) is not None:
            yield name, _decoded(content, workspace.brain / name)


def _decoded(content: bytes, path: Path) -> str:
    """Raise StoreError for what is no text, or has a zero byte: the server takes neither."""
    with suppress(UnicodeDecodeError):
        if "\0" not in (text := content.decode()):
            return text
    raise StoreError("it is no UTF-8 text", where=str(path), hint="mend it, or move it away")
