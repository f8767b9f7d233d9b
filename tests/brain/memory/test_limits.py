"""What the memory may take: time of the processor, which no other program changes, and room."""

import json
from pathlib import Path

from kds.api.embeddings import embed_waiting
from kds.brain.memory.memory_store import SqliteStore
from kds.brain.passages.recall import recall

from ...effort import bounded
from ..document_recall_conformance import LetterEmbedder

CHATS = Path(__file__).parents[2] / "chats"
RECALL_S = 0.2
"""Of one recall: what its 95th percentile may take by the clock on an idle machine."""
MB_PER_MESSAGE = 0.01
"""1 MB for 100 messages, and 1 GB for 100,000."""


def test_recalls_and_messages_stay_within_their_limits(tmp_path: Path) -> None:
    lines = "".join(path.read_text("utf-8") for path in sorted(CHATS.glob("*.jsonl"))).splitlines()
    with SqliteStore(tmp_path / "memory.db") as store:
        for turns in (json.loads(line)["turns"] for line in lines):
            session = store.create_session().id
            for turn in turns:
                store.append(session, "user", turn["user"])
                store.append(session, "assistant", turn.get("assistant") or "Done.")
        model = LetterEmbedder()
        embed_waiting(store, model)
        held = store.stats()
        assert held.messages > 4000
        assert held.size_bytes / 2**20 < MB_PER_MESSAGE * held.messages
        asked = [json.loads(line)["turns"][-1]["user"] for line in lines[::10]]
        with bounded("the recalls", cpu_s=2 * RECALL_S * len(asked)):
            for question in asked:
                recall(store, question, embedder=model)
                recall(store, question, session=session, embedder=model)
