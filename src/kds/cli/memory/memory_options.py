"""What the memory commands share: opening the memory, an embedding model, a span of time."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Final

from kds.brain.sessions.memory_place import MemoryPlace
from kds.brain.sessions.memory_store import MemoryStore
from kds.cli.guard import Refusal
from kds.cli.options import find_workspace
from kds.cli.stores import pass_on

SHOWN_ID: Final = 8
"""Characters of a session's id in tables; as many name it, as in git."""

_UNITS: Final = {"h": timedelta(hours=1), "d": timedelta(days=1), "w": timedelta(weeks=1)}
_SPAN: Final = re.compile(r"(\d{1,5})([hdw])", re.IGNORECASE)


def read_span(text: str) -> timedelta:
    """Read a span of time. Raises Refusal when it is none.

    >>> read_span("2w")
    datetime.timedelta(days=14)
    """
    found = _SPAN.fullmatch(text.strip())
    if found is None:
        raise Refusal(f"'{text}' is no span of time", "write 36h, 30d or 2w")
    return int(found[1]) * _UNITS[found[2].lower()]


@contextmanager
def looking(folder: Path | None) -> Iterator[MemoryStore | None]:
    """Open the memory of a workspace to look at it; None where nothing is remembered."""
    with MemoryPlace.of(find_workspace(folder)).if_any() as store:
        if store is not None:
            pass_on(store.warnings)
        yield store


@contextmanager
def changing(folder: Path | None) -> Iterator[MemoryStore]:
    """Open the memory of a workspace, made if there is none."""
    with MemoryPlace.of(find_workspace(folder)).open() as store:
        pass_on(store.warnings)
        yield store
