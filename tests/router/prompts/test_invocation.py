from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kds.brain.errors import DispatchError
from kds.router.prompts.invocation import (
    CLEAR_CONVERSATION,
    CONTEXT_MANAGER,
    ContextCommand,
    Invocation,
    parse_invocation,
)
from kds.router.prompts.library import PromptLibrary

MANAGER = "#file:KDS/prompts/internal/conversation-context-manager.md"
UNREAD = "the command on the context cannot be read"


def error(text: str, library: PromptLibrary) -> str:
    with pytest.raises(DispatchError) as caught:
        parse_invocation(text, library)
    assert caught.value.hint
    return f"{caught.value.message} | {caught.value.hint}"


@pytest.mark.parametrize(
    "path",
    [
        "prompts/user/kds.md",
        "./KDS/prompts/user/kds.md",
        "/home/me/prompts/KDS/prompts/user/kds.md",
        r"C:\My Work\KDS\Prompts\User\kds.md",
        '"/home/my work/KDS/prompts/user/kds.md"',
        "'KDS/prompts/user/kds.md'",
        "kds.md",
    ],
)
def test_the_path_may_be_written_in_any_way(path: str, library: PromptLibrary) -> None:
    found = parse_invocation(f"#file:{path} Make it purple", library)
    assert found == Invocation("prompts/user/kds.md", "Make it purple")


@pytest.mark.parametrize(
    "text",
    [
        "Make it purple",
        "see #file:KDS/prompts/user/kds.md",
        "#file:src/app.py what is this?",
        "#file:prompts/greeting.txt improve this",
        "#file:docs/kds.md what is this?",
        "#file:",
        "",
    ],
)
def test_other_text_is_an_ordinary_message(text: str, library: PromptLibrary) -> None:
    assert parse_invocation(text, library) is None


@given(st.text(), st.sampled_from(["", "#file:", f"{MANAGER} ", "#file:KDS/prompts/"]))
def test_any_text_is_read_or_refused(library: PromptLibrary, text: str, prefix: str) -> None:
    with suppress(DispatchError):
        parse_invocation(prefix + text, library)


def test_the_log_command_of_the_source_is_read(library: PromptLibrary) -> None:
    text = f'{MANAGER} log --message "Make it purple" --intent EXECUTE --context-ref "FAB button"'
    found = parse_invocation(text, library)
    command = ContextCommand("log", "Make it purple", "EXECUTE", "FAB button")
    assert found is not None
    assert (found.ref, found.command) == (CONTEXT_MANAGER, command)


def test_load_and_clear_stand_alone(library: PromptLibrary) -> None:
    loaded = parse_invocation(f"{MANAGER} load", library)
    assert loaded is not None
    assert (loaded.ref, loaded.command) == (CONTEXT_MANAGER, ContextCommand("load"))
    found = parse_invocation("#file:KDS/prompts/internal/clear-conversation.md", library)
    assert found == Invocation(CLEAR_CONVERSATION, "", ContextCommand("clear"))
    assert "takes no text" in error("#file:clear-conversation.md now", library)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("#file:KDS/prompts/user/kdss.md x", "no prompt file 'KDS/prompts/user/kdss.md' | did"),
        ("#file:KDS/promts/user/kds.md x", "no prompt file 'KDS/promts/user/kds.md' | did you"),
        (f"{MANAGER} lod", f"{UNREAD}: argument operation: invalid choice: 'lod'"),
        (f"{MANAGER} log", f"{UNREAD}: 'log' needs --message | as in: log --message"),
        (f"{MANAGER} log --message x", f"{UNREAD}: 'log' needs --intent"),
        (f"{MANAGER} log --mesage x", f"{UNREAD}: unrecognized arguments: --mesage x"),
        (f"{MANAGER} log --message --intent PLAN", f"{UNREAD}: argument --message: expected one"),
        (f"{MANAGER} log --message 'a", f"{UNREAD}: no closing quotation; quote texts"),
        (f"{MANAGER} log --message a --intent PLAM", "unknown intent 'PLAM' | did you mean PLAN?"),
        (f"{MANAGER} clear --message a", f"{UNREAD}: 'clear' takes no options"),
    ],
)
def test_what_is_wrong_is_said_with_the_fix(
    text: str, expected: str, library: PromptLibrary
) -> None:
    assert error(text, library).startswith(expected)
