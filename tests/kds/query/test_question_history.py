"""The part of a conversation that counts, from every client."""

from hypothesis import given
from hypothesis import strategies as st

from kds.query.reading import REPLIES_READ, known_before, said_before, within_contract
from kds.transit.history import Message

MESSAGES = st.lists(
    st.builds(Message, st.sampled_from(("user", "assistant")), st.text(max_size=900)), max_size=60
)


@given(MESSAGES)
def test_all_that_the_user_said_is_read_and_only_recent_replies(messages: list[Message]) -> None:
    kept = within_contract(messages)
    said = said_before(kept)
    assert [one.text for one in said if one.role == "user"] == [
        one.content for one in kept if one.role == "user"
    ]
    first_reply = next((i for i, one in enumerate(said) if one.role == "assistant"), len(said))
    assert sum(one.role == "user" for one in said[first_reply:]) < REPLIES_READ
    assert list(said).count(said[-1]) if said else True


def test_what_was_referred_to_is_brought_up_once_its_message_has_gone() -> None:
    messages = [Message("user", "What is the late fee?"), Message("assistant", "The login form.")]
    brought = known_before(["late fee", "login form"], messages)
    assert [one.text for one in brought] == ["Use the login form"]
