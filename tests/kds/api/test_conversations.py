"""Conversations of one workspace: apart from each other, or joined to what went before."""

import pytest

from kds.api.conversations import Conversations
from kds.brain.context.names import NAME_LIMIT, conversation_path
from kds.brain.errors import MessageError
from kds.brain.workspace import Workspace


@pytest.fixture
def conversations(place: Workspace) -> Conversations:
    return Conversations.open(place)


def test_a_joined_conversation_begins_where_the_workspace_stands(
    conversations: Conversations,
) -> None:
    conversations.route("I want to add a FAB button", conversation="first", join=True)
    turn = conversations.route("Make it purple", conversation="second", join=True)
    assert turn.expanded == "Make the FAB button purple"
    again = conversations.route("Make it round", conversation="second", join=True)
    assert again.expanded == "Make the FAB button round"
    shared = [entry.user_message for entry in conversations.journal().load().entries]
    assert shared == ["I want to add a FAB button", "Make it purple", "Make it round"]


@pytest.mark.parametrize("name", ["../../etc/passwd", "a/b", "A" * NAME_LIMIT, "ü\ud800", "x\x00y"])
def test_no_name_leads_out_of_the_folder(place: Workspace, name: str) -> None:
    path = conversation_path(place, name)
    assert path.parent == place.conversations_dir
    assert path.name.isascii()
    assert len(path.name) < 80


@pytest.mark.parametrize("name", ["", "  ", "x" * (NAME_LIMIT + 1)])
def test_an_unusable_name_is_refused(place: Workspace, name: str) -> None:
    with pytest.raises(MessageError, match="1 to 128"):
        conversation_path(place, name)


def test_reloading_sees_a_new_prompt(conversations: Conversations, place: Workspace) -> None:
    folder = place.prompts_dir / "internal"
    folder.mkdir(parents=True)
    packaged = conversations.library.get("work-planner").path.read_text()
    (folder / "work-planner.md").write_text(packaged + "\nAlways say please.\n")
    turn = conversations.reloaded().route("I want to add a FAB button")
    assert "Always say please." in turn.prompt
    assert "Always say please." not in conversations.route("I want to add a FAB button").prompt


def test_a_joined_conversation_that_inherits_nothing_begins_empty_and_reports_back(
    conversations: Conversations,
) -> None:
    conversations.route("I want to add a FAB button", conversation="first", join=True)
    turn = conversations.route("Make it purple", conversation="new", join=True, inherit=False)
    assert (turn.context, turn.expanded) == ((), "Make it purple")
    shared = [entry.user_message for entry in conversations.journal().load().entries]
    assert shared == ["I want to add a FAB button", "Make it purple"]
