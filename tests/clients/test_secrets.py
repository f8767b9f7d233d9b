"""`hook.secrets` in the real clients: what holds a secret does not reach the model."""

import pytest

from .clients import Claude, Client, Copilot, Opencode
from .conftest import Install, Run
from .dialects import Call

SECRET = "Yzll-cgTAOG9"
PROMPT = f"Deploy it with DB_PASSWORD={SECRET}"

READING = {
    Claude.name: [Call("Read", {"file_path": ".env"})],
    Copilot.name: [Call("view", {"path": ".env"})],
    Opencode.name: [Call("read", {"filePath": ".env"})],
}


@pytest.mark.usefixtures("service")
def test_a_prompt_with_a_secret_is_blocked(client: Client, install: Install, run_kds: Run) -> None:
    run_kds("config", "set", "hook.secrets", "block")
    install(client.name)
    client.attempt(PROMPT)
    assert all(SECRET not in turn.text for turn in client.model.asked)
    assert bool(client.model.turns) is (client.name == Opencode.name)  # it sends the copy
    client.ask("Good morning")
    assert "Good morning" in client.model.turns[-1].text


@pytest.mark.usefixtures("service")
def test_a_warning_lets_it_through(client: Client, install: Install, run_kds: Run) -> None:
    run_kds("config", "set", "hook.secrets", "warn")
    install(client.name)
    client.ask(PROMPT)
    assert SECRET in client.model.turns[-1].text


@pytest.mark.usefixtures("service")
def test_a_file_of_secrets_is_not_read(client: Client, install: Install, run_kds: Run) -> None:
    run_kds("config", "set", "hook.secrets", "block")
    install(client.name)
    (client.project / ".env").write_text(f"DB_PASSWORD={SECRET}\n")
    client.model.play([client.shell("cat .env"), *READING.get(client.name, ())])
    client.ask("What is in the settings?")
    assert client.model.script == []
    assert all(SECRET not in turn.text for turn in client.model.asked)
    assert any("hook.secrets" in turn.text for turn in client.model.asked)
