"""Finding the document that a name means: an id, a path, a file's name, a title."""

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from kds.brain.documents.document_values import Document
from kds.brain.errors import UnknownNameError

SHORTEST_ID: Final = 4
"""Characters of an id that may stand for it."""

SHORTEST: Final = 3
"""Characters of a part of a title that may stand for it."""


def _is_exact(one: Document, asked: str) -> bool:
    return one.id == asked.casefold() or one.path in (asked, str(Path(asked).absolute()))


def _is_name(one: Document, asked: str) -> bool:
    return asked in (Path(one.path).name, one.title)


def _is_name_in_other_case(one: Document, asked: str) -> bool:
    path = Path(one.path)
    names = (path.name, path.stem, one.title)
    return asked.casefold() in (name.casefold() for name in names)


def _ends_path(one: Document, asked: str) -> bool:
    return Path(one.path).as_posix().endswith(f"/{asked.lstrip('./')}")


def _begins(one: Document, asked: str) -> bool:
    folded = asked.casefold()
    by_id = len(folded) >= SHORTEST_ID and one.id.startswith(folded)
    return by_id or (len(folded) >= SHORTEST and one.title.casefold().startswith(folded))


def _has_word(one: Document, asked: str) -> bool:
    if len(asked) < SHORTEST:
        return False
    words = re.split(r"[\W_]+", f"{Path(one.path).stem} {one.title}".casefold())
    return asked.casefold() in words


_WHOLE: Final = (_is_exact, _is_name, _is_name_in_other_case)
"""Ways to name a document in full, the surest first."""

_TESTS: Final = (*_WHOLE, _ends_path, _begins, _has_word)


def find_whole(documents: Sequence[Document], name: str, *, where: str) -> Document:
    """Return the document with exactly this id, path, file's name or title, in any case.

    For what cannot be taken back. Raises UnknownNameError when none or several have it; it names
    those that a part of their name may have meant.
    """
    asked = name.strip()
    found = _found(documents, asked, _WHOLE, where) if asked else None
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
    return _found(documents, asked, _TESTS, where) if asked else None


def _found(
    documents: Sequence[Document],
    asked: str,
    tests: Sequence[Callable[[Document, str], bool]],
    where: str,
) -> Document | None:
    for test in tests:
        chosen = [one for one in documents if test(one, asked)]
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
        hint="see which documents there are: kds docs list",
    )
