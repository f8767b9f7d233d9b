"""Whether a store is in order: by its own examination, and by counts that must agree."""

from typing import Final

from kds.brain.passages.store import WITHOUT_VECTOR, PassageStore

OF_MEMORIES: Final = {
    "messages are missing in the middle of a session": (
        "SELECT count(*) FROM session WHERE message_count <> "
        "(SELECT count(*) FROM message WHERE session_num = session.num) OR message_count <> "
        "coalesce((SELECT max(seq) FROM message WHERE session_num = session.num), 0)"
    ),
    "sessions count their tokens wrong": (
        "SELECT count(*) FROM session WHERE token_count <> "
        "coalesce((SELECT sum(tokens) FROM message WHERE session_num = session.num), 0)"
    ),
    "chunks stand outside the range of their session": (
        "SELECT count(*) FROM chunk JOIN message ON message.num = chunk.message_num "
        "WHERE chunk.id >> 24 <> session_num"
    ),
    "chunks have neither a vector nor a job": WITHOUT_VECTOR,
    "messages are not cut into chunks": (
        "SELECT count(*) FROM message WHERE role <> 'system' AND trim(replace(replace("
        "content, '\n', ''), '\t', '')) <> '' "
        "AND NOT EXISTS (SELECT 1 FROM chunk WHERE message_num = message.num)"
    ),
}

OF_DOCUMENTS: Final = {
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


def sound(store: PassageStore) -> bool:
    """Tell whether nothing in it contradicts anything else."""
    questions = OF_MEMORIES if store.holders == "session" else OF_DOCUMENTS
    with store.database.read() as connection:
        for what, query in questions.items():
            (count,) = connection.execute(query).fetchone()
            assert count == 0, what
    return store.check().sound
