"""How the command line looks on a terminal, with NO_COLOR and in a pipe; what neither obeys."""

import io
import json
import re
import sys
from pathlib import Path
from time import sleep

import pytest

from kds.brain.memory.memory_store import SqliteStore
from kds.cli.terminal import slow

from ..conftest import Run

ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


@pytest.fixture
def terminal(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes of the captured streams, which there must be by now, those of a terminal."""
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setattr(type(sys.stdout), "isatty", lambda _: True)


@pytest.fixture
def logged(kds_call: Run, workspace: Path) -> Run:
    kds_call("context", "log", "--message", "Make it purple", "--intent", "EXECUTE")
    return kds_call


def test_a_pipe_gets_no_colour_and_whole_moments(logged: Run) -> None:
    out = logged("context", "load").out
    assert not ANSI.search(out)
    assert re.search(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ  EXECUTE", out)


@pytest.mark.usefixtures("terminal")
@pytest.mark.parametrize("plain", ["", "1"])
def test_a_terminal_gets_local_times_and_colours_but_for_no_color(
    logged: Run, monkeypatch: pytest.MonkeyPatch, plain: str
) -> None:
    monkeypatch.setenv("NO_COLOR", plain)
    out = logged("context", "load").out
    assert ("\x1b[1;36m" in out, bool(ANSI.search(out))) == (not plain, not plain)
    assert re.search(r"\d{4}-\d\d-\d\d \d\d:\d\d  EXECUTE", ANSI.sub("", out))


@pytest.mark.usefixtures("terminal")
def test_an_error_says_its_fix_in_the_palette(kds_call: Run) -> None:
    err = kds_call("nosuch", "thing").err
    assert err.startswith("\x1b[1;31mkds:\x1b[0m no such command")
    assert ANSI.sub("", err).splitlines()[1].startswith("  fix: ")


def test_a_chat_takes_its_first_message_as_an_argument(
    fitted_workspace: Path, kds_call: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO())
    out = kds_call("chat", "I", "want", "to", "add", "a", "FAB", "button").out
    assert out.startswith("message    I want to add a FAB button\n")


SLY = "safe\x1b]0;owned\x07 \x1b[2J\x9b31m \u202eevil"
COMMANDS = (
    ("memory", "show"), ("memory", "show", "last"), ("memory", "search", "safe evil"),
    ("memory", "export", "last", "--format", "markdown"), ("memory", "export", "last"),
    ("context", "load"), ("context", "load", "--json"), ("memory", "show", "last", "--json"),
)  # fmt: skip


def test_a_pipe_gets_what_was_stored_spelt_out(fitted_workspace: Path, kds_spawn: Run) -> None:
    with SqliteStore(fitted_workspace / "kds-brain" / "memory.db") as store:
        store.create_session(session_id="s", title=SLY)
        store.append("s", "user", SLY)
    line = {"timestamp": "2999-01-01T00:00:00Z", "user_message": SLY, "intent": SLY,
            "session_id": SLY, "context_ref": SLY}  # fmt: skip
    (fitted_workspace / "kds-brain" / "conversation-context.jsonl").write_text(json.dumps(line))
    for command in COMMANDS:
        done = kds_spawn(*command)
        told = done.out + done.err
        assert "safe" in told or command[0] == "context"
        assert not set("\x1b\x07\x9b\u202e") & set(told), command


def test_a_terminal_is_told_what_takes_long_and_how_far_it_is(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setattr("kds.cli.terminal.SLOW_S", 0.0)
    with slow("reading") as tell:
        sleep(0.2)  # the spinner is drawn by a thread of its own
        tell("reading [red]a.md", 1, 2)
        sleep(0.2)
    out, err = capsys.readouterr()
    assert (out, "reading [red]a.md 1/2" in err) == ("", True)
    assert err.rstrip().endswith("\x1b[2K"), "the line is erased"
