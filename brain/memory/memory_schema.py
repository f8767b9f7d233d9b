"""The tables of the memory in a file: `schema/` has the steps that make them.

`message` holds every text once: a chunk is a slice of its message, and what the index knows of a
chunk is a view. The index notes in which column of which chunk a word stands, not where in it,
which keeps it at .45 of the messages' size (it was 1.17). A session's chunks are one range of ids,
so that a search in one conversation is a search in a range. Times are microseconds since 1970.

Steps: 1 conversations; 2 items of a LangGraph store that KDS had; 3 the index neither repeats the
messages before a chunk nor knows what the system said (LoCoMo's recall@10 stays at .823); 4 what
periodic summaries mean; 5 the items go.
"""

from pathlib import Path
from typing import Final

from kds.brain.passages.passage_schema import WITHOUT_VECTOR
from kds.brain.store.migrations import FileKind, scripts

CONTRADICTIONS: Final = {
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
"""What may not be, in either engine, and the question that counts how often it is."""

MEMORY: Final = FileKind(
    "the memory",
    0x4B44534D,  # 'KDSM'
    rebuild="kds memory check --rebuild",
    migrations=scripts(Path(__file__).parent / "schema"),
    contradictions=CONTRADICTIONS,
)
