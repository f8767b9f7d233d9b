"""Which prompts the hook leaves alone."""

import pytest

from kds.hooks.prompt import is_for_routing


@pytest.mark.parametrize(
    "prompt",
    [
        "Make it purple",
        "  \n Make it purple",
        "/etc/hosts is wrong",
        "/setup.py does not run",
        "/usr/bin",
        "#file:src/app.py why is it slow?",
        "#file:README.md fix the typos",
        "#file:my-kds/notes.md sum it up",
        "#files are too many",
        "@src/app.py explain",
        "# A heading",
        "KDS: where was I?",
        "<div> is not closed",
        "what does <task-notification> mean?",
        "see prompts/user/kds.md",
    ],
)
def test_words_of_a_person_are_routed(prompt: str) -> None:
    assert is_for_routing(prompt)


@pytest.mark.parametrize(
    "prompt",
    [
        "",
        " \n\t",
        "/",
        "/ help",
        "/compact",
        " /kds:plan a FAB button",
        "/mcp__kds__work-planner add a FAB button",
        "/commit\nwith a message",
        "!ls -l",
        "#file:KDS/prompts/user/kds.md I want to add a FAB button",
        "#FILE: 'KDS/prompts/user/kds.md' Make it purple",
        '#file:"C:\\work dir\\KDS\\prompts\\internal\\code-executor.md" go on',
        "#file:kds.md Make it purple",
        "#file:prompts/internal/conversation-context-manager.md load",
        "@KDS/prompts/user/kds.md Make it purple",
        'KDS: "Make it purple" means "Make the FAB button purple" (EXECUTE 0.93).',
        "<task-notification>\n<task-id>7</task-id>\n</task-notification>",
        '<teammate-message teammate_id="lead">wrap up</teammate-message>',
        "Another Claude session sent a message:\n<cross-session-message>x",
    ],
)
def test_commands_and_what_nobody_typed_are_left_alone(prompt: str) -> None:
    assert not is_for_routing(prompt)
