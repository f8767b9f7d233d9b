"""What was said before, out of the transcripts of assistants."""

import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kds.brain.turn import Utterance
from kds.hooks.transcript import CUT, KEPT, READ_BYTES, _messages, read_transcript


def _claude(role: str, content: Any, **more: Any) -> dict[str, Any]:
    return {"type": role, "message": {"role": role, "content": content}, **more}


def _file(folder: Path, *entries: dict[str, Any]) -> str:
    path = folder / "transcript.jsonl"
    path.write_text("".join(json.dumps(entry) + "\n" for entry in entries))
    return str(path)


def test_messages_and_replies_of_claude_code_come_in_order(tmp_path: Path) -> None:
    path = _file(
        tmp_path,
        {"type": "summary", "summary": "Buttons"},
        _claude("user", "Add a FAB button"),
        _claude("assistant", [{"type": "text", "text": "I'll add it."}]),
        _claude("assistant", [{"type": "tool_use", "name": "Edit", "input": {}}]),
        _claude("user", [{"type": "tool_result", "content": "ok"}]),
        _claude("assistant", [{"type": "text", "text": "Done: src/fab.ts."}]),
    )
    assert read_transcript(path) == (
        Utterance("Add a FAB button"),
        Utterance("I'll add it.\nDone: src/fab.ts.", "assistant"),
    )


def test_the_events_of_the_copilot_cli_are_understood(tmp_path: Path) -> None:
    path = _file(
        tmp_path,
        {"type": "user.message", "data": {"content": "Add a map"}},
        {"type": "assistant.message", "data": {"content": "Added."}},
    )
    assert [one.role for one in read_transcript(path)] == ["user", "assistant"]


def test_the_lines_of_codex_are_understood(tmp_path: Path) -> None:
    def item(role: str, kind: str, text: str) -> dict[str, Any]:
        content = [{"type": kind, "text": text}]
        payload = {"type": "message", "role": role, "content": content}
        return {"type": "response_item", "payload": payload}

    path = _file(
        tmp_path,
        {"type": "session_meta", "payload": {"id": "s"}},
        item("developer", "input_text", "You are"),
        item("user", "input_text", "<environment_context>/x</environment_context>"),
        item("user", "input_text", "Add a map"),
        item("developer", "input_text", 'KDS: "it" probably means "the map".'),
        {"type": "event_msg", "payload": {"type": "agent_message", "message": "Added."}},
        item("assistant", "output_text", "Added."),
    )
    assert read_transcript(path) == (Utterance("Add a map"), Utterance("Added.", "assistant"))


def test_the_lines_of_gemini_are_understood(tmp_path: Path) -> None:
    path = _file(
        tmp_path,
        {"$set": {"messages": [{"type": "user", "content": [{"text": "<session_context>"}]}]}},
        {"type": "user", "content": [{"text": "<session_context>\nToday"}]},
        {"type": "user", "content": [{"text": "Add a map"}, {"text": "<hook_context>KDS"}]},
        {"type": "gemini", "content": "Added.", "thoughts": []},
    )
    assert read_transcript(path) == (Utterance("Add a map"), Utterance("Added.", "assistant"))


def test_the_prompt_itself_meta_lines_and_side_chains_are_left_out(tmp_path: Path) -> None:
    path = _file(
        tmp_path,
        _claude("user", "caveat", isMeta=True),
        _claude("assistant", "of a subagent", isSidechain=True),
        _claude("user", "Add a map"),
        _claude("user", "Make it wider"),
    )
    assert read_transcript(path, prompt="Make it wider ") == (Utterance("Add a map"),)


def test_of_a_long_reply_head_and_tail_are_kept_and_of_a_long_chat_its_end(tmp_path: Path) -> None:
    turns = [
        _claude(role, f"{n} " + "x" * 5000) for n in range(60) for role in ("user", "assistant")
    ]
    said = read_transcript(_file(tmp_path, *turns))
    assert len(said) == KEPT
    assert said[-1].text.startswith("59 x")
    assert CUT in said[-1].text


@pytest.mark.parametrize("copies", [1, 3])
def test_a_large_paste_does_not_hide_what_was_said_around_it(tmp_path: Path, copies: int) -> None:
    paste = "pasted line of a log\n" * 5_000
    noise = {"type": "tool.execution_complete", "data": {"result": paste}}
    entries: list[dict[str, Any]] = []
    for number in range(12):
        asked = f"Look at {number}" + (f"\n{paste}" if number == 10 else "")
        entries.append({"type": "user.message", "data": {"content": asked}})
        entries += [noise] * (copies if number == 10 else 0)
        entries.append({"type": "assistant.message", "data": {"content": f"Looked at {number}."}})
    said = read_transcript(_file(tmp_path, *entries))
    assert [one.text.split("\n")[0] for one in said] == [
        text for number in range(2, 12) for text in (f"Look at {number}", f"Looked at {number}.")
    ]


@given(st.lists(st.text("ab\u00e9", max_size=40), max_size=30), st.integers(1, 90))
def test_the_lines_of_a_file_come_backwards_whatever_the_blocks_are(
    lines: list[str], block: int
) -> None:
    with (
        tempfile.TemporaryDirectory() as folder,
        patch("kds.hooks.transcript.BLOCK_BYTES", block),
    ):
        said = [_claude("user", f"x{line}") for line in lines[-KEPT:]]
        found = read_transcript(_file(Path(folder), *said))
    assert [one.text for one in found] == [f"x{line}" for line in lines[-KEPT:]]


def test_only_the_end_of_a_large_file_is_read(tmp_path: Path) -> None:
    path = Path(_file(tmp_path, _claude("user", "first"), _claude("user", "x" * READ_BYTES)))
    with path.open("a") as file:
        file.write(json.dumps(_claude("user", "last")) + "\n")
    assert read_transcript(str(path)) == (Utterance("last"),)


@pytest.mark.parametrize("path", ["", "/no/such/file", "/", "x\x00y"])
def test_anything_but_a_file_is_not_a_transcript(path: str) -> None:
    assert read_transcript(path) == ()


@pytest.mark.skipif(sys.platform == "win32", reason="links and pipes")
def test_links_and_pipes_are_not_read(tmp_path: Path) -> None:
    path = _file(tmp_path, _claude("user", "Add a map"))
    (tmp_path / "link").symlink_to(path)
    os.mkfifo(tmp_path / "pipe")
    assert read_transcript(str(tmp_path / "link")) == ()
    assert read_transcript(str(tmp_path / "pipe")) == ()


@given(st.binary(max_size=300))
def test_any_bytes_are_read_without_a_fault(content: bytes) -> None:
    assert all(role in ("user", "assistant") for role, _ in _messages(content.split(b"\n")))


@given(
    st.recursive(
        st.none() | st.text() | st.integers(),
        lambda inner: (
            st.lists(inner)
            | st.dictionaries(st.sampled_from(["type", "message", "content", "text"]), inner)
        ),
    )
)
def test_any_json_is_read_without_a_fault(value: Any) -> None:
    list(_messages([json.dumps({"type": "user", "message": value}).encode()]))
    list(_messages([json.dumps(value).encode()]))
