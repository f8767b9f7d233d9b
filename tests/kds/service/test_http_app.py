"""Requests over the unix socket: their limits, what is kept of them, and who declines them."""

import json
from pathlib import Path
from typing import Any

import httpx
import pytest

from kds.brain.environment import routing_variables
from kds.brain.message import MESSAGE_LIMIT

from ...effort import bounded
from .conftest import problem

PLAN = "I want to add a FAB button"


def route(client: httpx.Client, message: str, **more: object) -> httpx.Response:
    return client.post("/route", json={"message": message, **more})


def test_a_message_can_be_remembered_as_it_stands(client: httpx.Client) -> None:
    said = {"message": "Make it purple", "intent": "execute", "context_ref": "FAB button"}
    reply = client.post("/context", json=said)
    assert reply.status_code == 200
    (entry,) = reply.json()["entries"]
    assert entry["intent"] == "EXECUTE"
    assert entry["context_ref"] == "FAB button"
    assert entry["session_id"] is None


def test_a_chunked_body_beyond_the_limit_is_refused(client: httpx.Client) -> None:
    chunks = (b"a" * 100_000 for _ in range(20))
    reply = client.post("/route", content=chunks, headers={"Content-Type": "application/json"})
    assert problem(reply)[0] == 413
    assert client.get("/healthz").status_code == 200


@pytest.mark.parametrize(
    "message",
    [
        "a" + " " * (MESSAGE_LIMIT - 2) + "b",
        "a" + " " * 3_000 + "b",
        "```\n" * (MESSAGE_LIMIT // 4),
        "ABc" + "Dd" * 900 + "/",
        "(" * MESSAGE_LIMIT,
    ],
    ids=["spaces", "fewer spaces", "fences", "base64", "brackets"],
)
def test_no_message_within_the_limit_holds_the_service_up(
    client: httpx.Client, message: str
) -> None:
    """Each took from 18 s to for ever before; now 0.6 s of CPU at most."""
    with bounded(cpu_s=15):
        assert route(client, message, log=False).status_code == 200


def test_no_message_is_written_to_the_log(service: Any, client: httpx.Client) -> None:
    route(client, "Rename the zebra widget")
    route(client, " ")
    client.post("/hook", content=b"zebra")
    assert not [line for line in service.lines if "zebra" in line]


@pytest.mark.parametrize(
    ("reply", "hint"),
    [
        ("Login form added.", '"it" probably means "the login form"'),
        ("Login form added. I left the old SignIn component in place.", ""),
    ],
)
def test_the_hook_names_nothing_where_the_reply_brings_up_something_newer(
    client: httpx.Client, service: Any, tmp_path: Path, reply: str, hint: str
) -> None:
    said = (("user", "Add a login form"), ("assistant", reply))
    path = tmp_path / "transcript.jsonl"
    lines = [json.dumps({"type": role, "message": {"content": text}}) for role, text in said]
    path.write_text("\n".join(lines) + "\n")
    call = {"session_id": f"newer-{len(reply)}", "transcript_path": str(path)}
    client.post("/hook", json=call | {"prompt": "Add a login form", "transcript_path": ""})
    told = client.post("/hook", json=call | {"prompt": "Make it wider"})
    text = told.json()["additionalContext"] if told.content else ""
    assert hint in text
    assert bool(text) == bool(hint)


@pytest.mark.parametrize("name", ["KDS_MEMORY", "KDS_MODEL", "KDS_CONFIG", "PATH"])
def test_a_command_with_other_settings_is_to_do_the_work_itself(
    client: httpx.Client, name: str, tmp_path: Path
) -> None:
    mine = routing_variables()
    assert route(client, PLAN, log=False, variables=mine).status_code == 200
    reply = route(client, PLAN, variables={**mine, name: str(tmp_path)})
    assert problem(reply) == (409, f"the running service has another {name}")
    assert client.get("/context").json()["entries"] == []


def test_a_command_is_declined_where_the_service_is_switched_off(
    client: httpx.Client, service: Any
) -> None:
    settings = service.workspaces[0].settings_path
    settings.write_text("service: {enabled: false}")
    reply = route(client, PLAN, variables=routing_variables())
    settings.unlink()
    assert problem(reply)[0] == 409
    assert reply.json()["error"]["where"] == "service.enabled"
