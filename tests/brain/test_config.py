"""Settings that are changed while the program runs."""

import pytest

from kds.brain.settings import LiveConfig, SettingsError
from kds.brain.workspace import Workspace


def test_a_changed_file_counts_at_once(place: Workspace) -> None:
    live = LiveConfig(place, environ={})
    assert live.settings.memory.enabled is None
    place.settings_path.write_text("memory:\n  enabled: false\n")
    assert live.settings.memory.enabled is False
    place.settings_path.unlink()
    assert live.settings.memory.enabled is None


def test_a_changed_environment_counts_at_once(place: Workspace) -> None:
    environ: dict[str, str] = {}
    live = LiveConfig(place, environ=environ)
    assert live.settings.memory.summary_frequency == 5
    environ["RAG_SUMMARY_FREQUENCY"] = "3"
    assert live.settings.memory.summary_frequency == 3


def test_what_has_not_changed_is_not_read_again(place: Workspace) -> None:
    live = LiveConfig(place, environ={})
    assert live.current() is live.current()


def test_settings_that_break_while_it_runs_leave_the_last_good_ones(place: Workspace) -> None:
    live = LiveConfig(place, environ={})
    live.current()
    place.settings_path.write_text("memory: 3\n")
    assert live.settings.memory.history_max_turns == 10
    assert live.problem is not None
    place.settings_path.write_text("memory: {history_max_turns: 9}\n")
    assert live.settings.memory.history_max_turns == 9
    assert live.problem is None


def test_settings_that_are_wrong_from_the_start_are_an_error(place: Workspace) -> None:
    place.settings_path.write_text("memory: 3\n")
    with pytest.raises(SettingsError):
        LiveConfig(place, environ={}).current()
