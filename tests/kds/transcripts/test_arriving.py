"""What comes out of a session: a handoff, a model's tools, a line at the start."""

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client

from kds.brain.settings import AssistantSettings, Settings
from kds.brain.workspace import Workspace
from kds.mcp.mcp_server import KdsServer
from kds.mcp.tools import RESULT_TOKENS
from kds.transcripts.arriving import keep_current, keep_session, prompt_line, session_start
from kds.transcripts.catalogue import AssistantMemory, about_tokens
from kds.transcripts.recalling import START_TOKENS, SURE, latest, start_line

from ...effort import PATIENCE_S
from ..conftest import Run, refused
from .conftest import Write, contents, hooked

DECISION = "We use port 8443 for staging because 8080 is taken by the proxy."
ASKED = "Tests pass. Shall I deploy it by hand?"
CODE = "```python\nraise ValueError('we use nothing, because')\n```"


@pytest.fixture
def session(shop: Path, claude: Write) -> None:
    """A session with a decision, an open question and a command that failed before it worked."""
    done = (
        "$ make test\n> collected 3\n! E  ImportError: no x\nedited src/ports.py\n$ make test\n> ok"
    )
    claude(
        "s1-of-the-shop",
        "Move staging to a free port",
        f"{DECISION}\n\n{CODE}",
        "Fine. Run the tests",
        f"{done}\n\n$ make deploy\n! fatal: no credentials\n\n{ASKED}",
        folder=str(shop),
    )


def test_a_handoff_has_goal_decisions_commands_and_questions(session: None, kds_call: Run) -> None:
    kds_call("memory", "import", "--from", "claude")
    text = kds_call("handoff", "--to", "codex", "--session", "s1-of").out
    assert text.startswith("# Handoff to codex: Move staging to a free port")
    parts = dict(part.split("\n", 1) for part in text.split("\n## ")[1:])
    assert parts["Goal"].strip() == "Move staging to a free port"
    assert parts["Decisions"].strip() == f"- {DECISION}"
    assert parts["Files changed"].strip() == "- src/ports.py"
    assert parts["Commands that worked"].strip() == "- make test"
    assert parts["What failed"].strip() == "- make deploy: fatal: no credentials"
    assert parts["Open"].strip() == "- Shall I deploy it by hand?"


def test_what_is_open_is_said_once(shop: Path, claude: Write, kds_call: Run) -> None:
    said = ("Fix the login test", "Fixed. Open: the retry has no limit.", "Add the limit")
    claude("open-one", *said, folder=str(shop))
    kds_call("memory", "import", "--from", "claude")
    assert "- the retry has no limit." in kds_call("handoff", "--session", "open-one").out
    memory = AssistantMemory()
    project = memory.project_of(str(shop))
    assert project is not None
    found = latest(memory, project, session="open-one")
    assert found is not None
    line = start_line(*found)
    assert line.startswith("KDS: the last session here on main (claude, 2026-11-02) ended with")
    assert line.count("Add the limit") == 1
    assert about_tokens(line) <= START_TOKENS
    assert 'Open: "the retry has no limit."' in line


def test_without_sessions_there_is_no_handoff(shop: Path, kds_call: Run) -> None:
    refused(kds_call("handoff"), "no session of this repository is kept", "kds memory import")
    refused(kds_call("handoff", "--session", "x"), "no session 'x' of this repository")


def served(folder: Path) -> Workspace:
    return Workspace(folder, folder / "kds-brain")


def call(folder: Path, tool: str, **arguments: Any) -> Any:
    async def ask() -> Any:
        async with Client(KdsServer(served(folder))) as client:
            if tool == "handoff":
                return (await client.get_prompt(tool, arguments)).messages[0].content.text
            result = await client.call_tool(tool, arguments)
            return result.structured_content

    return anyio.run(ask)


def test_a_tool_finds_a_decision_and_its_session(session: None, shop: Path, kds_call: Run) -> None:
    kds_call("memory", "import", "--from", "claude")
    found = call(shop, "recall", question="why is staging on port 8443?")
    best = found["passages"][0]
    assert DECISION in best["text"]
    assert best["resume"] == "claude --resume s1-of-the-shop"
    assert found["sure"] >= SURE
    assert about_tokens(json.dumps(found)) <= RESULT_TOKENS
    page = call(shop, "recall_session", session=best["session"], message=best["message"])
    assert page["text"].startswith(f"assistant: {DECISION}")
    assert "Shall I deploy it by hand?" in page["text"]
    assert call(shop, "handoff", to="codex").startswith("# Handoff to codex: ")


def test_before_an_import_the_tool_says_what_the_user_can_do(shop: Path) -> None:
    assert "kds memory import" in call(shop, "recall", question="which port?")["notes"][0]


@pytest.fixture
def running(session: None, shop: Path, service: Callable[[], int]) -> Callable[..., str]:
    """A service of the shop's user, and the hook of a client that asks it."""
    service()

    def hook(event: str, **more: str) -> str:
        given = {"session_id": "new", "cwd": str(shop), "hook_event_name": event, **more}
        return str(hooked(given).get("additionalContext", ""))

    return hook


