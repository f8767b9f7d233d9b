"""The clarifying question, in both generations of the protocol, and without anybody to ask."""

from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client
from mcp_types import ClientCapabilities, ElicitationCapability, ElicitResult
from mcp_types import FormElicitationCapability as Form
from mcp_types import UrlElicitationCapability as Url

from kds.brain.workspace import Workspace
from kds.mcp.mcp_server import KdsServer
from kds.mcp.tools import can_ask, question_form

from .conftest import VAGUE, Connect, Talk

GENERATIONS = ("legacy", "2026-07-28")


def entries(talk: Talk, conversation: str) -> list[tuple[str, str]]:
    found = talk.data("context_load", conversation=conversation)["entries"]
    return [(entry["user_message"], entry["intent"]) for entry in found]


@pytest.mark.parametrize("mode", GENERATIONS)
def test_the_user_is_asked_and_the_choice_is_routed(connect: Connect, mode: str) -> None:
    talk = connect(mode)
    message = talk.vague()
    talk.asked.answers.append(ElicitResult(action="accept", content={"intent": "PLAN"}))
    routed = talk.data("route_message", message=message, conversation=f"accept {mode}")
    assert (routed["action"], routed["intent"], routed["clarification"]) == (
        "route", "PLAN", "accepted",
    )  # fmt: skip
    assert entries(talk, f"accept {mode}") == [(message, "PLAN")]
    [question] = talk.asked.questions
    assert question.message.startswith("Did you mean to ")
    choices = question.requested_schema["properties"]["intent"]["oneOf"]
    assert {"const": "PLAN", "title": "plan something new"} in choices


@pytest.mark.parametrize("mode", GENERATIONS)
@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        (ElicitResult(action="decline"), "declined"),
        (ElicitResult(action="cancel"), "cancelled"),
        (ElicitResult(action="accept", content={"intent": "DANCE"}), "unanswered"),
        (ElicitResult(action="accept"), "unanswered"),
    ],
)
def test_without_a_choice_the_question_comes_back_and_can_be_answered_later(
    connect: Connect, mode: str, answer: ElicitResult, outcome: str
) -> None:
    talk = connect(mode)
    message = talk.vague()
    talk.asked.answers.append(answer)
    name = f"{outcome} {answer.content} {mode}"
    routed = talk.data("route_message", message=message, conversation=name)
    assert (routed["action"], routed["clarification"]) == ("clarify", outcome)
    assert routed["question"]
    later = talk.data("route_message", message="the first one", conversation=name)
    assert (later["action"], later["intent"]) == ("route", routed["candidates"][0])


@pytest.mark.parametrize("mode", GENERATIONS)
def test_a_client_that_cannot_ask_gets_the_question_as_text(connect: Connect, mode: str) -> None:
    talk = connect(mode, can_ask=False)
    message = talk.vague()
    result = talk.call("route_message", message=message, conversation=f"no form {mode}")
    routed: Any = result.structured_content
    assert (routed["action"], routed["clarification"]) == ("clarify", "unsupported")
    assert "then call route_message with the answer" in routed["next_step"]
    assert routed["question"]
    assert routed["candidates"]
    assert len(entries(talk, f"no form {mode}")) == 1


@pytest.mark.parametrize("mode", GENERATIONS)
def test_nothing_is_remembered_of_a_question_without_logging(connect: Connect, mode: str) -> None:
    talk = connect(mode)
    message = talk.vague()
    talk.asked.answers.append(ElicitResult(action="accept", content={"intent": "PLAN"}))
    routed = talk.data("route_message", message=message, log=False, conversation=f"quiet {mode}")
    assert routed["intent"] == "PLAN"
    assert entries(talk, f"quiet {mode}") == []


@pytest.mark.anyio
async def test_an_answer_that_never_comes_is_not_waited_for(fitted_workspace: Path) -> None:
    released = anyio.Event()

    async def hesitate(context: Any, params: Any) -> ElicitResult:
        await released.wait()
        return ElicitResult(action="accept", content={"intent": "PLAN"})

    server = KdsServer(Workspace.find(fitted_workspace), answer_s=0.05)
    async with Client(server, mode="legacy", elicitation_callback=hesitate) as client:
        for text in VAGUE:
            result = await client.call_tool("route_message", {"message": text})
            routed = result.structured_content
            if routed["action"] == "clarify":
                break
        released.set()
    assert (routed["action"], routed["clarification"]) == ("clarify", "unanswered")


def test_a_client_of_the_old_generation_gets_plain_choices_with_names() -> None:
    choices = {"PLAN": "plan something new", "TEST": "run the tests"}
    form = question_form("Did you mean?", choices, "2025-06-18").params.requested_schema
    assert form["properties"]["intent"]["enum"] == ["PLAN", "TEST"]
    assert form["properties"]["intent"]["enumNames"] == ["plan something new", "run the tests"]


@pytest.mark.parametrize(
    ("declared", "able"),
    [
        (None, False),
        (ClientCapabilities(), False),
        (ClientCapabilities(elicitation=ElicitationCapability()), True),
        (ClientCapabilities(elicitation=ElicitationCapability(form=Form())), True),
        (ClientCapabilities(elicitation=ElicitationCapability(url=Url())), False),
    ],
)
def test_only_a_client_that_shows_forms_is_asked(
    declared: ClientCapabilities | None, able: bool
) -> None:
    assert can_ask(declared) is able
