"""Two terminals in one project share one context file, and keep to their own lines of it."""

import json
import shlex
import sys
from pathlib import Path

import pytest

from ..conftest import FAB, Run, data, said_in
from .terminals import Terminal

pytestmark = pytest.mark.usefixtures("fitted_workspace")


class Shell(Terminal):
    """A shell at a terminal of its own."""

    def __init__(self) -> None:
        super().__init__("/bin/sh", "-i", folder=Path.cwd())

    def kds(self, *arguments: str) -> str:
        """Type a command; what it prints to a file, so that echo and prompts are left out."""
        command = shlex.join([sys.executable, "-m", "kds", *arguments])
        told = Path(f"told-{self.process.pid}")
        self.type(f"{command} > {told} 2>&1; echo DO''NE\n")
        self.wait_for("DONE")
        return told.read_text(encoding="utf-8")

    def route(self, message: str) -> str:
        said: str = json.loads(self.kds("route", message, "--json"))["expanded"]
        return said


def test_references_of_one_terminal_never_resolve_to_the_other(fitted_workspace: Path) -> None:
    with Shell() as one, Shell() as other:
        one.route(FAB)
        assert other.route("Make it blue") == "Make it blue"
        other.route("Create a login page")
        assert one.route("Make it purple") == "Make the FAB button purple"
        assert "Make the login page responsive" in other.kds("ask", "Make it responsive")
        whose = one.kds("context", "load")
        assert ("here" in whose, "terminal" in whose) == (True, True)
    file = fitted_workspace / "kds-brain" / "conversation-context.jsonl"
    origins = [json.loads(line)["origin"] for line in file.read_text().splitlines()]
    assert (len(origins), len(set(origins))) == (5, 2)


def test_a_context_of_its_own_is_apart_from_that_of_the_workspace(
    kds_call: Run, fitted_workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kds_call("route", FAB)
    kds_call("route", "--context", "docs", "Create a login page")
    monkeypatch.setenv("KDS_CONTEXT", "docs")
    assert (
        data(kds_call("route", "Make it blue", "--json"))["expanded"] == "Make the login page blue"
    )
    loaded = data(kds_call("context", "load", "--json"))["entries"]
    assert [one["user_message"] for one in loaded] == ["Create a login page", "Make it blue"]
    monkeypatch.delenv("KDS_CONTEXT")
    assert said_in(fitted_workspace) == [FAB]
