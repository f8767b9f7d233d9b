"""Stored control and escape sequences reach neither a terminal nor a pipe as they are."""

import json
from pathlib import Path

import pytest

from kds.brain.memory.memory_store import MemoryPlace
from kds.brain.workspace import Workspace
from kds.cli.terminal import spelt

from ..conftest import Run

pytestmark = pytest.mark.usefixtures("fitted_workspace")

SLY = "safe\x1b]0;owned\x07 \x1b[2J\x9b31m \u202eevil"
COMMANDS = (
    ("memory", "show"), ("memory", "show", "last"), ("memory", "search", "safe evil"),
    ("memory", "export", "last", "--format", "markdown"), ("memory", "export", "last"),
    ("context", "load"), ("context", "load", "--json"), ("memory", "show", "last", "--json"),
)  # fmt: skip


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_pipe_gets_what_was_stored_spelt_out(
    command: tuple[str, ...], fitted_workspace: Path, kds_spawn: Run
) -> None:
    with MemoryPlace.of(
        Workspace(fitted_workspace, fitted_workspace / "kds-brain")
    ).open() as store:
        store.create_session(session_id="s", title=SLY)
        store.append("s", "user", SLY)
    line = {"timestamp": "2999-01-01T00:00:00Z", "user_message": SLY, "intent": SLY,
            "session_id": SLY, "context_ref": SLY}  # fmt: skip
    (fitted_workspace / "kds-brain" / "conversation-context.jsonl").write_text(json.dumps(line))
    done = kds_spawn(*command)
    told = done.out + done.err
    assert "safe" in told or command[0] == "context"
    assert not [one for one in told if one in "\x1b\x07\x9b\u202e"]


def test_a_terminal_gets_colours_and_none_that_hides_text() -> None:
    assert spelt("\x1b[1;36mPLAN\x1b[0m \x1b[38;5;8mgrey\x1b[m") == (
        "\x1b[1;36mPLAN\x1b[0m \\u001b[38;5;8mgrey\x1b[m"
    )
    assert spelt("\x1b[8mhidden") == "\\u001b[8mhidden"
    assert spelt("\x1b[32mok", colours=False) == "\\u001b[32mok"
