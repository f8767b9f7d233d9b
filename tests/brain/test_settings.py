"""Settings: a file, the environment over it, every fault at once, changes while KDS runs."""

from datetime import timedelta
from pathlib import Path

import pytest

from kds.brain.settings import LiveConfig, SettingsError, load_settings
from kds.brain.workspace import Workspace, own_settings_path


def test_the_file_is_read_and_the_environment_wins(place: Workspace) -> None:
    place.settings_path.write_text("service:\n  auto: true\n  idle_minutes: 5\n")
    assert load_settings(place, environ={}).service.auto
    over = {"KDS_SERVICE_AUTO": "off", "KDS_SERVICE": "0"}
    service = load_settings(place, environ=over).service
    assert (service.enabled, service.auto, service.idle_minutes) == (False, False, 5)


def test_all_faults_are_reported_at_once_with_their_place(place: Workspace) -> None:
    place.settings_path.write_text("service:\n  auto: maybe\n  ilde_minutes: 5\n")
    with pytest.raises(SettingsError) as caught:
        load_settings(place, environ={"KDS_SERVICE_IDLE_MINUTES": "-1"})
    places = [problem.where for problem in caught.value.problems]
    assert places[0].endswith("settings.yaml:2")
    assert places[1].endswith("settings.yaml:3")
    assert places[2] == "$KDS_SERVICE_IDLE_MINUTES"
    assert "idle_minutes" in caught.value.problems[1].hint


@pytest.mark.parametrize("text", ["[]", "service: 3", "service: {idle_minutes: .nan}", "a: b: c"])
def test_anything_but_a_settings_file_is_refused(place: Workspace, text: str) -> None:
    place.settings_path.write_text(text)
    with pytest.raises(SettingsError):
        load_settings(place, environ={})


def test_settings_of_the_memory_are_known_by_their_other_names_too(place: Workspace) -> None:
    place.settings_path.write_text("RAG_HYBRID: false\nhistory_max_turns: 2\n")
    settings = load_settings(place, environ={})
    assert (settings.recall.hybrid, settings.memory.history_max_turns) == (False, 2)


@pytest.mark.parametrize(
    ("name", "value", "field", "expected"),
    [
        ("KDS_MEMORY", "off", "enabled", False),
        ("RAG_SUMMARY_FREQUENCY", "0", "summary_frequency", 0),
        ("KDS_ENABLE_QUERY_REWRITING", "false", "enable_query_rewriting", False),
        ("KDS_ENABLE_SESSION_MEMORY", "0", "enable_session_memory", False),
        ("KDS_ENABLE_HISTORY_SUMMARIZATION", "no", "enable_history_summarization", False),
        ("KDS_HISTORY_MAX_TURNS", "2", "history_max_turns", 2),
        ("KDS_SESSION_MEMORY_TTL_HOURS", "0.5", "ttl", timedelta(minutes=30)),
    ],
)
def test_each_switch_of_the_memory_works_from_the_environment(
    place: Workspace, name: str, value: str, field: str, expected: object
) -> None:
    assert getattr(load_settings(place, environ={name: value}).memory, field) == expected


@pytest.mark.parametrize("name", ["RAG_TOKEN_BUDGET", "KDS_HISTORY_MAX_TURNS", "KDS_MEMORY"])
def test_a_variable_that_is_wrong_is_named_as_it_was_set(place: Workspace, name: str) -> None:
    with pytest.raises(SettingsError) as caught:
        load_settings(place, environ={name: "perhaps"})
    assert [problem.where for problem in caught.value.problems] == [f"${name}"]


@pytest.mark.parametrize("text", ["recall: {rerank_beta: 0}\n", "RAG_RERANK_BETA: 0\n"])
def test_weights_that_leave_nothing_are_refused_wherever_they_come_from(
    place: Workspace, text: str
) -> None:
    place.settings_path.write_text(text)
    with pytest.raises(SettingsError, match="nothing would be found"):
        load_settings(place, environ={"RAG_RERANK_GAMMA": "0"})


def test_the_users_own_file_holds_everywhere_and_a_workspace_may_set_more(place: Workspace) -> None:
    own = place.root / "own.yaml"
    own.write_text("model: {name: 'openai:small', timeout_s: 5}\nservice: {idle_minutes: 7}\n")
    place.settings_path.write_text("service: {idle_minutes: 9}\nrewriting: {mode: rules-only}\n")
    settings = load_settings(place, environ={"KDS_CONFIG": str(own)})
    assert (settings.model.name, settings.model.timeout_s) == ("openai:small", 5)
    assert (settings.service.idle_minutes, settings.rewriting.mode) == (9, "rules-only")
    over = {"KDS_CONFIG": str(own), "KDS_MODEL": "ollama:tiny", "KDS_REWRITING": "model-first"}
    settings = load_settings(place, environ=over)
    assert (settings.model.name, settings.rewriting.mode) == ("ollama:tiny", "model-first")


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("learning: {enabled: false}\nmodel:\n  base_url: http://elsewhere.example/v1\n", 2),
        ("recall:\n  embeddings: shutil:rmtree\n", 2),
        ("RAG_EMBEDDINGS: os:getcwd\n", 1),
    ],
)
def test_a_workspace_names_no_model_and_no_code(place: Workspace, text: str, line: int) -> None:
    place.settings_path.write_text(text)
    with pytest.raises(SettingsError) as caught:
        load_settings(place, environ={"KDS_CONFIG": str(place.root / "own.yaml")})
    (problem,) = caught.value.problems
    assert problem.where.endswith(f"settings.yaml:{line}")
    assert "own.yaml" in problem.hint


def test_the_own_file_is_where_the_system_keeps_settings(tmp_path: Path) -> None:
    found = own_settings_path({"XDG_CONFIG_HOME": str(tmp_path)})
    assert found == tmp_path / "kds" / "settings.yaml"
    assert own_settings_path({"XDG_CONFIG_HOME": "not/absolute"}).is_absolute()
    assert own_settings_path({"KDS_CONFIG": str(tmp_path / "x")}) == tmp_path / "x"


def test_a_changed_file_or_environment_counts_at_once_and_is_read_once(place: Workspace) -> None:
    environ: dict[str, str] = {}
    live = LiveConfig(place, environ=environ)
    assert live.current() is live.current()
    assert live.settings.memory.enabled is None
    place.settings_path.write_text("memory:\n  enabled: false\n")
    assert live.settings.memory.enabled is False
    place.settings_path.unlink()
    assert live.settings.memory.enabled is None
    environ["RAG_SUMMARY_FREQUENCY"] = "3"
    assert live.settings.memory.summary_frequency == 3


def test_settings_that_are_wrong_leave_the_last_good_ones_or_those_without_them(
    place: Workspace,
) -> None:
    live = LiveConfig(place, environ={})
    place.settings_path.write_text("memory: 3\n")
    assert live.settings.memory.enabled is False  # the file may say so
    assert live.problem is not None
    place.settings_path.unlink()
    assert live.settings.memory.enabled is None
    place.settings_path.write_text("memory: 3\n")
    assert live.settings.memory.history_max_turns == 10
    assert live.problem is not None
    place.settings_path.write_text("memory: {history_max_turns: 9}\n")
    assert live.settings.memory.history_max_turns == 9
    assert live.problem is None
