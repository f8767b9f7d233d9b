"""Conversations of one workspace: apart from each other, or joined to what went before."""

import pytest

from kds.api.conversations import Conversations
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


def test_a_joined_conversation_that_inherits_nothing_begins_empty_and_reports_back(
    conversations: Conversations,
) -> None:
    conversations.route("I want to add a FAB button", conversation="first", join=True)
    turn = conversations.route("Make it purple", conversation="new", join=True, inherit=False)
    assert (turn.context, turn.expanded) == ((), "Make it purple")
    shared = [entry.user_message for entry in conversations.journal().load().entries]
    assert shared == ["I want to add a FAB button", "Make it purple"]
