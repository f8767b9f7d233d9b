"""Finding the document that a name means: an id, a path, a file's name, a title."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from kds.brain.documents.document_values import Document
from kds.brain.errors import UnknownNameError

SHORTEST_ID: Final = 4
"""Characters of an id that may stand for it."""

SHORTEST: Final = 3
"""Characters of a part of a title that may stand for it."""

IN_FULL: Final = 3
IN_ANY_WAY: Final = 6
"""How many of the ways of `_meant` count: the first ones name a document in full."""


def _meant(one: Document, asked: str) -> tuple[bool, ...]:
    """Tell in which ways a name means a document, the surest first."""
    path, folded, title = Path(one.path), asked.casefold(), one.title.casefold()
    names = (path.name.casefold(), path.stem.casefold(), title)
    return (
        one.id == folded or one.path in (asked, str(Path(asked).absolute())),
        asked in (path.name, one.title),
        folded in names,
        path.as_posix().endswith(f"/{asked.lstrip('./')}"),
        (len(folded) >= SHORTEST_ID and one.id.startswith(folded))
        or (len(folded) >= SHORTEST and title.startswith(folded)),
        len(asked) >= SHORTEST and folded in re.split(r"[\W_]+", " ".join(names[1:])),
    )


def find_whole(documents: Sequence[Document], name: str, *, where: str) -> Document:
    """Return the document with exactly this id, path, file's name or title, in any case.

    For what cannot be taken back. Raises UnknownNameError when none or several have it; it names
    those that a part of their name may have meant.
    """
    asked = name.strip()
    found = _found(documents, asked, IN_FULL, where) if asked else None
    if found is not None:
        return found
    folded = asked.casefold()
    meant = [one for one in documents if folded in f"{Path(one.path).name}\n{one.title}".casefold()]
    if not asked or not meant:
        raise unknown_document(name, where)
    listed = ", ".join(f"'{one.title}' ({one.id})" for one in meant[:5])
    more = f" and {len(meant) - 5} more" if len(meant) > 5 else ""
    raise UnknownNameError(
        f"no document is named just '{name}'; meant may be {listed}{more}",
        where=where,
        hint="give the id, the path, the file's name or the whole title",
    )


def find(documents: Sequence[Document], name: str, *, where: str) -> Document | None:
    """Return the document that ``name`` names: an id, a path, a file's name or a title.

    Also the beginning of an id or a title, the end of a path, or a word of name or title, when
    only one has it. None when nothing has. Raises UnknownNameError when several have.
    """
    asked = name.strip()
    return _found(documents, asked, IN_ANY_WAY, where) if asked else None


def _found(documents: Sequence[Document], asked: str, ways: int, where: str) -> Document | None:
    told = [_meant(one, asked) for one in documents]
    for way in range(ways):
        chosen = [one for one, meant in zip(documents, told, strict=True) if meant[way]]
        if len(chosen) == 1:
            return chosen[0]
        if chosen:
            listed = ", ".join(f"{one.id} ({one.path})" for one in chosen[:3])
            raise UnknownNameError(
                f"{len(chosen)} documents are named '{asked}': {listed}",
                where=where,
                hint="give the id or the whole path of one of them",
            )
    return None


def unknown_document(name: str, where: str) -> UnknownNameError:
    """Say that there is no such document."""
    return UnknownNameError(
        f"there is no document '{name}'",
        where=where,
        hint="see which documents there are: kds docs show",
    )
