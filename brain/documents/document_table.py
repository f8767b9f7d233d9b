"""Documents, sections and passages: a document is stored at once or not at all."""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import ClassVar, TypeVar

from kds.brain.documents.content import Content, Source
from kds.brain.documents.document_rows import (
    CANDIDATE_COLUMNS,
    DOCUMENT_COLUMNS,
    PASSAGE_COLUMNS,
    PASSAGE_TABLES,
    SECTION_COLUMNS,
    document_of,
    insert_document,
    insert_passages,
    passage_of,
    section_of,
)
from kds.brain.documents.document_schema import CLAUSE, LONGEST_KEY
from kds.brain.documents.document_values import Document, Passage, Section
from kds.brain.documents.drafting import (
    READER,
    Draft,
    DraftPassage,
    DraftSection,
    draft,
    number_keys,
    passages_of,
    terms_json,
)
from kds.brain.documents.heading import clause_keys, referred_in
from kds.brain.documents.judging import Candidate
from kds.brain.documents.lookup import Lookup
from kds.brain.passages.embedding_queue import count_vector_deletion, queue
from kds.brain.passages.schema import Row, in_order, range_of
from kds.brain.passages.store import PassageStore
from kds.brain.store.columns import to_micros
from kds.brain.store.deletion import note_scrub, wipe
from kds.brain.store.engine import Connection, Engine
from kds.brain.store.health import healing
from kds.brain.words.stems import seen_stems, stem_set
from kds.brain.words.tokens import TokenCounter

T = TypeVar("T")


class DocumentTable(PassageStore):
    """The tables of documents, sections and passages: a part of the document store."""

    database: Engine
    count_tokens: TokenCounter
    index_names: ClassVar[str] = ""
    """The columns of a passage that are its index, each behind a comma."""

    @healing
    def put(self, content: Content, source: Source) -> Document:
        """Store a document, in the place of what its file said before: at once or not at all.

        The bytes of what it replaces go with the next `tidy` or `remove`.
        """
        # What takes the most time comes before the lock.
        ready = draft(content, source, count=self.count_tokens)
        passages = [
            (one.section, (*_chunk_row(one), *self.index_columns(one)), tuple(_term_rows(one)))
            for one in passages_of(ready)
        ]
        document = _document_row(ready, to_micros(self.database.clock()))
        sections = [(index, *_section_row(one)) for index, one in enumerate(ready.sections)]
        with self.database.write() as connection:
            if _delete(connection, [ready.id]):
                _note_deletion(self.database, connection)
            number = insert_document(connection, document, sections)
            assert number is not None  # nothing is barred
            queue(connection, insert_passages(connection, number, passages, self.index_names))
            self.count_words(connection, number)
            row = connection.execute(
                f"SELECT {DOCUMENT_COLUMNS} FROM document WHERE num = ?", (number,)
            ).fetchone()
        return document_of(row)

    def index_columns(self, passage: DraftPassage) -> Row:
        """Return what the index has of a passage, by `index_names`: a file fills it by triggers."""
        return ()

    def count_words(self, connection: Connection, number: int) -> None:
        """Note how many words the index has of a new document: that of a file knows by itself."""

    @healing
    def take_out(self, ids: Sequence[str]) -> int:
        """Remove documents and their bytes; returns how many there were."""
        with self.database.write() as connection:
            gone = _delete(connection, ids)
            if gone:
                _note_deletion(self.database, connection)
        if gone:
            wipe(self.database)
        return gone

    def touch(self, document: Document, source: Source) -> None:
        """Note that the file of a document has another date but says the same."""
        with self.database.write(durable=False) as connection:
            connection.execute(
                "UPDATE document SET modified = ?, size = ? WHERE id = ?",
                (to_micros(source.modified), source.size, document.id),
            )

    def documents(self) -> tuple[Document, ...]:
        """Return all documents, by path."""
        with self.database.read() as connection:
            rows = connection.execute(f"SELECT {DOCUMENT_COLUMNS} FROM document ORDER BY path")
            return tuple(map(document_of, rows))

    def current_paths(self) -> dict[str, bool]:
        """Return the paths of all documents, and whether they need not be read again for KDS."""
        with self.database.read() as connection:
            return {
                path: reader == READER
                for path, reader in connection.execute("SELECT path, reader FROM document")
            }

    def sections_of(self, document_id: str) -> tuple[Section, ...]:
        """Return the sections of a document in order."""
        with self.database.read() as connection:
            rows = connection.execute(
                f"SELECT {SECTION_COLUMNS} FROM section JOIN document "
                "ON document.num = section.document_num WHERE document.id = ? ORDER BY idx",
                (document_id,),
            )
            return tuple(map(section_of, rows))

    def passages(self, ids: Sequence[int]) -> tuple[Passage, ...]:
        """Return the passages with these ids that exist, in the order asked for."""
        return self._read(ids, PASSAGE_COLUMNS, passage_of)

    def candidates(self, ids: Sequence[int]) -> tuple[Candidate, ...]:
        """Return passages as they are judged, in the order of their ids."""
        return self._read(sorted(ids), CANDIDATE_COLUMNS, lambda row: Candidate(*row))

    def _read(
        self, ids: Sequence[int], columns: str, value_of: Callable[[Row], T]
    ) -> tuple[T, ...]:
        def read(marks: str, some: Sequence[int]) -> Iterator[tuple[int, T]]:
            query = f"SELECT {columns} FROM {PASSAGE_TABLES} WHERE chunk.id IN ({marks})"
            return ((row[0], value_of(row)) for row in connection.execute(query, some))

        with self.database.read() as connection:
            return in_order(ids, read)

    def counts(self, connection: Connection) -> tuple[int, int, int, int]:
        """Return how many documents, sections, passages and tokens there are."""
        row = connection.execute(
            "SELECT count(*), coalesce(sum(section_count), 0), coalesce(sum(chunk_count), 0), "
            "coalesce(sum(token_count), 0) FROM document"
        ).fetchone()
        documents, sections, chunks, tokens = map(int, row)
        return documents, sections, chunks, tokens

    def lookup(self, within: str | None) -> Lookup:
        """Return the tables of terms and sections, of one document or of all."""
        if within is None:
            return Lookup(self.database)
        with self.database.read() as connection:
            row = connection.execute("SELECT num FROM document WHERE id = ?", (within,)).fetchone()
        return Lookup(self.database, int(row[0]) if row else 0)


