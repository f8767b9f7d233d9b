"""On the page, too, "yes" answers the question that the agent asked."""

import pytest

from ...agents.openai_server import FakeProvider, Text
from .conftest import Visitor

POD = "the pod gets OOMKilled every hour"
RAISE = "The pod uses 480Mi of its 256Mi limit. Should I raise the memory limit to 512Mi?"


@pytest.mark.parametrize("yes", ["yes do it", "go ahead", "Yes, raise it", "k", "yes"])
def test_a_yes_on_the_page_does_what_the_reply_asks(
    yes: str, visitor: Visitor, model: FakeProvider
) -> None:
    model.play(Text(RAISE), Text("raised at last"))
    session = visitor.send_form("/chat/send", message=POD).url.params["session"]
    page = visitor.send_form("/chat/send", message=yes, session=session).text
    asked = model.asked[1]
    assert asked.messages[0]["content"].startswith("# Code executor")
    assert "raise the memory limit to 512Mi" in asked.newest
    assert "raised at last" in page


def test_the_page_offers_the_answers_to_a_question(visitor: Visitor, model: FakeProvider) -> None:
    model.play(Text(RAISE))
    page = visitor.send_form("/chat/send", message=POD).text
    assert ">Yes, do it</button>" in page


def test_a_no_on_the_page_starts_nothing(visitor: Visitor, model: FakeProvider) -> None:
    model.play(Text(RAISE))
    session = visitor.send_form("/chat/send", message=POD).url.params["session"]
    page = visitor.send_form("/chat/send", message="no", session=session).text
    assert "Nothing was started; nothing has changed." in page
    assert len(model.asked) == 1
