"""The documents of a workspace, by their names: in a SQLite file of their own, or on a server.

`postgres_documents` keeps them on a server; tests/brain/document_conformance.py holds both against
the same tests. Every method raises StoreError.
"""

import re
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from kds.brain.clock import Clock
from kds.brain.documents.recall import DOCUMENT_BIAS, LIMIT, Request, recall
from kds.brain.documents.table import DOCUMENTS, DocumentTable
from kds.brain.documents.values import ALL, Document, DocumentRecall, Holdings, Section
from kds.brain.errors import UnknownNameError
from kds.brain.git import DOCUMENT_FILES
from kds.brain.passages.passage_file import PassageFile
from kds.brain.passages.store import Embedder, Place
from kds.brain.store.deletion import wipe
from kds.brain.store.health import healing
from kds.brain.store.migrations import version_of
from kds.brain.store.sqlite import Database
from kds.brain.store.sqlite_files import all_files, size_of
from kds.brain.words.tokens import TokenCounter
from kds.brain.workspace import SharedDatabase

SHORTEST_ID: Final = 4
"""Characters of an id that may stand for it."""

SHORTEST: Final = 3
"""Characters of a part of a title that may stand for it."""

IN_FULL: Final = 3
IN_ANY_WAY: Final = 6
"""How many of the ways of `_meant` count: the first ones name a document in full."""


def find(
    documents: Sequence[Document], name: str, *, where: str, ways: int = IN_ANY_WAY
) -> Document | None:
    """Return the document that ``name`` names: an id, a path, a file's name or a title.

    Also the beginning of an id or a title, the end of a path, or a word of name or title, when
    only one has it. None when nothing has. Raises UnknownNameError when several have.
    """
    asked = name.strip()
    told = [_meant(one, asked) for one in documents] if asked else []
    for way in range(ways):
        chosen = [one for one, meant in zip(documents, told, strict=bool(asked)) if meant[way]]
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


def find_whole(documents: Sequence[Document], name: str, *, where: str) -> Document:
    """Return the document with exactly this id, path, file's name or title, in any case.

    For what cannot be taken back. Raises UnknownNameError when none or several have it; it names
    those that a part of their name may have meant.
    """
    found = find(documents, name, where=where, ways=IN_FULL)
    if found is not None:
        return found
    folded = name.strip().casefold()
    meant = [one for one in documents if folded in f"{Path(one.path).name}\n{one.title}".casefold()]
    if not folded or not meant:
        raise unknown_document(name, where)
    listed = ", ".join(f"'{one.title}' ({one.id})" for one in meant[:5])
    more = f" and {len(meant) - 5} more" if len(meant) > 5 else ""
    raise UnknownNameError(
        f"no document is named just '{name}'; meant may be {listed}{more}",
        where=where,
        hint="give the id, the path, the file's name or the whole title",
    )


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


def unknown_document(name: str, where: str) -> UnknownNameError:
    """Return the error for an unknown document."""
    return UnknownNameError(
        f"there is no document '{name}'",
        where=where,
        hint="see which documents there are: kds docs list",
    )


class Documents(DocumentTable):
    """The documents of a workspace, by their names."""

    def remove(self, names: Sequence[str]) -> tuple[Document, ...]:
        """Remove documents and their bytes; returns them.

        Names must be whole: an id, path, file name or title. Raises StoreError for any other,
        and removes nothing then.
        """
        documents, place = self.documents(), self.database.place
        chosen = [find_whole(documents, name, where=place) for name in names]
        found = {one.id: one for one in chosen}
        self.take_out(tuple(found))
        return tuple(found.values())

    def tidy(self) -> None:
        """Remove the bytes of what was replaced, if anything was."""
        wipe(self.database)

    def document(self, name: str) -> Document:
        """Return the document that an id, path, file name or title names.

        Raises StoreError when there is none, or when there are several.
        """
        found = self.find(name)
        if found is None:
            raise unknown_document(name, self.database.place)
        return found

    def find(self, name: str) -> Document | None:
        """Return the document that ``name`` names, None when there is none."""
        return find(self.documents(), name, where=self.database.place)

    def sections(self, name: str) -> tuple[Section, ...]:
        """Return the sections of a document in order."""
        return self.sections_of(self.document(name).id)

    @healing
    def search(
        self,
        query: str,
        *,
        limit: int = LIMIT,
        document: str | Sequence[str] | None = None,
        scope: str = ALL,
        embedder: Embedder | None = None,
        bias: float = DOCUMENT_BIAS,
    ) -> DocumentRecall:
        """Find the passages that ``query`` is about, best first.

        ``document`` names the one the conversation is about, or several: their passages count
        ``bias`` times as much, and no others are hidden; a name that the store does not know is a
        note. ``scope`` is "all", or names the only document to look at: one that is not there is a
        StoreError.
        """
        documents = self.documents()
        names = [document] if isinstance(document, str) else document or ()
        about = {one: find(documents, one, where=self.database.place) for one in names if one}
        within = None if scope == ALL else self.document(scope)
        request = Request(
            query=query,
            limit=limit,
            preferred=frozenset(one.id for one in about.values() if one is not None),
            within=within,
            bias=bias,
            titles={one.title: one.id for one in documents},
        )
        found = recall(self, request, embedder=embedder)
        notes = (
            f"the store has no document '{name}' to prefer"
            for name, one in about.items()
            if one is None
        )
        return replace(found, notes=(*found.notes, *notes))

    @abstractmethod
    def holdings(self) -> Holdings:
        """Return how much is stored."""


class DocumentStore(PassageFile, Documents):
    """The documents of one workspace."""

    database: Database
    kind = DOCUMENTS
    file_name = "documents.db"
    holders = "document"

    def holdings(self) -> Holdings:
        """Return how much is stored."""
        with self.database.read() as connection:
            counts = self.counts(connection)
            version = version_of(connection)
        return Holdings(*counts, sum(map(size_of, all_files(self.path))), version)


class DocumentPlace(Place[Documents]):
    """The documents of a workspace, wherever they are."""

    __slots__ = ()

    @property
    def path(self) -> Path:
        """The file, whether it is used or not."""
        return DocumentStore.path_in(self.workspace)

    def _private(self) -> tuple[str, ...]:
        return DOCUMENT_FILES

    def _on_server(self, shared: SharedDatabase, clock: Clock, count: TokenCounter) -> Documents:
        from kds.brain.documents.postgres_documents import PostgresDocuments  # takes psycopg along

        return PostgresDocuments.of(shared, clock=clock, count_tokens=count)

    def _in_file(self, clock: Clock, count: TokenCounter) -> Documents:
        return DocumentStore(self.path, clock=clock, count_tokens=count)
