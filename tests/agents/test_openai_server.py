"""The fake provider does what it says, with the real client."""

from collections.abc import Callable, Iterator

import pytest
from langchain_core.messages import BaseMessageChunk
from langchain_openai import ChatOpenAI
from openai import (
    APIConnectionError,
    APITimeoutError,
    AuthenticationError,
    DefaultHttpxClient,
)

from ..effort import PATIENCE_S  # noqa: TID252  # one way of waiting for all
from .openai_server import Calls, Data, Dead, Failure, FakeProvider, Slow, Stall, Text

Connect = Callable[..., ChatOpenAI]


@pytest.fixture
def connect(provider: FakeProvider) -> Iterator[Connect]:
    """Makes the real client; its connections are closed after the test."""
    with DefaultHttpxClient() as http:

        def client(timeout_s: float = PATIENCE_S) -> ChatOpenAI:
            return ChatOpenAI(
                base_url=provider.url,
                api_key="k",
                model="fake",
                max_retries=0,
                timeout=timeout_s,
                stream_usage=True,
                http_client=http,
            )  # type: ignore[call-arg,arg-type]  # names that pydantic reads

        yield client


def test_it_answers_with_text_and_usage(provider: FakeProvider, connect: Connect) -> None:
    provider.play(Text("Hello to you"))
    answer = connect().invoke("hi")
    assert (answer.text, answer.usage_metadata["total_tokens"]) == ("Hello to you", 17)  # type: ignore[index]
    assert (provider.asked[0].newest, provider.asked[0].key) == ("hi", "k")


def test_it_streams_words_and_tool_calls(provider: FakeProvider, connect: Connect) -> None:
    provider.play(Calls(("recall", {"query": "ab"}), text="Let me see"))
    whole: BaseMessageChunk | None = None
    for chunk in connect().stream("hi"):
        whole = chunk if whole is None else whole + chunk
    assert whole is not None
    assert whole.text == "Let me see"
    assert [call["args"] for call in whole.tool_calls] == [{"query": "ab"}]  # type: ignore[attr-defined]
    assert whole.usage_metadata["output_tokens"] == 5  # type: ignore[attr-defined]


def test_it_gives_structured_output(provider: FakeProvider, connect: Connect) -> None:
    schema = {"title": "answer", "type": "object", "properties": {"n": {"type": "integer"}}}
    provider.play(Data({"n": 3}), Data({"n": 4}))
    client = connect()
    assert client.with_structured_output(schema).invoke("hi") == {"n": 3}
    forced = client.with_structured_output(schema, method="function_calling")
    assert forced.invoke("hi") == {"n": 4}


def test_it_fails_as_told(provider: FakeProvider, connect: Connect) -> None:
    provider.play(Failure(401, "Incorrect key"), Dead(), Dead("He"), Slow(), Stall())
    client = connect()
    with pytest.raises(AuthenticationError, match="Incorrect key"):
        client.invoke("hi")
    for _ in range(2):
        with pytest.raises(APIConnectionError):
            client.invoke("hi")
    quick = connect(0.2)
    for _ in range(2):
        with pytest.raises(APITimeoutError):
            quick.invoke("hi")
    assert provider.wait_asked(5)
