"""Amnesia where a server has what files would: put away, gone from it, and brought back."""

from collections.abc import Callable
from pathlib import Path

import pytest

import kds
from kds.amnesia.forgetting import AmnesiaError, forget, restore
from kds.amnesia.inventory import survey
from kds.api.conversations import Conversations
from kds.brain.context.work import Work
from kds.brain.errors import StoreError
from kds.brain.postgres.tenant_texts import tenant_texts
from kds.brain.shared_database import shared_database
from kds.brain.workspace import Workspace
from kds.learning import Learning, teach_reference
from kds.session.place import work_of

from ..postgres import driver


@pytest.fixture
def place(workspace: Path, url: str, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    """Somebody who has talked, taught something, and is asked for a yes; another one, too."""
    monkeypatch.setenv("KDS_DATABASE", url)
    found = Workspace.find(environ={"KDS_HOME": str(workspace)})
    for person in ("bob", "ann"):
        monkeypatch.setenv("KDS_DATABASE_PERSON", person)
        Conversations.open(found).route("I want to add a nightingale page")
        Conversations.open(found).route("Make it red", conversation="c")
        teach_reference(found, "the button", "nightingale button")
        work_of(found, None).change(lambda _: Work(confirm="COMMIT", session="nightingale"))
    return found


def texts(place: Workspace) -> dict[str, bytes]:
    shared = shared_database(place)
    assert shared is not None
    return tenant_texts(shared)


def test_all_of_it_is_counted_put_away_and_gone(place: Workspace, url: str) -> None:
    before = survey(place)
    counts = {one.kind: dict(one.counts) for one in before.items}
    assert counts["context"] == {"messages": 1}
    assert counts["conversations"] == {"conversations": 1, "messages": 1}
    assert counts["learned"] == {"examples": 1, "events": 1}
    assert counts["work"] == {"files": 1}
    assert any("on the server" in line for line in before.stays)
    report = forget(place)
    assert report.after.is_empty
    assert texts(place) == {}
    with driver().connect(url) as admin:
        rows = admin.execute("SELECT tenant FROM kds.kept_text GROUP BY tenant").fetchall()
        assert len(rows) == 1  # the other's
    assert Learning(place).references() == ()
    assert work_of(place, None).load().work == Work()


def test_it_is_brought_back_as_it_was(place: Workspace) -> None:
    before = texts(place)
    forget(place, keep=["work"])
    assert list(texts(place)) == ["work/workspace.json"]
    restored = restore(place)
    assert "server/learned.yaml" in restored.files
    assert texts(place) == before
    turn = kds.Router.open(place).route("Make it purple")
    assert turn.expanded == "Make the nightingale page purple"
    assert Learning(place).undo_last()[0].told == "'the button' means 'nightingale button'"


def test_newer_data_on_the_server_is_not_overwritten(place: Workspace) -> None:
    forget(place)
    teach_reference(place, "the button", "save button")
    with pytest.raises(AmnesiaError, match="newer data: server/learn"):
        restore(place)
    restore(place, force=True)
    assert [one.antecedent for one in Learning(place).references()] == ["nightingale button"]


def test_without_the_server_nothing_is_forgotten_or_brought_back(
    place: Workspace, outage: Callable[[bool], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    outage(True)
    with pytest.raises(StoreError):
        forget(place)
    outage(False)
    forget(place)
    monkeypatch.delenv("KDS_DATABASE")
    with pytest.raises(StoreError, match="none is named"):
        restore(place)
