"""Switches: what each is worth, and that they work while the program runs."""

from datetime import timedelta

import pytest

from kds.brain.sessions.flags import LiveSettings, MemoryFlags
from kds.brain.settings import SettingsError, load_settings
from kds.brain.workspace import Workspace


def flags(place: Workspace, **environ: str) -> MemoryFlags:
    return MemoryFlags.of(load_settings(place, environ=environ))


def test_everything_is_on_by_default(place: Workspace) -> None:
    on = flags(place)
    assert (on.enabled, on.query_rewriting, on.session_memory, on.history_summarization) == (
        *(True,) * 4,
    )
    assert (on.summary_frequency, on.turns, on.token_budget) == (5, 4, 1000)
    assert (on.budget.total, on.summary.words, on.context_limit) == (1100, 200, 0)
    assert on.ttl == timedelta(hours=4)


def test_a_surface_that_only_routes_does_not_remember_unless_told(place: Workspace) -> None:
    assert not MemoryFlags.of(load_settings(place, environ={}), default=False).enabled
    told = load_settings(place, environ={"KDS_MEMORY": "1"})
    assert MemoryFlags.of(told, default=False).enabled


@pytest.mark.parametrize(
    ("name", "value", "field", "expected"),
    [
        ("KDS_MEMORY", "off", "enabled", False),
        ("RAG_TOKEN_BUDGET", "300", "token_budget", 300),
        ("RAG_SUMMARY_FREQUENCY", "0", "summary_frequency", 0),
        ("enable_query_rewriting", "false", "query_rewriting", False),
        ("ENABLE_SESSION_MEMORY", "0", "session_memory", False),
        ("KDS_ENABLE_HISTORY_SUMMARIZATION", "no", "history_summarization", False),
        ("history_max_turns", "2", "turns", 2),
        ("SESSION_MEMORY_TTL_HOURS", "0.5", "ttl", timedelta(minutes=30)),
    ],
)
def test_each_switch_works_from_the_environment(
    place: Workspace, name: str, value: str, field: str, expected: object
) -> None:
    assert getattr(flags(place, **{name: value}), field) == expected


def test_recall_takes_its_switches_and_weights(place: Workspace) -> None:
    recall = flags(
        place, RAG_HYBRID="off", RAG_CHUNKING="off", RAG_RERANK_ALPHA="0.6", RAG_RERANK_GAMMA="0.1"
    ).recall
    assert (recall.hybrid, recall.chunking) == (False, False)
    assert (recall.weights.alpha, recall.weights.gamma) == (0.6, 0.1)
    assert recall.weights.beta > 0


def test_a_changed_file_counts_at_once(place: Workspace) -> None:
    live = LiveSettings(place, environ={})
    assert live.current().memory.enabled is None
    place.settings_path.write_text("memory:\n  enabled: false\n")
    assert live.current().memory.enabled is False
    place.settings_path.unlink()
    assert live.current().memory.enabled is None


def test_a_changed_environment_counts_at_once(place: Workspace) -> None:
    environ: dict[str, str] = {}
    live = LiveSettings(place, environ=environ)
    assert live.current().memory.summary_frequency == 5
    environ["RAG_SUMMARY_FREQUENCY"] = "3"
    assert live.current().memory.summary_frequency == 3


def test_what_has_not_changed_is_not_read_again(place: Workspace) -> None:
    live = LiveSettings(place, environ={})
    assert live.current() is live.current()


def test_settings_that_break_while_it_runs_leave_the_last_good_ones(place: Workspace) -> None:
    live = LiveSettings(place, environ={})
    live.current()
    place.settings_path.write_text("memory: 3\n")
    assert live.current().memory.history_max_turns == 4
    assert live.problem is not None
    place.settings_path.write_text("memory: {history_max_turns: 9}\n")
    assert live.current().memory.history_max_turns == 9
    assert live.problem is None


def test_settings_that_are_wrong_from_the_start_are_an_error(place: Workspace) -> None:
    place.settings_path.write_text("memory: 3\n")
    with pytest.raises(SettingsError):
        LiveSettings(place, environ={}).current()
