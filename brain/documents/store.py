"""The documents of a workspace: in a SQLite file of their own, or on a server.

A document is stored at once or not at all. A section's text stands once; a passage is a slice of
it, and what the index knows of it (the headings, the body, what stands beside it) is a view. The
passages of a document are one range of ids, and a document that is read again gets another range.
``stems`` are those of a passage, as it is judged: making them for each of a hundred passages would
take most of a search's time. ``beside`` is empty: an earlier version had stems there, too.

The view `session` shows documents as the memory's searches know conversations: embedding queue,
vectors and full-text search of the memory work on these tables too. `postgres_documents` keeps
them on a server; tests/brain/document_conformance.py holds both against the same tests. Every
method raises StoreError.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, TypeVar

from kds.brain.documents.chunking import (
    AFTER_CHARACTERS,
    BEFORE_CHARACTERS,
    CHUNK_COLUMNS,
    CLAUSE,
    LONGEST_KEY,
    READER,
    TERM_COLUMNS,
    Draft,
    draft,
)
from kds.brain.documents.question import Reference
from kds.brain.documents.recall import DOCUMENT_BIAS, LIMIT, recall
from kds.brain.documents.values import (
    ALL,
    Candidate,
    Content,
    Document,
    DocumentRecall,
    Heading,
    Holdings,
    Passage,
    Section,
    Source,
    number_key,
)
from kds.brain.errors import UnknownNameError
from kds.brain.git import DOCUMENT_FILES
from kds.brain.passages.passage_file import PassageFile
from kds.brain.passages.store import (
    CHUNK_BITS,
    Embedder,
    PassageStore,
    Place,
    Row,
    in_order,
    insert,
    marks,
    queue,
    range_of,
)
from kds.brain.store.columns import from_micros, to_micros
from kds.brain.store.engine import Connection, Engine
from kds.brain.store.maintenance import healing
from kds.brain.store.migrations import FileKind, read_script
from kds.brain.store.sqlite import Database
from kds.brain.words.terms import TokenCounter

APPLICATION_ID: Final = 0x4B445344
"""'KDSD': says whose file it is."""

MANY_DEFINERS: Final = 30
"""Passages that define one term, the surest first: a term of many documents stays cheap."""

MANY_REFERRED: Final = 40
"""Passages of the sections with one number."""

EXACT, NUMBERED, INNER, OTHER_LABEL = 1.0, 0.9, 0.5, 0.4
"""How well a section fits the one that was named: itself, a paragraph with that number, one inside
of it, an article with the number of a section."""

_ALIKE: Final = frozenset({"", "section", "clause", "paragraph", "rule", "item", "step"})
_CHAPTERS: Final = frozenset({"", "article", "chapter", "part", "title"})

SHORTEST_ID, SHORTEST = 4, 3
"""Characters of an id, and of a part of a title, that may stand for it."""

TABLES: Final = read_script(
    Path(__file__).with_name("tables.sql"),
    before=BEFORE_CHARACTERS,
    after=AFTER_CHARACTERS,
    application_id=APPLICATION_ID,
)
"""Version 1."""

DOCUMENTS: Final = FileKind(
    "the document store",
    APPLICATION_ID,
    rebuild="kds memory check --rebuild",
    migrations=(TABLES,),
)

_DOCUMENT_COLUMNS: Final = (
    "id, path, title, kind, added_at, modified, size, digest, section_count, chunk_count, pages"
)
_PASSAGE_TABLES: Final = (
    "chunk JOIN section ON section.num = chunk.section_num "
    "JOIN document ON document.num = section.document_num"
)
_PASSAGE_COLUMNS: Final = (
    "chunk.id, document.id, document.path, document.title, section.path, section.idx, number, "
    "chunk.page, chunk.first_line, chunk.last_line, chunk.kind, "
    "substr(section.text, start + 1, length), terms, tokens"
)
_CANDIDATE_COLUMNS: Final = "chunk.id, document.id, document.title, section.path, tokens, stems"

T = TypeVar("T")


class Documents(PassageStore):
    """The documents of a workspace."""

    database: Engine
    count_tokens: TokenCounter
    holders = "document"

    @healing
    def put(self, content: Content, source: Source) -> Document:
        """Store a document, in the place of what its file said before: at once or not at all.

        The bytes of what it replaces go with the next `tidy` or `remove`.
        """
        # What takes the most time comes before the lock.
        ready = draft(content, source, count=self.count_tokens)
        passages = list(ready.passages())
        with self.database.write() as connection:
            added = to_micros(self.database.clock())
            self._delete(connection, [ready.id])
            number = _insert_document(connection, ready, content, source, added)
            _insert_passages(connection, number, passages)
            queue(connection, range_of(number))
            self.index_range(connection, number, range_of(number))
            query = f"SELECT {_DOCUMENT_COLUMNS} FROM document WHERE num = ?"
            return _document_of(connection.execute(query, (number,)).fetchone())

    @healing
    def remove(self, names: Sequence[str]) -> tuple[Document, ...]:
        """Remove documents and their bytes; returns them.

        Names must be whole: an id, path, file name or title. Raises StoreError for any other,
        and removes nothing then.
        """
        documents, place = self.documents(), self.database.place
        found = {one.id: one for one in (find_whole(documents, name, place) for name in names)}
        with self.database.write() as connection:
            gone = self._delete(connection, found)
        if gone:
            self.database.wipe()
        return tuple(found.values())

    def tidy(self) -> None:
        """Remove the bytes of what was replaced, if anything was."""
        self.database.wipe()

    def documents(self) -> tuple[Document, ...]:
        """Return all documents, by path."""
        with self.database.read() as connection:
            rows = connection.execute(f"SELECT {_DOCUMENT_COLUMNS} FROM document ORDER BY path")
            return tuple(map(_document_of, rows))

    def current_paths(self) -> dict[str, bool]:
        """Return the paths of all documents; false where this KDS would read the file again."""
        with self.database.read() as connection:
            rows = connection.execute("SELECT path, reader FROM document")
            return {path: reader == READER for path, reader in rows}

    def find(self, name: str) -> Document | None:
        """Return the document that ``name`` names; None when there is none.

        It is an id, a path, a file's name or a title; or the beginning of an id or a title, the end
        of a path, or a word of name or title, when only one has it. Raises StoreError when several
        have.
        """
        return find(self.documents(), name, self.database.place)

    def document(self, name: str) -> Document:
        """Return the document that `find` finds. Raises StoreError when there is none, too."""
        found = self.find(name)
        if found is None:
            raise unknown_document(name, self.database.place)
        return found

    def sections(self, name: str) -> tuple[Section, ...]:
        """Return the sections of a document in order."""
        document = self.document(name)
        with self.database.read() as connection:
            rows = connection.execute(
                "SELECT idx, number, section.title, section.path, page, first_line, last_line, "
                "section.chunk_count, text FROM section JOIN document "
                "ON document.num = section.document_num WHERE document.id = ? ORDER BY idx",
                (document.id,),
            )
            return tuple(
                Section(document.id, index, number, title, tuple(json.loads(path)), *rest)
                for index, number, title, path, *rest in rows
            )

    def find_quote(
        self, name: str, quote: str, *, page: int | None, line: int | None
    ) -> tuple[int, int, int] | None:
        """Return where the passage of a document that begins with ``quote`` stands: the index of
        its section, start and length in that. Of several, the one at this page and line."""
        with self.database.read() as connection:
            rows = connection.execute(
                f"SELECT idx, start, length, chunk.page, chunk.first_line FROM {_PASSAGE_TABLES} "
                "WHERE document.id = ? AND substr(text, start + 1, ?) = ? ORDER BY chunk.id",
                (self.document(name).id, len(quote), quote),
            )
            found = min(rows, key=lambda row: tuple(row[3:]) != (page, line), default=None)
            return None if found is None else (found[0], found[1], found[2])

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
        about = {one: find(documents, one, self.database.place) for one in names if one}
        found = recall(
            self,
            query,
            limit=limit,
            bias=bias,
            preferred=[one.id for one in about.values() if one is not None],
            within=None if scope == ALL else self.document(scope).id,
            embedder=embedder,
        )
        unknown = (name for name, one in about.items() if one is None)
        notes = (f"the store has no document '{name}' to prefer" for name in unknown)
        return replace(found, notes=(*found.notes, *notes))

    def passages(self, ids: Sequence[int]) -> tuple[Passage, ...]:
        """Return the passages with these ids that exist, in the order asked for."""
        return self._read(ids, _PASSAGE_COLUMNS, _passage_of)

    def candidates(self, ids: Sequence[int]) -> tuple[Candidate, ...]:
        """Return passages as they are judged, in the order of their ids."""
        return self._read(sorted(ids), _CANDIDATE_COLUMNS, lambda row: Candidate(*row))

    def _read(
        self, ids: Sequence[int], columns: str, value_of: Callable[[Row], T]
    ) -> tuple[T, ...]:
        with self.database.read() as connection:
            query = f"SELECT {columns} FROM {_PASSAGE_TABLES} WHERE chunk.id"
            return in_order(connection, query, ids, value_of)

    def holdings(self) -> Holdings:
        """Return how much is stored."""
        with self.database.read() as connection:
            documents, sections, chunks, tokens = connection.execute(
                "SELECT count(*), coalesce(sum(section_count), 0), coalesce(sum(chunk_count), 0), "
                "coalesce(sum(token_count), 0) FROM document"
            ).fetchone()
            size, version = self._room(connection)
        return Holdings(documents, int(sections), int(chunks), int(tokens), size, version)

    def definers(
        self, keys: Sequence[str], within: str | None = None
    ) -> Mapping[str, Mapping[int, float]]:
        """Return for each defined key the passages that define it, and how surely."""
        found: dict[str, dict[int, float]] = {}
        with self.database.read() as connection:
            has = _inside(connection, within)
            rows = connection.execute(
                "SELECT key, chunk_id, strength FROM term "
                f"WHERE key IN ({marks(keys)}) ORDER BY strength DESC, chunk_id",
                keys,
            ).fetchall()
            for key, chunk_id, strength in rows:
                if has(chunk_id) and len(known := found.setdefault(key, {})) < MANY_DEFINERS:
                    known.setdefault(chunk_id, strength)
        return found

    def referred(self, reference: Reference, within: str | None = None) -> dict[int, float]:
        """Return the passages of the sections that a reference names, and how well they fit."""
        found: dict[int, float] = {}
        with self.database.read() as connection:
            has = _inside(connection, within)
            for key, label, chunk_id in _numbered(connection, reference.key):
                if has(chunk_id) and len(found) < MANY_REFERRED:
                    exact = EXACT if _labels_agree(reference.label, label) else OTHER_LABEL
                    fit = exact if key == reference.key else INNER
                    found[chunk_id] = max(fit, found.get(chunk_id, 0.0))
            for (chunk_id,) in connection.execute(
                "SELECT chunk_id FROM term WHERE key = ? ORDER BY chunk_id LIMIT ?",
                (f"{CLAUSE}{reference.key}", MANY_REFERRED),
            ):
                if has(chunk_id):
                    found[chunk_id] = max(NUMBERED, found.get(chunk_id, 0.0))
        return found

    def _delete(self, connection: Connection, ids: Iterable[str]) -> int:
        gone = 0
        for one in ids:
            row = connection.execute("SELECT num FROM document WHERE id = ?", (one,)).fetchone()
            if row is None:
                continue
            number = int(row[0])
            # Passages first: their index rows are found through the sections they are slices of.
            connection.execute("DELETE FROM chunk WHERE id BETWEEN ? AND ?", range_of(number))
            gone += connection.execute("DELETE FROM document WHERE num = ?", (number,)).rowcount
        if gone:
            self.database.leaves_bytes(connection)
        return gone


def find(
    documents: Sequence[Document], name: str, where: str, *, whole: bool = False
) -> Document | None:
    """Return the document that ``name`` names, as `Documents.find` does; ``whole``: in full."""
    asked = name.strip()
    told = [(one, _meant(one, asked)) for one in documents] if asked else []
    for way in range(2 if whole else 3):
        chosen = [one for one, meant in told if meant[way]]
        if len(chosen) > 1:
            listed = ", ".join(f"{one.id} ({one.path})" for one in chosen[:3])
            raise UnknownNameError(
                f"{len(chosen)} documents are named '{asked}': {listed}",
                where=where,
                hint="give the id or the whole path of one of them",
            )
        if chosen:
            return chosen[0]
    return None


def find_whole(documents: Sequence[Document], name: str, where: str) -> Document:
    """Return the document with exactly this id, path, file's name or title, in any case.

    For what cannot be taken back. Raises UnknownNameError when none or several have it.
    """
    if found := find(documents, name, where, whole=True):
        return found
    raise unknown_document(name, where)


def unknown_document(name: str, where: str) -> UnknownNameError:
    """Return the error for an unknown document."""
    hint = "see which documents there are: kds docs show"
    return UnknownNameError(f"there is no document '{name}'", where=where, hint=hint)


def _meant(one: Document, asked: str) -> tuple[bool, ...]:
    """Tell in which ways a name means a document, the surest first."""
    path, folded, title = Path(one.path), asked.casefold(), one.title.casefold()
    names = (path.name.casefold(), path.stem.casefold(), title)
    return (
        one.id == folded or one.path in (asked, str(Path(asked).absolute())),
        folded in names,
        path.as_posix().endswith(f"/{asked.lstrip('./')}")
        or (len(folded) >= SHORTEST_ID and one.id.startswith(folded))
        or (len(folded) >= SHORTEST and title.startswith(folded))
        or (len(folded) >= SHORTEST and folded in re.split(r"[\W_]+", " ".join(names[1:]))),
    )


def _inside(connection: Connection, within: str | None) -> Callable[[int], bool]:
    """Return what tells whether a passage is of the only document to be looked at."""
    if within is None:
        return lambda _: True
    row = connection.execute("SELECT num FROM document WHERE id = ?", (within,)).fetchone()
    number = int(row[0]) if row else 0
    return lambda chunk_id: chunk_id >> CHUNK_BITS == number


def _numbered(connection: Connection, key: str) -> list[tuple[str, str, int]]:
    """Return key, label and passages of the sections with a number, and of those inside them."""
    query = (
        "SELECT number_key, label, chunk.id FROM section "
        "JOIN chunk ON chunk.section_num = section.num "
        "WHERE number_key = ? OR (number_key > ? AND number_key < ?) "
        "ORDER BY number_key <> ?, chunk.id"
    )
    return [*connection.execute(query, (key, f"{key}.", f"{key}/", key))]


def _labels_agree(asked: str, label: str) -> bool:
    return asked == label or any(asked in group and label in group for group in (_ALIKE, _CHAPTERS))


def _insert_document(
    connection: Connection, ready: Draft, content: Content, source: Source, added: int
) -> int:
    """Insert a document with its sections; returns its number."""
    pieces = [piece for section in ready.sections for piece in section.cut.pieces]
    row = {
        "id": ready.id, "path": source.path, "title": ready.title, "kind": content.kind,
        "added_at": added, "modified": to_micros(source.modified), "size": source.size,
        "digest": source.digest, "reader": READER, "pages": content.pages,
        "section_count": len(ready.sections), "chunk_count": len(pieces),
        "token_count": sum(piece.tokens for piece in pieces),
    }  # fmt: skip
    query = f"INSERT INTO document({', '.join(row)}) VALUES ({marks(tuple(row))}) RETURNING num"
    number = int(connection.execute(query, tuple(row.values())).fetchone()[0])
    sections = []
    for index, one in enumerate(ready.sections):
        heading = one.heading or Heading("", 0)
        key = number_key(heading.number) if heading.number else ""
        sections.append((
            number, index, heading.label if heading.number else "", heading.number,
            key if len(key) <= LONGEST_KEY else "", heading.title,
            json.dumps(one.path, ensure_ascii=False), one.page, one.first_line, one.last_line,
            len(one.cut.pieces), one.cut.text,
        ))  # fmt: skip
    columns = (
        "document_num, idx, label, number, number_key, title, path, page, first_line, last_line, "
        "chunk_count, text"
    )
    insert(connection, "section", columns, sections)
    return number


def _insert_passages(
    connection: Connection, number: int, passages: Sequence[tuple[int, Row, tuple[Row, ...]]]
) -> None:
    """Insert passages in order, as `Draft.passages` yields them."""
    query = "SELECT idx, num FROM section WHERE document_num = ?"
    sections = dict(connection.execute(query, (number,)))
    placed = list(enumerate(passages, range_of(number)[0]))
    rows = [(chunk_id, sections[section], *row) for chunk_id, (section, row, _) in placed]
    insert(connection, "chunk", f"id, section_num, {CHUNK_COLUMNS}", rows)
    terms = [(chunk_id, *term) for chunk_id, (_, _, terms) in placed for term in terms]
    insert(connection, "term", f"chunk_id, {TERM_COLUMNS}", terms, "ON CONFLICT DO NOTHING")


def _document_of(row: Row) -> Document:
    """Read _DOCUMENT_COLUMNS."""
    return Document(*row[:4], *map(from_micros, row[4:6]), *row[6:])


def _passage_of(row: Row) -> Passage:
    """Read _PASSAGE_COLUMNS."""
    section, terms = (tuple(json.loads(row[at])) for at in (4, 12))
    values = (*row[:4], section, *row[5:12], terms, *row[13:])
    return Passage(*values)


class DocumentStore(PassageFile, Documents):
    """The documents of one workspace."""

    database: Database
    kind = DOCUMENTS
    file_name = "documents.db"


class DocumentPlace(Place[Documents]):
    """The documents of a workspace, wherever they are."""

    __slots__ = ()
    file_name = DocumentStore.file_name
    private = DOCUMENT_FILES

    def _opened(self, **options: Any) -> Documents:
        if self.shared is None:
            return DocumentStore(self.path, **options)
        from kds.brain.documents.postgres_documents import PostgresDocuments  # takes psycopg along

        return PostgresDocuments.of(self.shared, **options)
