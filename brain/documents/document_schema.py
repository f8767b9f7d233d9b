"""The tables of the document store, which are in `tables.sql`.

A section's text stands once; a passage is a slice of it, and what the index knows of it (the
headings, the body, what stands beside it) is a view. The passages of a document are one range of
ids, and a document that is read again gets another range.

``stems`` and ``beside`` are the stems of a passage and of what stands beside it, as `judging` looks
at them: making them anew for each of a hundred passages would take most of a search's time.

The view `session` shows documents as the memory's searches know conversations: outbox, vectors
and full-text search of the memory work on this file too.
"""

from pathlib import Path
from typing import Final

from kds.brain.passages.schema import (
    INDEX_TABLES,
    STATE_TABLE,
    VECTOR_TABLES,
    WITHOUT_VECTOR,
)
from kds.brain.store.migrations import FileKind, read_script

APPLICATION_ID: Final = 0x4B445344
"""'KDSD': says whose file it is."""

CLAUSE: Final = "#"
"""Before the number of a clause among the keys of terms: no word of a term begins so."""

LONGEST_KEY: Final = 500
"""Characters of the key of a term or a number. A server's index takes no more, and nobody asks for
what is longer."""

BEFORE_CHARACTERS: Final = 300
AFTER_CHARACTERS: Final = 150
"""How much of what stands before and behind a passage in its section goes into the index."""


TABLES: Final = read_script(
    Path(__file__).with_name("tables.sql"), before=BEFORE_CHARACTERS, after=AFTER_CHARACTERS
) + (f"{INDEX_TABLES}{VECTOR_TABLES}{STATE_TABLE}\nPRAGMA application_id = {APPLICATION_ID};")
"""Version 1."""

CONTRADICTIONS: Final = {
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
    "passages have neither a vector nor a job": WITHOUT_VECTOR,
}
"""What may not be, in whichever engine, and the question that counts how often it is."""

DOCUMENTS: Final = FileKind(
    "the document store",
    APPLICATION_ID,
    rebuild="kds memory check --rebuild",
    migrations=(TABLES,),
    contradictions=CONTRADICTIONS,
)
