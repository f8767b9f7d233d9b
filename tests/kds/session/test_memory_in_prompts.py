"""What the memory knows reaches the model: the profile, by consent, and other conversations."""

from pathlib import Path

import pytest

from kds.brain.memory.memory_store import MemoryPlace
from kds.brain.workspace import Workspace

from ..conftest import Run, data
from .conftest import Chat

STAGING = "Staging uses port 8443"
HEALTH = "Add a health check for the staging port"


def _prompt(chat: Chat) -> str:
    """The system message of the last request that the model got."""
    return str(chat.model.asked[-1].messages[0]["content"])


@pytest.mark.parametrize(
    "message",
    [
        HEALTH,
        "Change the staging port in the config",
        "fix the staging port, it throws a timeout error",
        "which port does staging use?",
    ],
)
def test_what_another_session_said_stands_in_the_prompt(chat: Chat, message: str) -> None:
    chat.open(name="Setting up staging").ask(STAGING)
    chat.open(name="another").ask(message)
    prompt = _prompt(chat)
    assert f"> {STAGING}" in prompt
    assert "session 'Setting up staging', user]" in prompt


def test_what_kds_asks_the_user_is_neither_found_nor_quoted_nor_summarised(
    chat: Chat, kds_call: Run
) -> None:
    session = chat.open(name="Setting up staging")
    asked = session.ask("login page").question or ""
    assert "plan something new" in asked
    session.ask(STAGING)
    assert asked in [text for _, text in chat.replies()], "the conversation has it"

    assert data(kds_call("memory", "search", "plan something new", "--json"))["hits"] == []
    chat.open(name="another").ask("Plan something new for the login page")
    assert "Did you mean" not in _prompt(chat)
    assert "Did you mean" not in kds_call("memory", "summarize", "Setting up staging").out


def test_what_the_prompt_has_already_is_not_quoted_again(chat: Chat) -> None:
    session = chat.open(name="one")
    session.ask(STAGING)
    session.ask(HEALTH)
    assert "From the memory" not in _prompt(chat)


def test_a_long_conversation_does_not_hide_what_another_one_said(chat: Chat) -> None:
    chat.open(name="ops").ask("The billing export job runs on host copper-17 at 04:40")
    session = chat.open(name="long")
    for what in ("a timeout", "alerting", "a dashboard", "logging", "tracing", "a retry"):
        session.ask(f"Plan {what} for the billing export job")
        assert "copper-17" in _prompt(chat), what


def test_what_was_asked_again_and_again_is_quoted_once_and_hides_nothing(chat: Chat) -> None:
    chat.open(name="ops").ask("The billing export job runs on host copper-17 at 04:40")
    for again in range(6):
        chat.open(name=f"again {again}").ask("Add logging to the billing export job")
    chat.open(name="one more").ask("Plan logging for the billing export job")
    assert _prompt(chat).count("> Add logging to the billing export job") == 1
    assert "copper-17" in _prompt(chat)


def test_passages_stay_within_the_budget(chat: Chat, monkeypatch: pytest.MonkeyPatch) -> None:
    chat.open(name="a").ask(f"{STAGING}. " + "The staging port of the proxy is another one. " * 20)
    chat.open(name="b").ask("The staging port is open to the office only")
    monkeypatch.setenv("RAG_TOKEN_BUDGET", "60")
    chat.open(name="c").ask(HEALTH)
    assert "The staging port is open to the office only" in _prompt(chat)
    assert "of the proxy" not in _prompt(chat)


def test_the_profile_shapes_answers_only_with_consent(chat: Chat, kds_call: Run) -> None:
    kds_call("memory", "consent", "grant")
    kds_call(
        "memory", "profile", "set", "role=site reliability engineer", "languages=Go",
        "style=short, commands first", "goals=migrate billing to Kubernetes",
    )  # fmt: skip
    chat.open(name="one").ask("Add a retry to the uploader")
    prompt = _prompt(chat)
    assert "- Role: site reliability engineer" in prompt
    assert "- Style of answers: short, commands first" in prompt
    assert "- Languages: Go" in prompt
    assert "Kubernetes" not in prompt, "the goals do not fit this message"
    chat.open(name="two").ask("Plan the billing chart for Kubernetes")
    assert "- Goals: migrate billing to Kubernetes" in _prompt(chat)

    kds_call("memory", "consent", "revoke")
    chat.open(name="three").ask("Add a retry to the downloader")
    assert "reliability" not in _prompt(chat)


def test_the_profile_is_embedded_on_save_and_found_by_meaning(
    chat: Chat, kds_call: Run, embeddings: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAG_EMBEDDINGS", embeddings)
    kds_call("memory", "consent", "grant")
    kds_call("memory", "profile", "set", "domain=payments")
    found = data(kds_call("memory", "search", "stnemyap domain", "--json"))
    assert found["profile"] == ["Domain: payments"]


def test_what_the_system_said_is_neither_found_nor_quoted(
    chat: Chat, fitted_workspace: Path, kds_call: Run
) -> None:
    place = MemoryPlace.of(Workspace(fitted_workspace, fitted_workspace / "kds-brain"))
    with place.open() as store:
        store.create_session(session_id="s")
        store.append("s", "system", "The staging port is secret: 9999")
    chat.open(name="another").ask(HEALTH)
    assert "9999" not in _prompt(chat)
    hits = data(kds_call("memory", "search", "staging port", "--json"))["hits"]
    assert not [hit for hit in hits if hit["role"] == "system"]
