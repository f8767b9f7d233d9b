"""What was said before, out of the transcripts of assistants."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kds.brain.turn import Utterance
from kds.transcripts.json_lines import CUT, KEPT, READ_BYTES, read_transcript

from .conftest import RECORDED
from .test_readers import MENDED

Entry = dict[str, Any]


def _claude(role: str, content: Any, **more: Any) -> Entry:
    return {"type": role, "message": {"role": role, "content": content}, **more}


def _file(folder: Path, *entries: Entry) -> str:
    path = folder / "transcript.jsonl"
    path.write_text("".join(json.dumps(entry) + "\n" for entry in entries))
    return str(path)


@pytest.mark.parametrize("client", ["claude", "codex", "copilot", "gemini"])
def test_a_recorded_session_is_read(client: str) -> None:
    [path] = (RECORDED / client).rglob("*.jsonl")
    said = read_transcript(str(path))
    assert said[0] == Utterance("Which staging port do we use?")
    assert said[2:] == (Utterance("Run the tests"), Utterance(MENDED, "assistant"))


def test_what_a_client_adds_and_the_prompt_itself_are_left_out(tmp_path: Path) -> None:
    entries = (
        {"type": "summary", "summary": "Maps"},
        _claude("user", "caveat", isMeta=True),
        _claude("assistant", "of a subagent", isSidechain=True),
        _claude("user", "Add a map"),
        _claude("assistant", [{"type": "text", "text": "I'll add it."}]),
        _claude("assistant", [{"type": "tool_use", "name": "Edit", "input": {}}]),
        _claude("user", [{"type": "tool_result", "content": "ok"}]),
        _claude("assistant", [{"type": "text", "text": "Done."}]),
        _claude("user", "Make it wider"),
    )
    said = read_transcript(_file(tmp_path, *entries), prompt="Make it wider ")
    assert said == (Utterance("Add a map"), Utterance("I'll add it.\nDone.", "assistant"))


def test_of_a_long_reply_head_and_tail_are_kept_and_of_a_long_chat_its_end(tmp_path: Path) -> None:
    turns = [
        _claude(role, f"{n} " + "x" * 5000) for n in range(60) for role in ("user", "assistant")
    ]
    said = read_transcript(_file(tmp_path, *turns))
    assert len(said) == KEPT
    assert said[-1].text.startswith("59 x")
    assert CUT in said[-1].text


def test_only_the_end_of_a_large_file_is_read(tmp_path: Path) -> None:
    path = Path(_file(tmp_path, _claude("user", "first"), _claude("user", "x" * READ_BYTES)))
    with path.open("a") as file:
        file.write(json.dumps(_claude("user", "last")) + "\n")
    assert read_transcript(str(path)) == (Utterance("last"),)


def test_links_pipes_and_what_is_not_a_file_are_not_read(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(_file(tmp_path, _claude("user", "Add a map")))
    os.mkfifo(tmp_path / "pipe")
    for path in ("", "/no/such/file", "/", "x\x00y", f"{tmp_path}/link", f"{tmp_path}/pipe"):
        assert read_transcript(path) == (), path


@given(
    st.binary(max_size=300)
    | st.recursive(
        st.none() | st.text() | st.integers(),
        lambda inner: (
            st.lists(inner)
            | st.dictionaries(st.sampled_from(["type", "message", "content", "text"]), inner)
        ),
    )
)
def test_any_file_can_be_read(tmp_path_factory: pytest.TempPathFactory, value: Any) -> None:
    path = tmp_path_factory.getbasetemp() / "any.jsonl"
    if not isinstance(value, bytes):
        value = json.dumps({"type": "user", "message": value}).encode() + b"\n"
    path.write_bytes(value)
    read_transcript(str(path))
