"""The four model APIs that the clients speak: what a request holds, and an answer in its form.

Anthropic Messages, OpenAI chat completions and responses, and Gemini, each streamed and not. Only
what a client needs in order to go on is answered: the shapes are those of the vendors' API
references, the ids and counts are made up.
"""

import json
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import dropwhile
from typing import Any, ClassVar, TypeAlias
from uuid import uuid4

Json: TypeAlias = dict[str, Any]
Event: TypeAlias = tuple[str | None, Json]
"""One server-sent event: its name where the API has names, and its data."""

TOKENS = {"input_tokens": 10, "output_tokens": 5}


@dataclass(frozen=True, slots=True)
class Call:
    """The model's wish to use a tool."""

    tool: str
    arguments: Mapping[str, object]
    id: str = field(default_factory=lambda: f"call_{uuid4().hex}")
    """Claude Code drops the result of a call whose id it has seen before."""

    @property
    def json(self) -> str:
        """The arguments as the OpenAI APIs carry them."""
        return json.dumps(dict(self.arguments))


Reply: TypeAlias = str | Call
"""What the fake model says: a text, or one call of a tool."""


def strings(value: object) -> Iterator[str]:
    """Every string anywhere inside JSON data, in order."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping | list):
        for inner in value.values() if isinstance(value, Mapping) else value:
            yield from strings(inner)


class Dialect(ABC):
    """A model API."""

    paths: ClassVar[tuple[str, ...]]
    ending: ClassVar[str | None] = None
    """What stands behind the last event of a stream."""

    @abstractmethod
    def tools(self, body: Json) -> set[str]:
        """The names of the tools on offer."""

    @abstractmethod
    def conversation(self, body: Json) -> list[Json]:
        """The messages, without the system prompt."""

    @abstractmethod
    def whole(self, body: Json, reply: Reply) -> Json:
        """The answer in one piece."""

    def events(self, body: Json, reply: Reply) -> Iterator[Event]:
        """The answer as a stream: of one piece, unless the API has others."""
        yield None, self.whole(body, reply)


class Messages(Dialect):
    """Anthropic's `/v1/messages`."""

    paths = ("/v1/messages",)

    def tools(self, body: Json) -> set[str]:
        return {tool["name"] for tool in body.get("tools", ()) if "name" in tool}

    def conversation(self, body: Json) -> list[Json]:
        return list(body["messages"])

    def whole(self, body: Json, reply: Reply) -> Json:
        content: Json = {"type": "text", "text": reply}
        if isinstance(reply, Call):
            content = {"type": "tool_use", "id": reply.id, "name": reply.tool,
                       "input": dict(reply.arguments)}  # fmt: skip
        stop = "tool_use" if isinstance(reply, Call) else "end_turn"
        return {
            "id": f"msg_{uuid4().hex}", "type": "message", "role": "assistant",
            "model": body.get("model", "fake"), "content": [content], "stop_reason": stop,
            "stop_sequence": None, "usage": TOKENS,
        }  # fmt: skip

    def events(self, body: Json, reply: Reply) -> Iterator[Event]:
        whole = self.whole(body, reply)
        block = whole["content"][0]
        if isinstance(reply, Call):
            empty, delta = {"input": {}}, {"type": "input_json_delta", "partial_json": reply.json}
        else:
            empty, delta = {"text": ""}, {"type": "text_delta", "text": reply}
        stop = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
        for kind, data in (
            ("message_start", {"message": whole | {"content": [], "stop_reason": None}}),
            ("content_block_start", {"index": 0, "content_block": block | empty}),
            ("content_block_delta", {"index": 0, "delta": delta}),
            ("content_block_stop", {"index": 0}),
            ("message_delta", {"delta": stop, "usage": {"output_tokens": 5}}),
            ("message_stop", {}),
        ):
            yield kind, {"type": kind, **data}


class ChatCompletions(Dialect):
    """OpenAI's `/v1/chat/completions`."""

    paths = ("/v1/chat/completions",)
    ending = "[DONE]"
    usage: ClassVar = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}

    def tools(self, body: Json) -> set[str]:
        return {tool["function"]["name"] for tool in body.get("tools", ()) if "function" in tool}

    def conversation(self, body: Json) -> list[Json]:
        return [message for message in body["messages"] if message["role"] != "system"]

    def whole(self, body: Json, reply: Reply) -> Json:
        message, reason = self._said(reply)
        choice = {"index": 0, "message": message, "finish_reason": reason}
        return self._frame(body, "chat.completion", [choice]) | {"usage": self.usage}

    def events(self, body: Json, reply: Reply) -> Iterator[Event]:
        said, reason = self._said(reply)
        for number, call in enumerate(said.get("tool_calls", ())):
            call["index"] = number
        for delta, end in ((said, None), ({}, reason)):
            choice = {"index": 0, "delta": delta, "finish_reason": end}
            yield None, self._frame(body, "chat.completion.chunk", [choice])
        yield None, self._frame(body, "chat.completion.chunk", []) | {"usage": self.usage}

    def _said(self, reply: Reply) -> tuple[Json, str]:
        """The message, and why it ends."""
        if isinstance(reply, str):
            return {"role": "assistant", "content": reply}, "stop"
        function = {"name": reply.tool, "arguments": reply.json}
        call = {"id": reply.id, "type": "function", "function": function}
        return {"role": "assistant", "content": None, "tool_calls": [call]}, "tool_calls"

    def _frame(self, body: Json, kind: str, choices: list[Json]) -> Json:
        model = body.get("model", "fake")
        return {"id": "chat_1", "object": kind, "created": 0, "model": model, "choices": choices}


