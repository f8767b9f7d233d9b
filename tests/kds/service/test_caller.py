"""Messages that bring the settings of their sender's environment along."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from kds.api.conversations import Conversations
from kds.api.parts import SPACY_MODEL as ROUTERS_SPACY_MODEL
from kds.brain.config import LiveConfig
from kds.brain.environment import SPACY_MODEL, routing_variables
from kds.brain.settings import SettingsError
from kds.brain.workspace import Workspace
from kds.service import callers as caller
from kds.service.callers import Callers
from kds.service.errors import ConflictError

FAB = "I want to add a FAB button"


@pytest.fixture
def default(place: Workspace) -> Conversations:
    return Conversations.open(place)


@pytest.fixture
def callers(place: Workspace) -> Iterator[Callers]:
    made = Callers(place, LiveConfig(place, environ={}), environ={})
    yield made
    made.close()


def _find(callers: Callers, default: Conversations, **variables: str) -> Conversations:
    return callers.find(variables, default, log=True, rewrite=None)


def test_who_says_nothing_and_who_has_the_same_get_the_service_as_it_is(
    callers: Callers, default: Conversations
) -> None:
    assert callers.find(None, default, log=True, rewrite=None) is default
    assert _find(callers, default, **routing_variables({})) is default


def test_the_memory_is_on_for_the_messages_of_who_has_it_on(
    place: Workspace, callers: Callers, default: Conversations
) -> None:
    _find(callers, default).route(FAB)
    assert not (place.brain / "memory.db").exists()
    _find(callers, default, KDS_MEMORY="on").route(FAB)
    assert (place.brain / "memory.db").exists()


def test_the_same_caller_is_served_by_the_same_conversations_until_a_reload(
    callers: Callers, default: Conversations
) -> None:
    first = _find(callers, default, KDS_MEMORY="on")
    assert _find(callers, default, KDS_MEMORY="on") is first
    again = default.reloaded()
    other = _find(callers, again, KDS_MEMORY="on")
    assert other is not first
    assert other.parts is again.parts


def test_of_many_environments_the_latest_are_kept(callers: Callers, default: Conversations) -> None:
    for minutes in range(caller.KEPT + 3):
        _find(callers, default, KDS_MEMORY="on", KDS_SESSION_MEMORY_TTL_HOURS=str(minutes + 1))
    assert len(callers._kept) == caller.KEPT


@pytest.mark.parametrize(
    "variables",
    [
        {SPACY_MODEL: "en_core_web_sm"},
        {"KDS_CONFIG": "/somewhere/settings.yaml"},
        {"KDS_MODEL": "openai:gpt-5-mini"},
        {"KDS_LEARNING": "off"},
        {"RAG_EMBEDDINGS": "os:getcwd"},
        {"PATH": "/tmp"},
    ],
    ids=lambda given: next(iter(given)),
)
def test_what_a_service_cannot_be_for_one_message_is_declined(
    callers: Callers, default: Conversations, variables: dict[str, str]
) -> None:
    with pytest.raises(ConflictError, match=f"has another {next(iter(variables))}"):
        _find(callers, default, **variables)


def test_a_file_that_a_request_names_is_not_read(
    callers: Callers, default: Conversations, tmp_path: Path
) -> None:
    secret = tmp_path / "secret.yaml"
    secret.write_text("password: hunter2\n")
    with pytest.raises(ConflictError) as caught:
        _find(callers, default, KDS_CONFIG=str(secret))
    assert "password" not in str(caught.value)


def test_a_model_of_the_callers_own_matters_only_where_one_is_asked(
    callers: Callers, default: Conversations
) -> None:
    model = {"KDS_MODEL": "openai:gpt-5-mini"}
    assert callers.find(model, default, log=True, rewrite=False) is not default
    _find(callers, default, **model, KDS_REWRITING="rules-only")
    with pytest.raises(ConflictError):
        callers.find(model, default, log=True, rewrite=True)


def test_learning_matters_only_where_something_is_learned(
    callers: Callers, default: Conversations
) -> None:
    off = {"KDS_LEARNING": "off"}
    assert callers.find(off, default, log=False, rewrite=None) is not default


def test_who_has_the_service_switched_off_is_declined(
    place: Workspace, callers: Callers, default: Conversations
) -> None:
    place.settings_path.write_text("service: {enabled: false}")
    for variables in ({}, {"KDS_MEMORY": "on"}):
        with pytest.raises(ConflictError) as caught:
            _find(callers, default, **variables)
        assert caught.value.where == "service.enabled"
    assert _find(callers, default, KDS_SERVICE="on") is not default


def test_a_variable_that_is_wrong_is_the_callers_error(
    callers: Callers, default: Conversations
) -> None:
    with pytest.raises(SettingsError) as caught:
        _find(callers, default, KDS_MEMORY="perhaps")
    assert caught.value.where == "$KDS_MEMORY"


def test_only_what_routing_depends_on_goes_along(tmp_path: Path) -> None:
    own = tmp_path / "own.yaml"
    environ = {"KDS_MEMORY": " on ", "RAG_HYBRID": "0", "OPENAI_API_KEY": "x", SPACY_MODEL: "en"}
    sent = routing_variables({**environ, "KDS_CONFIG": str(own)})
    assert sent == {"KDS_MEMORY": "on", SPACY_MODEL: "en", "KDS_CONFIG": ""}
    own.write_text(json.dumps({}))
    assert routing_variables({"KDS_CONFIG": str(own)}) == {"KDS_CONFIG": str(own)}


def test_the_spacy_model_is_called_as_the_router_calls_it() -> None:
    assert SPACY_MODEL == ROUTERS_SPACY_MODEL
