"""The fake provider does what it says, with the real client."""

import pytest
from langchain_core.messages import BaseMessageChunk
from langchain_openai import ChatOpenAI
from openai import APIConnectionError, APITimeoutError, AuthenticationError

from .openai_server import Calls, Data, Dead, Failure, FakeProvider, Slow, Stall, Text


def _client(provider: FakeProvider) -> ChatOpenAI:
    return ChatOpenAI(
        base_url=provider.url,
        api_key="k",
        model="fake",
        max_retries=0,
        timeout=5,
        stream_usage=True,
    )  # type: ignore[call-arg,arg-type]  # names that pydantic reads


def test_it_answers_with_text_and_usage(provider: FakeProvider) -> None:
    provider.play(Text("Hello to you"))
    answer = _client(provider).invoke("hi")
    assert (answer.text, answer.usage_metadata["total_tokens"]) == ("Hello to you", 17)  # type: ignore[index]
    assert (provider.asked[0].newest, provider.asked[0].key) == ("hi", "k")


def test_it_streams_words_and_tool_calls(provider: FakeProvider) -> None:
    provider.play(Calls(("recall", {"query": "ab"}), text="Let me see"))
    whole: BaseMessageChunk | None = None
    for chunk in _client(provider).stream("hi"):
        whole = chunk if whole is None else whole + chunk
    assert whole is not None
    assert whole.text == "Let me see"
    assert [call["args"] for call in whole.tool_calls] == [{"query": "ab"}]  # type: ignore[attr-defined]
    assert whole.usage_metadata["output_tokens"] == 5  # type: ignore[attr-defined]


def test_it_gives_structured_output(provider: FakeProvider) -> None:
    schema = {"title": "answer", "type": "object", "properties": {"n": {"type": "integer"}}}
    provider.play(Data({"n": 3}), Data({"n": 4}))
    client = _client(provider)
    assert client.with_structured_output(schema).invoke("hi") == {"n": 3}
    forced = client.with_structured_output(schema, method="function_calling")
    assert forced.invoke("hi") == {"n": 4}


def test_it_fails_as_told(provider: FakeProvider) -> None:
    provider.play(Failure(401, "Incorrect key"), Dead(), Dead("He"), Slow(), Stall())
    client = _client(provider).model_copy(update={"request_timeout": 0.2})
    with pytest.raises(AuthenticationError, match="Incorrect key"):
        client.invoke("hi")
    for _ in range(2):
        with pytest.raises(APIConnectionError):
            client.invoke("hi")
    quick = ChatOpenAI(base_url=provider.url, api_key="k", model="fake", max_retries=0, timeout=0.2)  # type: ignore[call-arg,arg-type]  # names that pydantic reads
    for _ in range(2):
        with pytest.raises(APITimeoutError):
            quick.invoke("hi")
    assert len(provider.asked) == 5
