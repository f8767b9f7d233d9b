"""Copying and comparing documents: each comes over whole, with its vectors, or not at all.

What the server has of the same path stays; where that was added later, it is as it should be.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Final

from kds.brain.database.database import Database
from kds.brain.database.engine import Connection
from kds.brain.documents.document_rows import (
    CHUNK_FIELDS,
    DOCUMENT_FIELDS,
    SECTION_FIELDS,
    TERM_FIELDS,
    PassageRows,
    insert_document,
    insert_passages,
)
from kds.brain.passages.passage_schema import CHUNK_BITS, range_of
from kds.brain.passages.rows import Row
from kds.brain.passages.text_search import WordForms
from kds.brain.postgres.migration.compare import (
    Compared,
    as_it_should_be,
    compared_vectors,
    overall,
)
from kds.brain.postgres.migration.parts import Tell
from kds.brain.postgres.migration.vector_copies import (
    Models,
    as_file,
    common_models,
    queue_rest,
    read,
    store,
)
from kds.brain.postgres.postgres_documents import INDEX_NAMES
from kds.brain.postgres.tenancy import Tenancy
from kds.brain.postgres.word_index import indexed

_OF_CHUNKS: Final = ", ".join(f"chunk.{name}" for name in CHUNK_FIELDS.split(", "))

_DOCUMENTS: Final = f"SELECT num, {DOCUMENT_FIELDS} FROM document ORDER BY num"
_SECTIONS: Final = f"SELECT {SECTION_FIELDS} FROM section WHERE document_num = ? ORDER BY idx"
_CHUNKS: Final = (
    f"SELECT chunk.id, idx, {_OF_CHUNKS} FROM chunk JOIN section ON section.num = section_num "
    "WHERE chunk.id BETWEEN ? AND ? ORDER BY chunk.id"
)
_TERMS: Final = (
    f"SELECT chunk_id, {TERM_FIELDS} FROM term WHERE chunk_id BETWEEN ? AND ? "
    "ORDER BY chunk_id, key"
)
_TEXTS: Final = (
    "SELECT id, header, body, context, idents FROM chunk_text WHERE id BETWEEN ? AND ? ORDER BY id"
)
_VECTORS: Final = (
    "SELECT chunk_id, name, {vector} FROM embedding "
    "JOIN embedding_model ON embedding_model.num = model_num "
    "WHERE chunk_id BETWEEN ? AND ? ORDER BY chunk_id, name"
)


@dataclass(frozen=True, slots=True)
class _Whole:
    """A document as it was read, ready to be stored."""

    document: Row
    sections: list[Row]
    passages: Sequence[PassageRows]
    ids: list[int]
    """Of the passages, in the file."""
    words: int
    vectors: list[tuple[int, str, bytes]]


def copy_documents(source: Database, target: Tenancy, tell: Tell) -> int:
    """Copy what the server lacks; returns how many documents that were. Raises StoreError."""
    with source.read() as old, target.read() as new:
        listed = old.execute(_DOCUMENTS).fetchall()
        there = {one for (one,) in new.execute("SELECT id FROM document")}
    models = common_models(source, target)
    copied = 0
    with WordForms() as forms:
        for done, (number, *document) in enumerate(listed, 1):
            if document[0] not in there:
                whole = _read(source, number, tuple(document), forms, target.tenant)
                copied += _store(target, whole, models)
            tell(done, len(listed))
    return copied


def _read(source: Database, number: int, document: Row, forms: WordForms, tenant: int) -> _Whole:
    ids = range_of(number)
    with source.read() as old:
        sections = old.execute(_SECTIONS, (number,)).fetchall()
        chunks = old.execute(_CHUNKS, ids).fetchall()
        terms = old.execute(_TERMS, ids).fetchall()
        texts = old.execute(_TEXTS, ids).fetchall()
        vectors = read(old, [row[0] for row in chunks])
    ready = [indexed(forms, columns, tenant=tenant) for _, *columns in texts]
    named: dict[int, list[Row]] = {}
    for chunk_id, *term in terms:
        named.setdefault(chunk_id, []).append(tuple(term))
    passages = [
        (index, (*row, one.words, one.size), named.get(chunk_id, []))
        for (chunk_id, index, *row), one in zip(chunks, ready, strict=True)
    ]
    words = sum(one.size for one in ready)
    return _Whole(document, sections, passages, [row[0] for row in chunks], words, vectors)


def _store(target: Tenancy, whole: _Whole, models: Models) -> int:
    """Store a document, unless somebody else has meanwhile; returns how many that were."""
    with target.write() as connection:
        clash = "ON CONFLICT DO NOTHING"
        number = insert_document(connection, whole.document, whole.sections, clash)
        if number is None:
            return 0
        ids = insert_passages(connection, number, whole.passages, INDEX_NAMES)
        connection.execute(
            "UPDATE document SET word_count = ? WHERE num = ?", (whole.words, number)
        )
        store(connection, models, dict(zip(whole.ids, ids, strict=True)), whole.vectors)
        queue_rest(connection, ids)
    return 1


def _place(chunk_id: int) -> int:
    return chunk_id & ((1 << CHUNK_BITS) - 1)


@dataclass(slots=True)
class _Seen:
    """A document on one side."""

    path: str
    added_at: int
    digest: str = ""
    passages: int = 0
    vectors: dict[tuple[str, int, str], bytes] = field(default_factory=dict)


def compare_documents(source: Database, target: Tenancy) -> tuple[Compared, ...]:
    """Compare documents, their passages and vectors, read anew from both. Raises StoreError."""
    with source.read() as old:
        file = _seen(old, "f16", lambda vector: vector)
    with target.read() as new:
        server = _seen(new, "halfvec_send(vector)", as_file)
    known = as_it_should_be(file, server, lambda one: one.added_at)
    differing = [one for one, here in file.items() if known.get(one, _NONE).digest != here.digest]
    digests = _overall(file, file), _overall(file, known)
    same = file.keys() - set(differing)
    passages = sum(one.passages for one in file.values())
    return (
        Compared(
            "documents", len(file), len(same), digests, tuple(file[one].path for one in differing)
        ),
        Compared("parts of documents", passages, sum(file[one].passages for one in same), digests),
        compared_vectors("vectors of documents", _all_vectors(file), _all_vectors(known)),
    )


_NONE: Final = _Seen("", 0)


def _seen(
    connection: Connection, vector: str, as_kept: Callable[[bytes], bytes]
) -> dict[str, _Seen]:
    """Read all documents of one side, by their ids."""
    found = {}
    for number, *row in connection.execute(_DOCUMENTS).fetchall():
        ids = range_of(number)
        one = found[row[0]] = _Seen(row[1], row[4])
        digest = blake2b(repr(tuple(row)).encode(errors="backslashreplace"), digest_size=16)
        chunks = connection.execute(_CHUNKS, ids).fetchall()
        terms = connection.execute(_TERMS, ids).fetchall()
        placeless = [(_place(chunk_id), *rest) for chunk_id, *rest in (*chunks, *terms)]
        for section in (*connection.execute(_SECTIONS, (number,)), *placeless):
            digest.update(repr(tuple(section)).encode(errors="backslashreplace"))
        one.digest, one.passages = digest.hexdigest(), len(chunks)
        for chunk_id, name, sent in connection.execute(_VECTORS.format(vector=vector), ids):
            key = (row[0], _place(chunk_id), name)
            one.vectors[key] = blake2b(as_kept(sent), digest_size=16).digest()
    return found


def _all_vectors(side: Mapping[str, _Seen]) -> dict[tuple[str, int, str], bytes]:
    return {key: value for one in side.values() for key, value in one.vectors.items()}


def _overall(order: Iterable[str], side: Mapping[str, _Seen]) -> str:
    return overall(side.get(one, _NONE).digest for one in order)
