"""Our entries in settings of the user: whatever is there survives, in any order of events."""

import json
import re
from pathlib import Path

import pytest

from kds.clients.settings_file import SettingsFile, SettingsFileError, hook_settings, mcp_server
from kds.clients.table import hook_command

EVENTS = ("UserPromptSubmit", "SessionStart", "Stop", "SessionEnd", "PreCompact")
SERVER = mcp_server("kds", style="claude")
HOOK_PAGE = Path(__file__).parents[3] / "docs" / "hook.md"


def _wanted(program: str = "kds-hook") -> dict[str, object]:
    hooks = hook_settings(hook_command(program), style="claude")["hooks"]
    assert isinstance(hooks, dict)
    return {event: hooks[event][0] for event in EVENTS}


def _set(settings: SettingsFile, program: str = "kds-hook") -> None:
    settings.set_hooks(_wanted(program))
    settings.set_server("mcpServers", SERVER)


def test_a_hook_that_the_user_tuned_keeps_its_tuning() -> None:
    settings = SettingsFile("s.json", "{}")
    settings.set_hooks(_wanted())
    settings.text = settings.text.replace('"timeout": 5', '"timeout": 9').replace(
        '"hooks": [', '"matcher": "x", "hooks": [', 1
    )
    tuned = settings.text
    settings.set_hooks(_wanted())
    assert settings.text == tuned
    settings.set_hooks(_wanted("/opt/kds-hook"))
    assert settings.text == tuned.replace("kds-hook", "/opt/kds-hook")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[]", "the file is not an object"),
        ('{\n"hooks": []}', "'hooks' is not an object"),
        ('{"hooks": {"UserPromptSubmit": {}}}', "'hooks.UserPromptSubmit' is not an array"),
        ('{"mcpServers": 1}', "'mcpServers' is not an object"),
        ('{"mcpServers": {"kds": {"command": "docker", "args": ["run"]}}}', "it is not this one"),
        ('{"a": 1,', "invalid JSON"),
        ('{"a": 1, "a": 2}', "duplicate key 'a'"),
    ],
)
def test_another_shape_is_refused_with_its_place(text: str, message: str) -> None:
    with pytest.raises(SettingsFileError, match=r"^s\.json:.*\n  fix:") as stop:
        _set(SettingsFile("s.json", text))
    assert message in str(stop.value)


def test_the_page_about_the_hook_shows_the_files_that_init_writes() -> None:
    blocks = re.findall(r"```json\n(.*?)```", HOOK_PAGE.read_text(encoding="utf-8"), re.DOTALL)
    files = [json.loads(block) for block in blocks if '"hooks"' in block]
    command = hook_command()
    assert files == [
        hook_settings(command, style="claude"),
        {"version": 1, **hook_settings(command, style="copilot")},
    ]
    assert list(files[0]["hooks"]) == list(EVENTS)
