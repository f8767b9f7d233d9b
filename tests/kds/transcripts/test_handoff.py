"""The brief that the user's model writes: what it says in place of the rule, and what it may not.

The model is LangChain's fake one with a script: it lies in every way that is looked for.
"""

from collections.abc import Callable, Sequence
from pathlib import Path

import anyio
import pytest
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from mcp import Client

from kds.brain.message import one_line
from kds.brain.passages.values import Message
from kds.mcp.mcp_server import KdsServer
from kds.transcripts.catalogue import AssistantMemory, about_tokens
from kds.transcripts.handoff import BRIEF_TOKENS, Brief, brief
from kds.transcripts.recalling import latest

from ...agents.openai_server import Failure, FakeProvider, Text
from ..conftest import Run, data
from .conftest import Write
from .test_arriving import served

SAID = (
    "Move staging to a free port, the deploy of Maria Lopez waits for it",
    "We use port 8443 for staging because 8080 is taken by the proxy. I changed `src/ports.py`.\n\n"
    "edited src/ports.py\n$ make test\n> 14 passed",
    "Do not deploy on Friday. And let's use Redis for the locks",
    "Redis loses locks when it restarts, so a lock in Postgres is safer.",
    "ok, then no Redis, use Postgres",
    "The locks are in Postgres now.\n\n$ make deploy\n! fatal: no credentials\n\n"
    "Shall I ask Maria for credentials?",
)
TRUE = """Here is the brief you asked for.

## Goal
Staging gets a free port, so that Maria Lopez can deploy.

## Where it stands
- Staging uses port 8443 and the locks are in Postgres.
- `make deploy` stopped: there are no credentials.

## Decisions
- **Port 8443**, because 8080 is taken by the proxy.
- Locks go into Postgres because Redis loses them when it restarts.
- Do not deploy on Friday.

## Open
1. Ask Maria for credentials.
"""


@pytest.fixture
def made(shop: Path, claude: Write, kds_call: Run) -> Callable[..., Brief]:
    """The brief of a session, with what the model answers."""
    path = claude("s1", *SAID, folder=str(shop))
    path.write_text(path.read_text().replace("2026-11-02", "2026-11-27"))
    kds_call("memory", "import", "--from", "claude")

    def make(answer: str) -> Brief:
        memory = AssistantMemory()
        project = memory.project_of(str(shop))
        assert project is not None
        found = latest(memory, project)
        assert found is not None
        model = GenericFakeChatModel(messages=iter([AIMessage(answer)]))

        def write(messages: Sequence[Message], by_rule: str) -> str:
            return str(model.invoke(by_rule + messages[0].content).text)

        return brief(*found, to="codex", write=write)

    return make


def sections(text: str) -> dict[str, str]:
    return dict(part.split("\n", 1) for part in text.split("\n## ")[1:])


def test_a_model_judges_and_the_rule_lists_what_was_done(made: Callable[..., Brief]) -> None:
    got = made(TRUE)
    assert (got.by, got.notes) == ("model", ())
    parts = sections(got.text)
    assert parts["Goal"].strip() == "Staging gets a free port, so that Maria Lopez can deploy."
    assert parts["Decisions"].splitlines()[0] == "- Port 8443, because 8080 is taken by the proxy."
    assert parts["Files changed"].strip() == "- src/ports.py"
    assert parts["Commands that worked"].strip() == "- make test"
    assert parts["What failed"].strip() == "- make deploy: fatal: no credentials"
    assert parts["Open"].strip() == "- Ask Maria for credentials."
    assert "What the user asked for next" not in parts
    assert "Here is the brief" not in got.text


@pytest.mark.parametrize(
    ("lie", "why"),
    [
        ("The port is read in src/config.py.", "new identifier 'src/config.py'"),
        ("`make release` puts staging on its port.", "new code 'make release'"),
        ("Staging uses port 9443.", "new amount '9443'"),
        ("All 15 tests of staging passed.", "new amount '15 tests'"),
        ("Peter Smith waits for staging.", "new name 'Peter Smith'"),
        ("Locks are in Kafka now.", "new name 'Kafka'"),
        ("Deploy on Friday.", "a negation turned round"),
        ("Use Redis.", "a negation turned round"),
        ("Do not use Postgres.", "a negation that nobody said"),
        ("The deploy of Maria was not approved.", "a negation that nobody said"),
        ("Staging uses port 8080.", "'8080' was said of something else"),
        ("Maria's deploy of staging succeeded.", "new word 'succeeded'"),
        ("The weather turned cold and everybody stayed at home.", "words that nobody said"),
        ("Staging has a port. " * 20, "a line of 399 characters"),
    ],
)
def test_a_line_without_ground_is_left_out(made: Callable[..., Brief], lie: str, why: str) -> None:
    got = made(TRUE.replace("- Staging uses", f"- {lie}\n- Staging uses"))
    assert got.by == "model"
    [note] = got.notes
    assert why in note
    assert one_line(lie) not in got.text
    assert "- Staging uses port 8443" in got.text


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ("", "wrote no brief"),
        ("I'm sorry, I can't help with that.", "wrote no brief"),
        ("## Goal\nShip Kafka 3.2 to Peter Smith.", "told what nobody said: new"),
        (f"## Goal\n{'Staging gets a free port. ' * 200}", "told what nobody said: a line of"),
    ],
)
def test_the_rule_replaces_a_bad_brief(made: Callable[..., Brief], answer: str, why: str) -> None:
    got = made(answer)
    assert got.by == "rule"
    assert why in got.notes[0]
    assert sections(got.text)["Goal"].strip() == SAID[0]


def test_a_brief_of_a_model_is_short_and_tells_no_secret(made: Callable[..., Brief]) -> None:
    lines = "".join(f"- Staging uses port 8443{' for the proxy' * n}.\n" for n in range(15))
    many = TRUE.replace("## Where", f"{lines * 9}\n## Where")
    got = made(many.replace("- Do not", f"- Token ghp_{'Zq9' * 12} of Maria.\n{lines * 9}- Do not"))
    assert got.by == "model"
    assert about_tokens(got.text) <= BRIEF_TOKENS
    assert "ghp_" not in got.text


def test_the_command_and_the_prompt_ask_the_model_of_the_settings(
    made: object, model: FakeProvider, shop: Path, kds_call: Run
) -> None:
    model.play(Text(TRUE), Text(TRUE), Failure(500, "no memory left"))
    got = data(kds_call("handoff", "--json"))
    assert (got["by"], got["notes"]) == ("model", [])
    assert "Ask Maria for credentials" in got["brief"]
    [asked] = model.asked
    assert "User: Do not deploy on Friday." in asked.text
    assert "$ make deploy" in asked.text

    async def ask() -> list[str]:
        async with Client(KdsServer(served(shop))) as client:
            given = [await client.get_prompt("handoff", {}) for _ in range(2)]
            return [one.messages[0].content.text for one in given]

    first, second = anyio.run(ask)
    assert "Ask Maria for credentials" in first
    assert first == second
    assert len(model.asked) == 2  # the second was kept
    failed = kds_call("handoff")
    assert "the brief is by rule: ModelError:" in failed.err
    assert "no memory left" in failed.err
    assert "by rule from what was said" in failed.out
