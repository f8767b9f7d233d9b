"""What ran in a session after its prompts, and which names were said in vain."""

import json
from pathlib import Path

from kds.activation.uses import Uses
from kds.brain.workspace import Workspace
from kds.transcripts.json_lines import Followed


def test_a_name_said_while_the_transcript_is_read_counts_when_it_is_read_next(
    tmp_path: Path,
) -> None:
    (tmp_path / "kds-brain").mkdir()
    uses, session = Uses(Workspace.find(tmp_path)), Followed()
    path = tmp_path / "session.jsonl"
    typed = {"type": "user", "message": {"role": "user", "content": "thanks"}}
    path.write_text(json.dumps(typed) + "\n")
    session.name("write the notes", "release-notes")
    before = session.last_named()
    session.name("ship it", "deploy")  # beside the next prompt, before the thread has read
    session.learn("claude", path, lambda _: True, uses, before)
    assert [(use.entry, use.outcome) for use in uses.read()] == [("release-notes", "ignored")]
    session.learn("claude", path, lambda _: True, uses, session.last_named())
    assert [use.entry for use in uses.read()] == ["release-notes", "deploy"]
