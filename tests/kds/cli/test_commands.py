"""The commands that need no router: help, context, prompts; and how every error looks."""

import json
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from kds.cli.guard import guarded
from kds.cli.main import app

from ...effort import PATIENCE_S
from ..conftest import BAD_INPUT, KDS, Run, data, refused
from .terminals import Terminal

pytestmark = pytest.mark.usefixtures("workspace")

MANAGER = "#file:KDS/prompts/internal/conversation-context-manager.md"


def _commands(
    command: click.Command, path: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    yield path, command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            child = command.get_command(context, name)
            assert child is not None
            yield from _commands(child, (*path, name))


COMMANDS = dict(_commands(app))


@pytest.mark.parametrize("path", COMMANDS, ids=lambda path: " ".join(path) or "kds")
def test_every_command_explains_itself_and_its_options_with_an_example(
    path: tuple[str, ...], kds_call: Run
) -> None:
    result = kds_call(*path, "--help")
    assert result.code == 0
    assert "Example" in result.out
    assert "kds " + " ".join(path) in result.out
    options = [one for one in COMMANDS[path].params if isinstance(one, click.Option)]
    assert [one.name for one in options if not one.help] == []


@pytest.mark.parametrize(
    ("arguments", "message", "fix"),
    [
        (["Make it purple"], "no such command 'Make it purple'", "try kds route 'Make it purple'"),
        (["context", "log", "--message", "x", "--intent", "EXECUT"], "EXECUT", "mean EXECUTE?"),
        (["prompts", "show", "work-planer"], "no prompt file", "did you mean 'work-planner'?"),
        (["import"], "no such command 'import'", "try kds --help"),
        (["test", "nowhere.yaml"], "no such file", "check the path"),
        (["--jsonn"], "no such option '--jsonn'", "kds status --json"),
        (["make", "it", "purple"], "no such command 'make'", "try kds route 'make it purple'"),
        (["init", "--client", "vs-code"], "'vs-code' is not one of", "see kds init --help"),
        ([f"{MANAGER} lod"], "invalid choice: 'lod' (choose from 'load'", "as in: log"),
        ([f'{MANAGER} log --message "open'], "cannot be read", ""),
        (["#file:KDS/prompts/internal/work-planer.md hello"], "no prompt file", "did you mean"),
        (["#file:KDS/prompts/user/kds.md"], "message is empty", "write"),
        (["route", "#file:prompts/internal/clear-conversation.md"], "takes no message", "#file:"),
        (["learn", "teach", "x = load(y)", "PLAN"], "holds code", "prompt file"),
        (["learn", "teach", "open the page", "PLAM"], "unknown intent", "did you mean PLAN?"),
        (["learn", "undo", "12345678"], "no learned example", "kds learn list"),
        (["learn", "undo", "--last"], "nothing to undo", "kds learn list"),
        (["learn", "undo"], "name what to take back", "--last"),
        (["metrics", "--since", "yesterday"], "invalid duration", "36h, 30d or 2w"),
        (["metrics", "--since", "31d"], "longer than measurements are kept", "at most 30d"),
        (["forget", "--restore", "lunch"], "no backup 'lunch'", "there is none"),
        (["forget", "--keep", "rules"], "rules", ""),
        (["service", "nope"], "No such command", "has: logs, start, status, stop"),
        (["memory", "search", " "], "the question is empty", "kds memory search WORDS"),
        (["config", "set", "memory.enable", "on"], "no setting", "did you mean memory.enabled?"),
        (["config", "set", "idle", "5"], "no setting 'idle'", "did you mean service.idle_minutes?"),
        (["- fix the list"], "no such command '- fix", "try kds route '- fix the list'"),
        (["help", "context", "lod"], "no command or page", "kds help topics"),
        (["config", "set", "rewriting.mode", "loud"], "'rules-first'", ""),
        (["config", "set", "rewriting.mod", "x"], "no setting", "did you mean rewriting.mode?"),
        (["config", "set", "model.name", "ollama:x"], "cannot set 'model'", "--own"),
        (["config", "set", "recall.embeddings", "mine:Model"], "cannot be set here", ""),
        (["config", "unset", "rewriting.mode"], "is not set", ""),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_bad_usage_is_one_line_and_its_fix_on_stderr_and_changes_nothing(
    arguments: list[str], message: str, fix: str, kds_call: Run, workspace: Path
) -> None:
    refused(kds_call(*arguments), message, fix)
    made = {one.name for one in workspace.glob("kds-brain/*")}
    assert made.isdisjoint({"settings.yaml", "conversation-context.jsonl", "memory.db"})


@pytest.mark.parametrize(
    ("arguments", "message", "hint"),
    [
        (["route", "--json", " "], "the message is empty", "write what you want"),
        (["route", "--json", "--workspace", "nowhere", "x"], "no such folder", "check --workspace"),
        (["route", "--json", "--jsn", "x"], "--jsn", "see kds route --help"),
        (["rout", "--json", "x"], "no such command 'rout'", "try kds route"),
        (["memory", "lst", "--json"], "No such command 'lst'", "kds memory has: check, cleanup"),
        (["memory", "show", "nope", "--json"], "no session 'nope'", "memory.enabled on"),
        (["context", "log", "--json"], "--message", "see kds context log --help"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_with_json_an_error_is_one_json_object_on_stdout_and_text_on_stderr(
    arguments: list[str], message: str, hint: str, kds_call: Run
) -> None:
    result = kds_call(*arguments)
    told = json.loads(result.out)["error"]
    assert result.code == BAD_INPUT
    assert set(told) == {"message", "where", "hint"}
    assert message in told["message"]
    assert hint in told["hint"]
    assert result.err.startswith("kds: ")
    assert message in result.err
    assert f"  fix: {told['hint']}" in result.err


def test_closed_and_full_streams_are_not_faults_of_kds(workspace: Path) -> None:
    kds = shlex.join(KDS)
    for line, code in (
        (f"{kds} context load >&-", 0), (f"{kds} context load <&-", 0),
        (f"{kds} context load > /dev/full", BAD_INPUT), (f"{kds} prompts list | true", 0),
    ):  # fmt: skip
        done = subprocess.run(
            ["bash", "-c", line], cwd=workspace, capture_output=True, timeout=PATIENCE_S
        )
        assert (line, done.returncode) == (line, code)
        assert b"Traceback" not in done.stderr
        assert b"internal error" not in done.stderr
        assert not ("|" in line and done.stderr)


def test_a_fault_in_kds_is_one_line_without_a_traceback(capsys: pytest.CaptureFixture[str]) -> None:
    def break_down() -> None:
        raise ZeroDivisionError("oh\nno")

    assert guarded(break_down) == 70
    assert capsys.readouterr().err == (
        "kds: internal error: ZeroDivisionError: oh no\n"
        "  fix: run it again with KDS_DEBUG=1 for the trace, and report that\n"
    )


def test_a_message_that_was_logged_is_loaded_again_and_a_damaged_line_is_a_warning(
    kds_call: Run, workspace: Path
) -> None:
    logged = kds_call(
        "context", "log", "--message", "Make it purple", "--intent", "execute", "--context-ref",
        "FAB button", "--session-id", "fab-button-20251103", "--json",
    )  # fmt: skip
    assert logged.code == 0
    loaded = data(kds_call("context", "load", "--json"))
    (entry,) = loaded["entries"]
    assert list(entry) == ["timestamp", "user_message", "intent", "session_id", "context_ref"]
    assert (entry["user_message"], entry["intent"]) == ("Make it purple", "EXECUTE")
    assert entry["timestamp"].endswith("Z")
    assert "Make it purple" in kds_call("context", "load").out
    (workspace / "kds-brain" / "conversation-context.jsonl").write_text("{broken\n")
    result = kds_call("context", "load", "--json")
    assert json.loads(result.out) == {"entries": []}
    assert result.code == 0
    assert result.err.startswith("kds: ")
    assert "set aside" in result.err


def test_a_home_that_is_not_there_is_refused_and_json_is_ascii_where_the_stream_is(
    kds_spawn: Run,
) -> None:
    for arguments in (["context", "load"], ["context", "load", "--path"]):
        missing = kds_spawn(*arguments, KDS_HOME="/nowhere/at/all")
        refused(missing, "no such folder", "check $KDS_HOME")
    kds_spawn("context", "log", "--message", "Färbe 🎨", "--intent", "EXECUTE")
    result = kds_spawn("context", "load", "--json", PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    assert result.out.isascii()
    assert json.loads(result.out)["entries"][0]["user_message"] == "Färbe 🎨"


def test_files_that_are_wrong_are_told_with_all_their_problems(
    kds_call: Run, workspace: Path
) -> None:
    path = workspace / "prompts" / "internal" / "mine.md"
    path.parent.mkdir(parents=True)
    path.write_text("---\nname: mine\ndescripton: x\npriority: high\n---\nHello\n")
    result = kds_call("prompts", "check", "--json")
    told = data(result, BAD_INPUT)["error"]
    assert told["where"] == told["problems"][0]["where"]
    assert {problem["where"] for problem in told["problems"]} >= {f"{path}:3", f"{path}:4"}
    assert {"where": f"{path}:3", "message": "unknown key 'descripton'",
            "hint": "did you mean 'description'?"} in told["problems"]  # fmt: skip
    assert f"{path}:3: unknown key 'descripton'" in result.err
    assert "did you mean 'description'?" in result.err
    routed = kds_call("route", "Add a footer", "--json")  # it goes on without that file
    assert data(routed)["agent"] == "work-planner"
    assert f"{path}:3: unknown key 'descripton'" in routed.err


def test_a_cloned_project_does_not_get_at_the_terminal(workspace: Path) -> None:
    rules = workspace / "kds-brain" / "rules"
    rules.mkdir(parents=True, exist_ok=True)
    (rules / "a\x1b]0;title\x07.yaml").write_text("rules: []")
    (rules / "b.yaml").write_text('"\\e[2Jkey\\u202e\\r": 1')
    with Terminal(*KDS, "rules", "list", folder=workspace) as terminal:
        shown = terminal.rest()
    assert r"a\u001b]0;title\u0007.yaml" in shown
    assert r"\u001b[2Jkey\u202e\u000d" in shown
    assert "\x1b[1;31mkds:" in shown
