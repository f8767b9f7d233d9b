"""Finding the document that a name means: an id, a path, a file's name, a title."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from kds.brain.documents.values import Document
from kds.brain.errors import StoreError

SHORTEST_ID: Final = 4
"""Characters of an id that may stand for it."""


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
    return by_id or one.title.casefold().startswith(folded)


def _has_word(one: Document, asked: str) -> bool:
    words = re.split(r"[\W_]+", f"{Path(one.path).stem} {one.title}".casefold())
    return asked.casefold() in words


_TESTS: Final = (_is_exact, _is_name, _is_name_in_other_case, _ends_path, _begins, _has_word)
"""Ways to name a document, the surest first."""


def find(documents: Sequence[Document], name: str, *, where: Path) -> Document | None:
    """Return the document that ``name`` names: an id, a path, a file's name or a title.

    Also the beginning of an id or a title, the end of a path, or a word of name or title, when
    only one has it. None when nothing has. Raises StoreError when several have.
    """
    asked = name.strip()
    if not asked:
        return None
    for test in _TESTS:
        chosen = [one for one in documents if test(one, asked)]
        if len(chosen) == 1:
            return chosen[0]
        if chosen:
            listed = ", ".join(f"{one.id} ({one.path})" for one in chosen[:3])
            raise StoreError(
                f"{len(chosen)} documents are named '{asked}': {listed}",
                where=str(where),
                hint="give the id or the whole path of one of them",
            )
    return None


def unknown_document(name: str, where: Path) -> StoreError:
    """Say that there is no such document."""
    return StoreError(
        f"there is no document '{name}'",
        where=str(where),
        hint="see which documents there are: kds docs list",
    )
