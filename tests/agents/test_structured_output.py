"""Structured replies: what the front matter declares under `output`, or none at all."""

from collections.abc import Callable

import pytest
from langchain_core.language_models import BaseChatModel
from langchain_core.language_models.fake_chat_models import FakeListChatModel
from langchain_core.tools import tool

from kds.agents import Agent, ModelError, Usage

from .openai_server import Calls, Data, FakeProvider, Text

MakeAgent = Callable[..., Agent]
SIZER = """\
---
name: task-sizer
description: Sizes a task.
intent: SIZE
{more}output:
  type: object
  properties:
    hours: {{type: integer, minimum: 1}}
    risk: {{enum: [low, high]}}
  required: [hours, risk]
  additionalProperties: false
inputs: [expanded]
---
How long does this take: {{{{ expanded }}}}
"""


@tool
def count_files() -> int:
    """Count the files."""
    return 12


@pytest.fixture
def sizer(make_agent: MakeAgent) -> Agent:
    return make_agent("task-sizer", SIZER.format(more=""))


def test_the_reply_has_the_declared_fields(
    sizer: Agent, model: BaseChatModel, provider: FakeProvider
) -> None:
    provider.play(Data({"hours": 3, "risk": "low"}))
    reply = sizer.as_runnable(model).invoke("dark mode")
    assert reply.data == {"hours": 3, "risk": "low"}
    assert reply.usage == Usage(12, 5, 17)
    schema = provider.asked[0].body["response_format"]["json_schema"]["schema"]
    assert schema["required"] == ["hours", "risk"]


@pytest.mark.parametrize(
    "answer", [Text("About three hours."), Text("[1, 2]"), Data({"hours": 0}), Text("")]
)
def test_data_that_does_not_fit_is_none_with_a_note(
    sizer: Agent, model: BaseChatModel, provider: FakeProvider, answer: Text | Data
) -> None:
    provider.play(default=answer)
    reply = sizer.as_runnable(model).invoke("dark mode")
    assert (reply.data, len(provider.asked)) == (None, 1)
    assert reply.notes[0].startswith("no data: the answer does not fit the output schema")
    assert isinstance(answer, Data) or reply.text == answer.text


def test_tools_come_before_the_data(
    make_agent: MakeAgent, model: BaseChatModel, provider: FakeProvider
) -> None:
    agent = make_agent("task-sizer", SIZER.format(more="tools: [count_files]\n"))
    runnable = agent.as_runnable(model, tools=[count_files])
    provider.play(Calls(("count_files", {})), Text("Three."), Data({"hours": 3, "risk": "low"}))
    reply = runnable.invoke("dark mode")
    assert (reply.data, reply.tools[0].result) == ({"hours": 3, "risk": "low"}, "12")
    assert "response_format" in provider.asked[2].body


def test_a_model_without_structured_output_is_named(sizer: Agent) -> None:
    with pytest.raises(ModelError, match="FakeListChatModel gives no structured output"):
        sizer.as_runnable(FakeListChatModel(responses=["x"])).invoke("dark mode")
