"""What an agent asks at the end of its reply is what "yes", "go ahead" and "no" answer."""

import pytest

import kds

from ...agents.openai_server import Text
from .conftest import Chat

POD = "the pod gets OOMKilled every hour"
RAISE = "The pod uses 480Mi of its 256Mi limit. Should I raise the memory limit to 512Mi?"
LONG = "The pod was killed at noon, and restarted at once.\n" * 40 + RAISE


def after(chat: Chat, reply: str, said: str) -> kds.Answer:
    chat.model.play(Text(reply), Text("done"))
    session = chat.open()
    session.ask(POD)
    return session.ask(said)


@pytest.mark.parametrize("reply", [RAISE, LONG], ids=["short", "long"])
@pytest.mark.parametrize(
    "yes",
    "yes please|yes do it|go ahead|sure, go for it|OK do that|do it please!|YES|continue"
    "|sounds good|that works, go ahead|yea go on then".split("|"),
)
def test_a_yes_does_what_the_reply_asks(chat: Chat, reply: str, yes: str) -> None:
    answer = after(chat, reply, yes)
    assert [one.agent for one in answer.replies] == ["code-executor"]
    assert "raise the memory limit to 512Mi" in answer.turn.expanded


@pytest.mark.parametrize("yes", ["yes", "Yes do it", "go ahead", "ok"])
@pytest.mark.parametrize(
    ("question", "intent"),
    [
        ("Shall I commit this?", "COMMIT"),
        ("Shall I commit the changes?", "COMMIT"),
        ("Would you like me to add a test for it, too?", "TEST"),
        ("Want me to add tests for the limit?", "TEST"),
    ],
)
def test_a_yes_goes_to_the_agent_of_the_question(
    chat: Chat, question: str, intent: str, yes: str
) -> None:
    answer = after(chat, f"I raised the limit. {question}", yes)
    assert answer.turn.intent == intent


@pytest.mark.parametrize(
    "no", ["no", "No thanks", "nope", "not now", "don't", "no, leave it", "hold off", "maybe later"]
)
def test_a_no_to_a_proposal_starts_no_agent(chat: Chat, no: str) -> None:
    answer = after(chat, RAISE, no)
    assert (answer.replies, answer.turn.intent) == ((), "UNKNOWN")
    assert answer.text == "Nothing was started; nothing has changed."
