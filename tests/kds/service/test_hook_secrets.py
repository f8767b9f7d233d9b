"""`hook.secrets`: what holds a secret is stopped before it leaves, through the hook itself."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ..conftest import said_in
from .conftest import run_hook

PROMPT = "Deploy it with DB_PASSWORD=Yzll-cgTAOG9\nand then restart the shop"
COPY = "Deploy it with DB_PASSWORD=[secret: password]\nand then restart the shop"

CLIENTS: dict[str, dict[str, Any]] = {
    "claude": {"hook_event_name": "UserPromptSubmit", "session_id": "s"},
    "codex": {"hook_event_name": "UserPromptSubmit", "session_id": "s", "turn_id": "1"},
    "gemini": {"hook_event_name": "BeforeAgent", "session_id": "s"},
    "copilot": {"sessionId": "s"},
    "cursor": {"hook_event_name": "beforeSubmitPrompt", "conversation_id": "s"},
    "opencode": {"hook_event_name": "UserPromptSubmit", "session_id": "s", "client": "opencode"},
}

Ask = Callable[..., Any]


@pytest.fixture
def ask(root: Path) -> Ask:
    """Ask the hook with the setting at a level."""

    def ask(level: str, **given: Any) -> Any:
        (root / "kds-brain/settings.yaml").write_text(f"hook: {{secrets: {level}}}\n")
        return run_hook(root, **given)

    return ask


@pytest.mark.parametrize("client", CLIENTS)
def test_a_prompt_with_a_secret_is_stopped_and_a_copy_without_it_is_given(
    client: str, root: Path, ask: Ask
) -> None:
    told = ask("block", prompt=PROMPT, **CLIENTS[client])
    reason = told["user_message" if client == "cursor" else "reason"]
    assert "holds a secret (password)" in reason
    assert COPY in reason
    assert "Yzll" not in json.dumps(told)
    if client == "cursor":
        assert told["continue"] is False
    else:
        assert told["decision"] == "block"
    if client == "codex":
        assert set(told) == {"decision", "reason"}, "Codex refuses other keys"
    if client == "claude":
        assert told["hookSpecificOutput"]["suppressOriginalPrompt"] is True
    if client == "opencode":
        assert told["prompt"] == COPY
    assert said_in(root) == [], "what was stopped is not remembered"


@pytest.mark.parametrize("client", CLIENTS)
def test_a_warning_lets_the_prompt_through(client: str, root: Path, ask: Ask) -> None:
    told = ask("warn", prompt=PROMPT, **CLIENTS[client])
    assert "decision" not in told
    assert told.get("continue", True) is True
    assert said_in(root) == [COPY]
    if client in ("copilot", "cursor", "opencode"):  # they show the user nothing of a hook
        text = told.get("additionalContext") or told["additional_context"]
        assert text == (
            "KDS: the prompt holds a secret (password); the user may not have meant to send it."
        )
    else:
        assert COPY in told["systemMessage"]
        assert "Yzll" not in json.dumps(told)
        assert "hookSpecificOutput" not in told


def test_a_hint_comes_beside_a_warning(ask: Ask) -> None:
    assert ask("warn", prompt="I want to add a FAB button", **CLIENTS["claude"]) is None
    told = ask("warn", prompt="Make it purple, token: Yzll-cgTAOG9", **CLIENTS["claude"])
    assert told["hookSpecificOutput"]["additionalContext"].startswith('KDS: "it" probably means')
    assert "[secret: token]" in told["systemMessage"]


@pytest.mark.parametrize(
    ("prompt", "said"),
    [
        ("/deploy token: Yzll-cgTAOG9", "/deploy token: [secret: token]"),
        ("!export TOKEN=Yzll-cgTAOG9", "!export TOKEN=[secret: token]"),
        ("why does @deploy/.env.local fail?", "the file deploy/.env.local"),
        ("why does @deploy/.env.local fail?", "why does deploy/.env.local fail?"),
        (COPY, ""),
        ("<task-notification>DB_PASSWORD=Yzll-cgTAOG9</task-notification>", ""),
        ("see @.env.example", ""),
        ("mail me@prod.env", ""),
        ("add .env to .gitignore", ""),
    ],
)
def test_what_holds_a_secret_is_stopped_each_time(prompt: str, said: str, ask: Ask) -> None:
    for _ in range(2 if said else 1):
        told = ask("block", prompt=prompt, **CLIENTS["claude"])
        assert (told and told["decision"]) == ("block" if said else None)
        assert not said or said in told["reason"]
    assert ask("off", prompt=prompt, **CLIENTS["claude"]) is None


def test_of_a_long_prompt_the_lines_are_named(ask: Ask) -> None:
    prompt = "a line of a log\n" * 10_000 + "DB_PASSWORD=Yzll-cgTAOG9\n"
    told = ask("block", prompt=prompt, **CLIENTS["claude"])
    assert "DB_PASSWORD=[secret: password]" in told["reason"]
    assert len(told["reason"]) < 2_000


@pytest.mark.usefixtures("root")
@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("settings.yaml", "hook: {secrets: off}"),
        ("settings.yaml", "hook: {secrets: warn}"),
        ("settings.yaml", "hook: ]"),
        ("rules/mine.yaml", "hook: ]"),
    ],
)
def test_no_cloned_project_switches_off_what_the_user_asks_for_nor_does_one_that_does_not_load(
    name: str, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own, cloned = tmp_path / "own.yaml", tmp_path / "cloned"
    own.write_text("hook: {secrets: block}\n")
    monkeypatch.setenv("KDS_CONFIG", str(own))
    theirs = cloned / "kds-brain" / name
    theirs.parent.mkdir(parents=True)
    theirs.write_text(f"{text}\n")
    assert run_hook(cloned, prompt="Add a map", **CLIENTS["claude"]) is None
    assert run_hook(cloned, prompt=PROMPT, **CLIENTS["claude"])["decision"] == "block"
    assert run_hook(cloned, **READING["claude"])["permissionDecision"] == "deny"


def reads(tool: str, **arguments: Any) -> dict[str, Any]:
    return {
        "hook_event_name": "PreToolUse",
        "session_id": "s",
        "tool_name": tool,
        "tool_input": arguments,
    }


READING: dict[str, dict[str, Any]] = {
    "claude": reads("Read", file_path="/shop/.env"),
    "claude's shell": reads("Bash", command="cd api && cat .env.production | head -3"),
    "codex": {**reads("Bash", command="sed -n 1,20p .env"), "turn_id": "1"},
    "copilot": {"sessionId": "s", "toolName": "view", "toolArgs": {"path": "/shop/.env"}},
    "copilot's text": {"sessionId": "s", "toolName": "view", "toolArgs": '{"path": "a/.env"}'},
    "gemini": {
        "hook_event_name": "BeforeTool", "session_id": "s", "tool_name": "read_many_files",
        "tool_input": {"paths": ["README.md", ".env"]},
    },
    "cursor": {"hook_event_name": "beforeReadFile", "conversation_id": "s", "file_path": "/a/.env"},
    "cursor's shell": {
        "hook_event_name": "beforeShellExecution", "conversation_id": "s", "command": "cat .env",
    },
}  # fmt: skip


@pytest.mark.parametrize("name", READING)
def test_reading_a_file_of_secrets_is_refused(name: str, ask: Ask) -> None:
    told = ask("block", **READING[name])
    if name.startswith("cursor"):
        assert told["permission"] == "deny"
        reason = told["agent_message"]
    elif name == "gemini":
        assert told["decision"] == "deny"
        reason = told["reason"]
    else:
        inner = told["hookSpecificOutput"]
        assert (inner["hookEventName"], inner["permissionDecision"]) == ("PreToolUse", "deny")
        reason = inner["permissionDecisionReason"]
    assert ".env" in reason
    assert "hook.secrets" in reason
    assert ("permissionDecision" in told) is (name not in ("codex", "gemini")
                                              and not name.startswith("cursor"))  # fmt: skip


def test_reading_a_file_of_secrets_is_warned_of_and_goes_on(ask: Ask) -> None:
    assert "/shop/.env" in ask("warn", **READING["claude"])["systemMessage"]
    assert set(ask("warn", **READING["codex"])) == {"systemMessage"}
    assert ask("warn", **READING["cursor"]) is None, "Cursor shows nothing of a call that goes on"


OTHERS = (
    reads("Read", file_path="/shop/src/env.py"),
    reads("Read", file_path="/shop/.env.example"),
    reads("Write", file_path="/shop/.env", content="PORT=1"),
    reads("Edit", file_path="/shop/.env", old_string="a", new_string="b"),
    reads("Grep", pattern=r"\.env", path="/shop/.gitignore"),
    reads("Bash", command="grep -n '\\.env' .gitignore"),
    reads("Bash", command='grep -n ".env" .gitignore'),
    reads("Bash", command="cat > .env <<EOF\nPORT=1\nEOF"),
    reads("Bash", command="cp .env.example .env && ls -la .env"),
    reads("Bash", command="docker run --env-file .env shop"),
    reads("Bash", command="git check-ignore .env; test -f .env"),
    reads("Bash", command="grep -rn -A 3 '\\.env' src"),
    reads("Bash", command="rg -g '*.ts' process.env src"),
    reads("Bash", command="sed -i 's/PORT=1/PORT=2/' .env"),
    reads("Bash", description="nothing"),
)


def test_other_calls_go_on(ask: Ask) -> None:
    assert [call for call in OTHERS if ask("block", **call)] == []


PRINTING = (
    "cat .env", "sudo cat ./.env", "head -5 ~/.netrc", "grep API_KEY .env", "bat 'prod.env'",
    "FOO=1 cat .env", "while read l; do echo $l; done < .env", "echo $(cat .env)",
    "type .env", "Get-Content .env", "/usr/bin/cat config/.env.local", "cat ~/.ssh/id_rsa",
    "jq . secrets.json", "cat ~/.aws/credentials", "cat .env.*", "if true; then cat .env; fi",
)  # fmt: skip


def test_commands_that_print_such_a_file_are_refused(ask: Ask) -> None:
    passed = [one for one in PRINTING if not ask("block", **reads("Bash", command=one))]
    assert passed == []