def test_a_session_starts_with_where_the_last_one_stopped_and_prompts_find_what_was_said(
    running: Callable[..., str], shop: Path, claude: Write, kds_call: Run
) -> None:
    assert running("SessionStart", source="startup") == ""  # nothing was ever imported
    kds_call("memory", "import", "--from", "claude")
    assert 'ended with "Run the tests"' in running("SessionStart", source="compact")
    path = claude("s2", "Rename the vault", "Renamed. Shall the docs follow?", folder=str(shop))
    path.write_text(path.read_text().replace("2026-11-02", "2026-12-02"))
    assert "Shall the docs follow?" in running("SessionStart", source="startup")
    for asked in ("As discussed: why is staging on port 8443?", "Like last time, why port 8443?"):
        assert DECISION in running("UserPromptSubmit", prompt=asked)
    assert running("UserPromptSubmit", prompt="Add a dark mode toggle to the settings page") == ""
    assert running("Stop") == ""


def test_a_resumed_session_hears_of_others_since(shop: Path, claude: Write, kds_call: Run) -> None:
    for name, day in (("first", "2026-12-01"), ("second", "2026-12-02")):
        path = claude(name, f"Rename the {name} vault", "Renamed.", folder=str(shop))
        path.write_text(path.read_text().replace("2026-11-02", day))
    kds_call("memory", "import", "--from", "claude")
    assert "second vault" in (session_start(Settings(), str(shop), "first") or "")
    assert session_start(Settings(), str(shop), "second") is None
    assert "first vault" in (session_start(Settings(), str(shop), "second", again=True) or "")


ERROR = "UnicodeEncodeError: 'ascii' codec can't encode character '\\xe9' in position 3"
TRACE = f'Traceback (most recent call last):\n  File "export.py", line 8, in <module>\n{ERROR}'


@pytest.mark.parametrize(
    ("prompt", "quoted"),
    [
        ("which port did we decide on for staging?", "now listens on port 9443"),
        (f"CI says this now:\n{TRACE}", "Mended: the ascii codec came from open()"),
        ("how did we fix the UnicodeEncodeError, ascii codec?", "Mended: the ascii codec came"),
        ("did we already agree on a name for the metrics table?", None),
    ],
)
def test_a_prompt_is_told_what_held_in_the_end(
    shop: Path, claude: Write, kds_call: Run, prompt: str, quoted: str | None
) -> None:
    said = {
        "01": ("Move staging, the proxy took 8080", "Decision: staging listens on port 8443."),
        "02": (
            "Export the orders",
            f"$ python3 export.py\n> Exit code 1\n! {ERROR}\n\nThe export fails.",
            "fix it",
            "$ python3 export.py\n\nMended: the ascii codec came from open(), it is utf-8 now.",
        ),
        "03": (
            "The firewall blocks 8443 for staging",
            "Decision: staging now listens on port 9443 instead of 8443.",
        ),
    }
    for day, texts in said.items():
        path = claude(f"day-{day}", *texts, folder=str(shop))
        path.write_text(path.read_text().replace("2026-11-02", f"2026-11-{day}"))
    kds_call("memory", "import", "--from", "claude")
    line = prompt_line(Settings(), prompt, str(shop))
    assert line is None if quoted is None else quoted in (line or "")


def test_a_command_mended_later_has_not_failed(shop: Path, claude: Write, kds_call: Run) -> None:
    tried = "$ make\n! fatal: no rule\n$ cd src && make && git push\n! fatal: no remote"
    claude("mended", "Build it", tried, "again", "$ make; git push\n> ok", folder=str(shop))
    claude("still", "Build it", tried, folder=str(shop))
    kds_call("memory", "import", "--from", "claude")
    assert "What failed" not in kds_call("handoff", "--session", "mended").out
    told = kds_call("handoff", "--session", "still").out
    assert "- make: fatal: no rule\n- cd src && make && git push: fatal: no remote" in told


def test_what_was_said_last_is_kept_when_a_turn_or_a_session_ends(
    running: Callable[..., str], shop: Path, claude: Write, kds_call: Run
) -> None:
    claude("growing", "Rename the vault", folder=str(shop))
    assert running("Stop", session_id="growing") == ""
    assert not AssistantMemory().exists  # nothing was ever imported
    kds_call("memory", "import", "--from", "claude")
    said = ["Rename the vault"]
    for event in ("Stop", "PreCompact", "SessionEnd"):
        said += [f"{event} one", f"{event} two"]
        claude("growing", *said, folder=str(shop))
        assert running(event, session_id="growing") == ""
        wait_for(said)


def test_the_background_forgets_what_is_too_old(shop: Path, claude: Write, kds_call: Run) -> None:
    path = claude("old", "the zanzibar migration", folder=str(shop))
    path.write_text(path.read_text().replace("2026-11-02", "2001-11-02"))
    kds_call("memory", "import", "--from", "claude")
    settings = Settings(assistants=AssistantSettings(keep_days=3650))
    keep_session(settings, "old")  # while its session goes on
    assert "the zanzibar migration" in contents(AssistantMemory())
    keep_current(settings, now=True)
    assert "the zanzibar migration" not in contents(AssistantMemory())


def wait_for(said: list[str]) -> None:
    """Wait until the background has imported these messages, each once."""
    ends = time.monotonic() + PATIENCE_S
    while (seen := [one for one in contents(AssistantMemory()) if one in said]) != said:
        assert time.monotonic() < ends, seen
        time.sleep(0.05)
