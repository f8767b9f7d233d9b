"""Settings: a file, the environment over it, every fault at once, changes while KDS runs."""

from datetime import timedelta
from operator import attrgetter
from pathlib import Path
from typing import Any

import pytest

from kds.brain.settings import LiveConfig, SettingsError, load_settings
from kds.brain.workspace import Workspace, own_settings_path

OWN = "model: {name: 'openai:small', timeout_s: 5}\nservice: {idle_minutes: 7}\n"
PROJECT = "service: {auto: true, idle_minutes: 9}\nrewriting: {mode: rules-only}\n"


@pytest.fixture
def environ(place: Workspace) -> dict[str, str]:
    """An environment that names a file of the user's own."""
    (place.root / "own.yaml").write_text(OWN)
    return {"KDS_CONFIG": str(place.root / "own.yaml")}


@pytest.mark.parametrize(
    ("text", "over", "expected"),
    [
        # the user's own file holds everywhere, a workspace may set more, the environment wins
        (PROJECT, {}, {"model.name": "openai:small", "model.timeout_s": 5, "service.auto": True}),
        (PROJECT, {}, {"service.idle_minutes": 9, "rewriting.mode": "rules-only"}),
        (PROJECT, {"KDS_SERVICE_AUTO": "off", "KDS_SERVICE": "0"},
         {"service.enabled": False, "service.auto": False, "service.idle_minutes": 9}),
        (PROJECT, {"KDS_MODEL": "ollama:tiny", "KDS_REWRITING": "model-first"},
         {"model.name": "ollama:tiny", "rewriting.mode": "model-first"}),
        # other names
        ("RAG_HYBRID: false\nhistory_max_turns: 2\n", {},
         {"recall.hybrid": False, "memory.history_max_turns": 2}),
        ("", {"KDS_MEMORY": "off"}, {"memory.enabled": False}),
        ("", {"RAG_SUMMARY_FREQUENCY": "0"}, {"memory.summary_frequency": 0}),
        ("", {"KDS_ENABLE_QUERY_REWRITING": "false"}, {"memory.enable_query_rewriting": False}),
        ("", {"KDS_ENABLE_SESSION_MEMORY": "0"}, {"memory.enable_session_memory": False}),
        ("", {"KDS_ENABLE_HISTORY_SUMMARIZATION": "no"},
         {"memory.enable_history_summarization": False}),
        ("", {"KDS_HISTORY_MAX_TURNS": "2"}, {"memory.history_max_turns": 2}),
        ("", {"KDS_SESSION_MEMORY_TTL_HOURS": "0.5"}, {"memory.ttl": timedelta(minutes=30)}),
    ],
)  # fmt: skip
def test_files_and_the_environment_set_what_they_say(
    place: Workspace, environ: dict[str, str], text: str, over: dict[str, str],
    expected: dict[str, Any],
) -> None:  # fmt: skip
    place.settings_path.write_text(text)
    settings = load_settings(place, environ=environ | over)
    assert {name: attrgetter(name)(settings) for name in expected} == expected


@pytest.mark.parametrize(
    ("text", "over", "places", "said"),
    [
        ("service:\n  auto: maybe\n  ilde_minutes: 5\n", {"KDS_SERVICE_IDLE_MINUTES": "-1"},
         ["settings.yaml:2", "settings.yaml:3", "$KDS_SERVICE_IDLE_MINUTES"], "idle_minutes"),
        ("[]", {}, ["settings.yaml:1"], ""),
        ("service: 3", {}, ["settings.yaml:1"], ""),
        ("service: {idle_minutes: .nan}", {}, ["settings.yaml:1"], ""),
        ("a: b: c", {}, ["settings.yaml:1"], ""),
        ("", {"RAG_TOKEN_BUDGET": "perhaps"}, ["$RAG_TOKEN_BUDGET"], ""),
        ("", {"KDS_HISTORY_MAX_TURNS": "perhaps"}, ["$KDS_HISTORY_MAX_TURNS"], ""),
        ("", {"KDS_MEMORY": "perhaps"}, ["$KDS_MEMORY"], ""),
        # weights that leave nothing, wherever they come from
        ("recall: {rerank_beta: 0}\n", {"RAG_RERANK_GAMMA": "0"},
         ["the settings and the environment"], "nothing would be found"),
        ("RAG_RERANK_BETA: 0\n", {"RAG_RERANK_GAMMA": "0"},
         ["the settings and the environment"], "nothing would be found"),
        # a workspace names no model and no code
        ("learning: {enabled: false}\nmodel:\n  base_url: http://elsewhere.example/v1\n", {},
         ["settings.yaml:2"], "own.yaml"),
        ("recall:\n  embeddings: shutil:rmtree\n", {}, ["settings.yaml:2"], "own.yaml"),
        ("RAG_EMBEDDINGS: os:getcwd\n", {}, ["settings.yaml:1"], "own.yaml"),
    ],
)  # fmt: skip
def test_all_faults_are_reported_at_once_with_their_place(
    place: Workspace, environ: dict[str, str], text: str, over: dict[str, str],
    places: list[str], said: str,
) -> None:  # fmt: skip
    place.settings_path.write_text(text)
    with pytest.raises(SettingsError) as caught:
        load_settings(place, environ=environ | over)
    assert [one.where.rpartition("/")[2] for one in caught.value.problems] == places
    assert said in str(caught.value)


def test_the_own_file_is_where_the_system_keeps_settings(tmp_path: Path) -> None:
    found = own_settings_path({"XDG_CONFIG_HOME": str(tmp_path)})
    assert found == tmp_path / "kds" / "settings.yaml"
    assert own_settings_path({"XDG_CONFIG_HOME": "not/absolute"}).is_absolute()
    assert own_settings_path({"KDS_CONFIG": str(tmp_path / "x")}) == tmp_path / "x"


def test_a_change_counts_at_once_and_a_fault_leaves_the_last_good(place: Workspace) -> None:
    environ: dict[str, str] = {}
    live, broken = LiveConfig(place, environ=environ), LiveConfig(place, environ=environ)
    assert live.current() is live.current()
    place.settings_path.write_text("memory: 3\n")
    assert broken.settings.memory.enabled is False  # the file may say so
    assert broken.problem is not None
    for text, enabled in (("", None), ("memory: {enabled: false}\n", False), ("", None)):
        place.settings_path.write_text(text)
        assert [one.settings.memory.enabled for one in (live, broken)] == [enabled] * 2
        assert broken.problem is None
    environ["RAG_SUMMARY_FREQUENCY"] = "3"
    assert live.settings.memory.summary_frequency == 3
    for text, turns, fault in (
        ("memory: {history_max_turns: 9}\n", 9, False),
        ("memory: 33\n", 9, True),
        ("memory: {history_max_turns: 8}\n", 8, False),
    ):
        place.settings_path.write_text(text)
        assert (live.settings.memory.history_max_turns, live.problem is not None) == (turns, fault)
