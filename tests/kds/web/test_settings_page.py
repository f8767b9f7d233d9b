"""The page of settings, and the health page."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from kds.brain.environment import OWN_SETTINGS
from kds.service.service_client import ServiceClient

from .conftest import Site, Visitor


@pytest.fixture(autouse=True)
def unset(site: Site) -> Iterator[None]:
    """The service serves other tests, too."""
    yield
    site.workspace.settings_path.unlink(missing_ok=True)


def test_a_change_is_written_beside_what_stands_in_the_file(site: Site, visitor: Visitor) -> None:
    path: Path = site.workspace.settings_path
    path.write_text("recall:\n  hybrid: true  # mine\n", encoding="utf-8")
    page = visitor.send_form(
        "/settings", key="rewriting.mode", value="model-first", file="workspace"
    ).text
    assert "rewriting.mode is model-first, from " in page
    assert path.read_text(encoding="utf-8").startswith("recall:\n  hybrid: true  # mine\n")
    page = visitor.send_form("/settings/reset", key="rewriting.mode", file="workspace").text
    assert "rewriting.mode is rules-first, from default" in page
    assert re.search(r'<code>memory.enabled</code>\s*<span class="chip">not set<', page)


def test_a_change_counts_from_the_next_message_on(site: Site, visitor: Visitor) -> None:
    client = ServiceClient(site.workspace, address=site.address)
    client.route("I want to add a FAB button")
    assert client.route("Make it purple").expanded == "Make the FAB button purple"
    visitor.send_form("/settings", key="references.precision", value="1", file="workspace")
    assert client.route("Make it purple").expanded == "Make it purple"


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("recall.embeddings", "antigravity:fly"),
        ("model.name", "http://127.0.0.1@evil.example/v1#x"),
        ("model.base_url", "http://localhost:1/v1"),
        ("database.url", "postgresql://localhost/kds"),
    ],
)
def test_the_page_chooses_neither_code_to_run_nor_where_messages_and_keys_go(
    visitor: Visitor, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, key: str, value: str
) -> None:
    monkeypatch.setenv(OWN_SETTINGS, str(tmp_path / "own.yaml"))
    answer = visitor.send_form("/settings", key=key, value=value, file="own")
    assert answer.status_code == 400
    assert f"kds config set {key} VALUE --own" in answer.text
    assert list(tmp_path.iterdir()) == []
