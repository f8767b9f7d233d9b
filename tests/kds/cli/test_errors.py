"""Errors of the command line as a program reads them, and the fixes it suggests."""

import json
import os
import pty
import subprocess
from contextlib import suppress
from pathlib import Path

import pytest

from ..conftest import BAD_INPUT, KDS, Run, data, refused

pytestmark = pytest.mark.usefixtures("workspace")


def _broken_prompts(workspace: Path) -> Path:
    own = workspace / "prompts" / "internal"
    own.mkdir(parents=True)
    (own / "mine.md").write_text("---\nname: mine\ndescripton: x\npriority: high\n---\nHello\n")
    return own / "mine.md"


@pytest.mark.parametrize(
    ("arguments", "message", "hint"),
    [
        (["route", "--json", " "], "the message is empty", "write what you want"),
        (["route", "--json", "--workspace", "nowhere", "x"], "no such folder", "--workspace"),
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


def test_with_json_a_wrong_file_is_told_with_all_its_problems(
    kds_call: Run, workspace: Path
) -> None:
    path = _broken_prompts(workspace)
    result = kds_call("route", "--json", "Make it purple")
    told = json.loads(result.out)["error"]
    assert result.code == BAD_INPUT
    assert told["where"] == told["problems"][0]["where"]
    assert {problem["where"] for problem in told["problems"]} >= {f"{path}:3", f"{path}:4"}


def test_a_check_of_prompts_lists_its_problems_in_its_report(
    kds_call: Run, workspace: Path
) -> None:
    path = _broken_prompts(workspace)
    result = kds_call("prompts", "check", "--json")
    problems = json.loads(result.out)["error"]["problems"]
    assert result.code == BAD_INPUT
    assert {"where": f"{path}:3", "message": "unknown key 'descripton'",
            "hint": "did you mean 'description'?"} in problems  # fmt: skip
    assert f"{path}:3" in result.err
    assert "descripton" in result.err
    assert "did you mean 'description'?" in result.err


@pytest.mark.parametrize(
    ("file", "text", "line", "hint"),
    [
        ("rules/mine.yaml", "- id: mine\n", 1, "rules:"),
        ("english/people.yaml", "nouns:\n  bosun\n  Skipper\n", 3, "write 'skipper'"),
    ],
)
def test_a_check_of_rules_lists_its_problems_in_its_report(
    file: str, text: str, line: int, hint: str, kds_call: Run, workspace: Path
) -> None:
    path = workspace / "kds-brain" / file
    path.parent.mkdir(parents=True)
    path.write_text(text)
    told = data(kds_call("rules", "check", "--json"), BAD_INPUT)["error"]
    (problem,) = told["problems"]
    assert problem["where"] == f"{path}:{line}"
    assert hint in problem["hint"]


@pytest.mark.parametrize(
    "arguments", [["context", "load"], ["context", "load", "--path"]], ids=" ".join
)
def test_a_home_that_is_not_there_is_no_empty_workspace(
    arguments: list[str], kds_call: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KDS_HOME", str(tmp_path / "nowhere"))
    refused(kds_call(*arguments), "no such folder", "check $KDS_HOME")


def test_an_intent_that_no_agent_has_is_a_fault_of_the_dialogue_file(
    kds_call: Run, workspace: Path
) -> None:
    path = workspace / "fab.dialogue.yaml"
    path.write_text("- id: fab\n  turns:\n    - {user: Make it purple, intent: EXECUT}\n")
    refused(
        kds_call("test", str(path)), f"{path}:3: unknown intent 'EXECUT'", "did you mean EXECUTE?"
    )


def shown_on_a_terminal(*arguments: str, folder: Path) -> str:
    """What a command writes to a terminal."""
    end, inner = pty.openpty()
    process = subprocess.Popen([*KDS, *arguments], cwd=folder, stdout=inner, stderr=inner)
    os.close(inner)
    shown = b""
    with suppress(OSError):  # nobody writes to it any more
        while piece := os.read(end, 4096):
            shown += piece
    os.close(end)
    process.wait()
    return shown.decode()


def test_a_cloned_project_does_not_get_at_the_terminal(workspace: Path) -> None:
    rules = workspace / "kds-brain" / "rules"
    rules.mkdir(parents=True, exist_ok=True)
    (rules / "a\x1b]0;title\x07.yaml").write_text("rules: []")
    (rules / "b.yaml").write_text('"\\e[2Jkey\\u202e\\r": 1')
    shown = shown_on_a_terminal("rules", "list", folder=workspace)
    assert r"a\u001b]0;title\u0007.yaml" in shown
    assert r"\u001b[2Jkey\u202e\u000d" in shown
    assert "\x1b[1;31mkds:" in shown
