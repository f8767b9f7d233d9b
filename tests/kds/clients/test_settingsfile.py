"""Our entries in settings of the user: whatever is there survives, in any order of events."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kds.clients.json_edit import insert, parse_json_text, remove
from kds.clients.settings_file import SettingsFile, SettingsFileError, hook_settings, mcp_server
from kds.clients.table import hook_command

EVENTS = ("UserPromptSubmit", "SessionStart", "Stop", "SessionEnd", "PreCompact")
SERVER = mcp_server("kds", style="claude")
HOOK_PAGE = Path(__file__).parents[3] / "docs" / "hook.md"


def _wanted(program: str = "kds-hook") -> dict[str, object]:
    hooks = hook_settings(hook_command(program), style="claude")["hooks"]
    assert isinstance(hooks, dict)
    return {event: hooks[event][0] for event in EVENTS}


_handlers = st.fixed_dictionaries(
    {"type": st.just("command"), "command": st.sampled_from(["echo hi", "my-hook", "kds-hooker"])}
)
_groups = st.fixed_dictionaries(
    {"hooks": st.lists(_handlers, max_size=2)}, optional={"matcher": st.sampled_from(["", "Bash"])}
)
_hooks = st.dictionaries(
    st.sampled_from([*EVENTS, "PreToolUse"]), st.lists(_groups, max_size=2), max_size=3
)
_others = st.dictionaries(
    st.sampled_from(["model", "permissions", "env"]), st.sampled_from([1, "x", {"a": []}, []])
)
_servers = st.dictionaries(
    st.sampled_from(["github", "db"]), st.just({"command": "npx", "args": ["-y", "x"]})
)


@st.composite
def _settings(draw: st.DrawFn) -> dict[str, Any]:
    """Settings as people have them, with and without hooks and servers."""
    value: dict[str, Any] = dict(draw(_others))
    if draw(st.booleans()):
        value["hooks"] = draw(_hooks)
    if draw(st.booleans()):
        value["mcpServers"] = draw(_servers)
    return {key: value[key] for key in draw(st.permutations(sorted(value)))}


_texts = st.builds(
    lambda value, indent, end: json.dumps(value, indent=indent) + end,
    _settings(), st.sampled_from([None, 2, 4, "\t"]), st.sampled_from(["", "\n"]),
)  # fmt: skip


def _set(settings: SettingsFile, program: str = "kds-hook") -> None:
    settings.set_hooks(_wanted(program))
    settings.set_server("mcpServers", SERVER)


@given(_texts, st.lists(st.sampled_from(["init", "moved", "add", "drop", "undo"]), max_size=6))
def test_any_order_of_init_undo_and_edits_leaves_what_the_user_wrote(
    text: str, steps: list[str]
) -> None:
    settings = SettingsFile("s.json", text)
    expected = parse_json_text(text).value()
    for number, step in enumerate(steps):
        if step in ("init", "moved"):
            _set(settings, "kds-hook" if step == "init" else "/opt/kds-hook")
        elif step == "undo":
            settings.take_out_all()
        elif step == "add":
            settings.text = insert(settings.text, (), f"mine{number}", {"a": number})
            expected[f"mine{number}"] = {"a": number}
        elif expected and next(iter(expected)) not in ("hooks", "mcpServers"):
            first = next(iter(expected))
            settings.text = remove(settings.text, (first,))
            del expected[first]
    settings.take_out_all()
    left, wanted = _without_empty(parse_json_text(settings.text).value()), _without_empty(expected)
    assert left == wanted
    assert list(left) == list(wanted)


def _without_empty(value: dict[str, Any]) -> dict[str, Any]:
    """Settings without the containers that an undo takes along because they hold nothing else."""
    if "hooks" in value:
        value["hooks"] = {event: groups for event, groups in value["hooks"].items() if groups}
    return {key: part for key, part in value.items() if part or key not in ("hooks", "mcpServers")}


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