class Responses(Dialect):
    """OpenAI's `/v1/responses`."""

    paths = ("/v1/responses",)

    def tools(self, body: Json) -> set[str]:
        """Codex keeps those of an MCP server together."""
        named = [tool for tool in body.get("tools", ()) if "name" in tool]
        within = {f"{each['name']}.{tool['name']}" for each in named
                  for tool in each.get("tools", ())}  # fmt: skip
        return within | {tool["name"] for tool in named}

    def conversation(self, body: Json) -> list[Json]:
        given = body["input"]
        if isinstance(given, str):
            return [{"role": "user", "content": given}]
        return list(dropwhile(lambda item: item.get("role") in {"system", "developer"}, given))

    def whole(self, body: Json, reply: Reply) -> Json:
        return self._frame(body, "completed", [self._item(reply)])

    def events(self, body: Json, reply: Reply) -> Iterator[Event]:
        item = self._item(reply)
        place = {"item_id": item["id"], "output_index": 0}
        if isinstance(reply, Call):
            empty: Json = {"arguments": ""}
            kind = "response.function_call_arguments"
            steps: list[tuple[str, Json]] = [
                (f"{kind}.delta", place | {"delta": reply.json}),
                (f"{kind}.done", place | {"arguments": reply.json}),
            ]
        else:
            empty, part = {"content": []}, place | {"content_index": 0}
            steps = [
                ("response.content_part.added", part | {"part": _text("")}),
                ("response.output_text.delta", part | {"delta": reply}),
                ("response.output_text.done", part | {"text": reply}),
                ("response.content_part.done", part | {"part": _text(reply)}),
            ]
        opened = item | {"status": "in_progress"} | empty
        steps = [
            ("response.created", {"response": self._frame(body, "in_progress", [])}),
            ("response.output_item.added", {"output_index": 0, "item": opened}),
            *steps,
            ("response.output_item.done", {"output_index": 0, "item": item}),
            ("response.completed", {"response": self.whole(body, reply)}),
        ]
        for number, (kind, data) in enumerate(steps):
            yield kind, {"type": kind, "sequence_number": number, **data}

    def _item(self, reply: Reply) -> Json:
        if isinstance(reply, Call):
            space, _, name = reply.tool.rpartition(".")
            call = {"call_id": reply.id, "name": name, "arguments": reply.json}
            call |= {"namespace": space} if space else {}
            return {"id": "fc_1", "type": "function_call", "status": "completed", **call}
        said = {"role": "assistant", "content": [_text(reply)]}
        return {"id": "item_1", "type": "message", "status": "completed", **said}

    def _frame(self, body: Json, status: str, output: list[Json]) -> Json:
        head = {"id": "resp_1", "object": "response", "created_at": 0, "status": status}
        usage = TOKENS | {"total_tokens": 15} if status == "completed" else None
        return head | {"model": body.get("model", "fake"), "output": output, "usage": usage}


class Gemini(Dialect):
    """Google's `generateContent`."""

    paths = (":generateContent", ":streamGenerateContent")

    def tools(self, body: Json) -> set[str]:
        offered = (tool.get("functionDeclarations", ()) for tool in body.get("tools", ()))
        return {function["name"] for functions in offered for function in functions}

    def conversation(self, body: Json) -> list[Json]:
        return list(body["contents"])

    def whole(self, body: Json, reply: Reply) -> Json:
        part: Json = {"text": reply}
        if isinstance(reply, Call):
            part = {"functionCall": {"name": reply.tool, "args": dict(reply.arguments)}}
        said = {"role": "model", "parts": [part]}
        usage = {"promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 15}
        candidates = [{"content": said, "finishReason": "STOP", "index": 0}]
        return {"candidates": candidates, "usageMetadata": usage, "modelVersion": "fake"}


def _text(text: str) -> Json:
    return {"type": "output_text", "text": text, "annotations": []}


DIALECTS: tuple[Dialect, ...] = (Messages(), ChatCompletions(), Responses(), Gemini())