def _note_deletion(engine: Engine, connection: Connection) -> None:
    count_vector_deletion(engine, connection)
    note_scrub(engine, connection)


def _delete(connection: Connection, ids: Iterable[str]) -> int:
    gone = 0
    for one in ids:
        row = connection.execute("SELECT num FROM document WHERE id = ?", (one,)).fetchone()
        if row is None:
            continue
        number = int(row[0])
        # Passages first: their index rows are found through the sections they are slices of.
        connection.execute("DELETE FROM chunk WHERE id BETWEEN ? AND ?", range_of(number))
        gone += connection.execute("DELETE FROM document WHERE num = ?", (number,)).rowcount
    return gone


def _document_row(ready: Draft, added: int) -> Row:
    source, content = ready.source, ready.content
    return (
        ready.id, source.path, ready.title, content.kind, added, to_micros(source.modified),
        source.size, source.digest, READER, content.pages, len(ready.sections), ready.chunks,
        ready.tokens,
    )  # fmt: skip


def _section_row(section: DraftSection) -> Row:
    label, own, key = number_keys(section.heading)
    title = section.heading.title if section.heading else ""
    return (
        label, own, key if len(key) <= LONGEST_KEY else "", title,
        json.dumps(section.path, ensure_ascii=False), section.page, section.first_line,
        section.last_line, len(section.cut.pieces), section.cut.text,
    )  # fmt: skip


def _chunk_row(one: DraftPassage) -> Row:
    piece = one.piece
    return (
        one.header, piece.kind, piece.start, piece.length, piece.columns, terms_json(piece),
        one.idents, seen_stems(one.body, one.idents), stem_set(one.beside), piece.page,
        piece.first_line, piece.last_line, piece.tokens,
    )  # fmt: skip


def _term_rows(one: DraftPassage) -> Iterator[Row]:
    """Yield what a passage is said to define, and the clauses that begin in it."""
    elsewhere = referred_in(one.body) if one.piece.terms else ("", "")
    for key, term in {term.key: term for term in one.named}.items():
        if len(key) <= LONGEST_KEY:
            yield key, term.term, term.strength, *elsewhere
    for key in clause_keys(one.body):
        if len(key) < LONGEST_KEY:
            yield f"{CLAUSE}{key}", "", 1.0, "", ""
