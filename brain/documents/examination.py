"""Examining the document store, and counting what it holds."""

from typing import Final

from kds.brain.database.database import Database
from kds.brain.database.database_file import all_files, size_of
from kds.brain.database.health import file_problems, index_problems
from kds.brain.database.migrations import version_of
from kds.brain.documents.document_values import Holdings
from kds.brain.passages.values import Check

_CONTRADICTIONS: Final = {
    "documents count their sections wrong": (
        "SELECT count(*) FROM document WHERE section_count <> "
        "(SELECT count(*) FROM section WHERE document_num = document.num)"
    ),
    "documents count their passages wrong": (
        "SELECT count(*) FROM document WHERE chunk_count <> (SELECT count(*) FROM chunk "
        "JOIN section ON section.num = chunk.section_num WHERE document_num = document.num)"
    ),
    "passages stand outside the range of their document": (
        "SELECT count(*) FROM chunk JOIN section ON section.num = chunk.section_num "
        "WHERE chunk.id >> 24 <> document_num"
    ),
    "passages reach beyond their section": (
        "SELECT count(*) FROM chunk JOIN section ON section.num = chunk.section_num "
        "WHERE start < 0 OR start + length > length(text)"
    ),
    "passages have neither a vector nor a job": (
        "SELECT count(*) FROM chunk JOIN embedding_model AS model ON model.wanted "
        "WHERE NOT EXISTS (SELECT 1 FROM embed_job WHERE chunk_id = chunk.id) "
        "AND NOT EXISTS (SELECT 1 FROM embedding "
        "WHERE chunk_id = chunk.id AND model_num = model.num)"
    ),
}


def examine(database: Database) -> Check:
    """Examine file, index and counters. Raises StoreError when the file cannot be read."""
    problems: list[str] = []
    with database.read() as connection:
        problems += file_problems(connection)
        for what, query in _CONTRADICTIONS.items():
            if count := connection.execute(query).fetchone()[0]:
                problems.append(f"{what}: {count}")
    if not database.read_only:
        problems += index_problems(database)
    return Check(tuple(dict.fromkeys(problems)))


def holdings(database: Database) -> Holdings:
    """Count what the store holds."""
    with database.read() as connection:
        documents, sections, chunks, tokens = connection.execute(
            "SELECT count(*), coalesce(sum(section_count), 0), coalesce(sum(chunk_count), 0), "
            "coalesce(sum(token_count), 0) FROM document"
        ).fetchone()
        version = version_of(connection)
    size = sum(map(size_of, all_files(database.path)))
    return Holdings(documents, sections, chunks, tokens, size, version)
