"""`kds init` asks once whether past sessions are to be brought in, and only a person."""

import sys
from pathlib import Path

import pytest

from kds.transcripts.catalogue import AssistantMemory

from ..cli.terminals import Terminal
from ..clients.conftest import Snapshot
from ..conftest import KDS, Run, data

QUESTION = "Import past sessions of your assistants about this repository"
INIT = ("init", "--client", "claude")
DECIDED = "8080 is taken by the proxy"


def at_a_terminal(folder: Path, *steps: str, options: tuple[str, ...] = ()) -> None:
    """Run `kds init` at a terminal: what is waited for, and what is typed then, in turn."""
    with Terminal(*KDS, *INIT, *options, folder=folder) as terminal:
        for number, step in enumerate(steps):
            if number % 2:
                terminal.type(step)
            else:
                terminal.wait_for(step)
        assert terminal.process.wait() == 0


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
def test_who_agrees_has_past_sessions_imported_and_is_asked_once(shop: Path, kds_call: Run) -> None:
    at_a_terminal(shop, QUESTION, "y\n", "16 messages imported")
    assert DECIDED in kds_call("recall", "which port has staging?").out
    at_a_terminal(shop, "nothing to change")


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
def test_a_user_who_declines_has_nothing_read_and_is_not_asked_again(shop: Path) -> None:
    at_a_terminal(shop, QUESTION, "n\n", "kds memory import")
    at_a_terminal(shop, "nothing to change")
    assert not AssistantMemory().exists


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
@pytest.mark.parametrize("option", ["--no-import", "--dry-run"])
def test_a_user_who_says_no_before_or_only_looks_is_not_asked(shop: Path, option: str) -> None:
    at_a_terminal(shop, "claude (named)", options=(option,))
    assert not AssistantMemory().exists


def test_without_a_terminal_nothing_is_imported_unless_asked_for(shop: Path, kds_call: Run) -> None:
    assert QUESTION not in kds_call(*INIT).out
    assert not AssistantMemory().exists
    assert "imported" not in data(kds_call(*INIT, "--json"))
    told = data(kds_call(*INIT, "--import", "--json"))
    assert sum(told["imported"]["messages"].values()) == 16
    assert DECIDED in kds_call("recall", "which port has staging?").out


def test_undo_gives_back_every_byte_and_says_how_to_forget(shop: Path, kds_call: Run) -> None:
    (shop / ".claude").mkdir()
    settings = '{\n  "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "x"}]}]}\n}'
    (shop / ".claude" / "settings.json").write_text(settings)
    before = Snapshot.of(shop)
    kds_call(*INIT, "--import")
    assert Snapshot.of(shop) != before
    told = kds_call("init", "--undo").out
    assert Snapshot.of(shop) == before
    assert "kds memory delete --project . --yes" in told
    assert DECIDED in kds_call("recall", "which port has staging?").out
