"""Secrets of many shapes through every surface that stores: none of them reaches the disk."""

import json
import random
import string
from collections.abc import Iterable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import pytest

import kds
from kds.api.turn_log import TurnLog
from kds.brain.documents.store import DocumentPlace
from kds.brain.learning.events import FILE_NAME as EVENTS
from kds.brain.learning.events import LearningEvent
from kds.brain.workspace import Workspace
from kds.learning import Learning, LearningError, teach
from kds.query.service import QueryService
from kds.query.values import Query
from kds.readers.reading import read_document, read_source
from kds.transit.history import Message

from ..agents.openai_server import FakeProvider, Text
from .query.place import add_documents

ALNUM = string.ascii_letters + string.digits
HEX = "0123456789abcdef"

SHAPES = (
    "Why does DB_PASSWORD={} fail?",
    "STRIPE_KEY={}",
    "my_service_token: {}",
    "stripeKey = '{}' breaks the checkout page",
    "datasource:\n  password:\n    {}\n  url: x",
    "datasource:\n  url: x\n  password: {}\n  user: app",
    "password: >-\n  {}",
    "env:\n  - name: DB_PASSWORD\n    value: {}",
    '{{"client_secret":\n    "{}"}}',
    "Make the login page use PWD={} please",
    "the password is {}, why is the header red?",
    "postgres://app:{}@db/x is slow",
    "curl -H 'Authorization: Bearer {}' fails",
    "deploy --token {} to staging",
    "https://x.y/z?api_key={}&a=b",
    "here is the password:\n\n{}\n\nwhy does it fail?",
    "user,password,role\nbob,{},admin",
    "the page breaks with define('DB_PASSWORD', '{}');",
    "echo '{}' | sudo -S systemctl restart nginx",
    "пароль: {}",
)
"""What a secret stands in; four of each."""


def made(number: int) -> str:
    """A secret without a known form: its own for each number, with letters and digits."""
    drawn = random.Random(number)
    kind = number % 3
    letters = (ALNUM, string.ascii_lowercase + string.digits, HEX)[kind]
    body = "".join(drawn.choices(letters, k=drawn.randint(10, 30)))
    return f"q{drawn.randint(10, 99)}z{body}"


SECRETS = [made(number) for number in range(4 * len(SHAPES))]
TOLD = [SHAPES[number % len(SHAPES)].format(secret) for number, secret in enumerate(SECRETS)]


def left_in(brain: Path, secrets: Iterable[str]) -> list[str]:
    """The secrets that any file below ``brain`` has, in any case, names of files included."""
    files = [path for path in brain.rglob("*") if path.is_file()]
    bytes_of = [(str(path.relative_to(brain)), path.read_bytes().lower()) for path in files]
    names = "\n".join(name for name, _ in bytes_of).lower()
    return [
        f"{secret} in {name}"
        for secret in secrets
        for name, content in bytes_of
        if secret.lower().encode() in content or secret.lower() in names
    ]


def test_routed_messages_leave_no_secret(place: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KDS_MEMORY", "on")
    router, log = kds.Router.open(place.root), TurnLog(place)
    for text in (*TOLD, "Make it purple"):
        log.note(router.route(text), "chat")
    log.close()
    assert (place.brain / "memory.db").exists()
    assert left_in(place.brain, SECRETS) == []


@pytest.mark.parametrize(
    ("told", "stored"),
    [
        ("the wifi password is swordfish", "the wifi password is [secret: password]"),
        ("POSTGRES_PASSWORD: swordfish", "POSTGRES_PASSWORD: [secret: password]"),
        ("the password is wrong", "the password is wrong"),
        ("why is `API_KEY=your-api-key-here` refused?",) * 2,
        ("why does `total = price * 2;` fail in `cart.ts`?",
         "why does [code: 1 line] fail in `cart.ts`?"),
        ("rename `total` in this: ```ts\ntotal = 1\n```",
         "rename `total` in this: [code: ts, 1 line]"),
    ],
)  # fmt: skip
def test_the_context_shows_what_was_said_without_secrets_and_code(
    place: Workspace, told: str, stored: str
) -> None:
    kds.Router.open(place.root).route(told)
    line = json.loads((place.brain / "conversation-context.jsonl").read_text().splitlines()[-1])
    assert line["user_message"] == stored


def test_questions_in_sessions_leave_no_secret(place: Workspace) -> None:
    add_documents(place)
    with QueryService.open(place) as service:
        for number, text in enumerate(TOLD):
            service.ask(Query(text, session=f"s{number % 4}"))
        for number in range(0, len(TOLD), 3):  # short enough that all of it is read
            said = TOLD[number : number + 3]
            sent = tuple(Message(role, text) for text in said for role in ("user", "assistant"))
            service.ask(Query("Why does it fail?", session="sent", context=sent))
        assert left_in(place.brain, SECRETS) == []


def test_conversations_with_a_model_leave_no_secret(place: Workspace, model: FakeProvider) -> None:
    with kds.Session.open(place.root) as session:
        for text, other in zip(TOLD, TOLD[len(SHAPES) : 2 * len(SHAPES)], strict=False):
            reply = f"Done. I used this:\n\n{text}\n\nand then it went on.\n\n{other}\n\nand on."
            model.play(default=Text(reply))
            session.ask(f"I want to add a login form with {text}")
        assert model.asked
        assert left_in(place.brain, SECRETS) == []


def test_what_is_learned_leaves_no_secret(place: Workspace) -> None:
    learning = Learning(place)
    at = datetime(2025, 11, 3, tzinfo=UTC)
    for text in TOLD:
        with suppress(LearningError):
            teach(place, text, "PLAN")
        learning.events.append([LearningEvent(at, "told", text, "PLAN")])
    assert b"[secret: " in (place.brain / EVENTS).read_bytes()
    assert left_in(place.brain, SECRETS) == []


def test_indexed_documents_leave_no_secret(place: Workspace, tmp_path: Path) -> None:
    path = tmp_path / "notes.md"
    with DocumentPlace(place).open() as store:
        for number, text in enumerate(TOLD):
            path.write_text(f"# Notes {number}\n\nBefore.\n\n{text}\n\nAfter.\n")
            data, source = read_source(path.resolve())
            store.put(read_document(path, data), source)
    assert left_in(place.brain, SECRETS) == []
