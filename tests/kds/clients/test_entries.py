"""What KDS puts into settings is what its documentation shows."""

import json
import re
from pathlib import Path

from kds.clients.settings.entries import hook_settings, shared_command

PAGE = Path(__file__).parents[3] / "docs" / "hook.md"


def test_the_page_about_the_hook_shows_the_files_that_init_writes() -> None:
    blocks = re.findall(r"```json\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    files = [json.loads(block) for block in blocks if '"hooks"' in block]
    command = shared_command(start=True)
    assert files == [
        hook_settings(command, style="claude"),
        {"version": 1, **hook_settings(command, style="copilot")},
    ]
    events = [list(file["hooks"]) for file in files]
    assert events[0] == ["UserPromptSubmit", "SessionStart"]
    assert events[1] == ["userPromptSubmitted", "sessionStart"]
