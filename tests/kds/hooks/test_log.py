"""The log of the hook, as `kds doctor` reads it."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from kds.brain.errors import StoreError
from kds.hooks.log import HookTrouble, read_hook_log
from kds.hooks.trouble import note


def test_what_the_hook_notes_is_read_back(tmp_path: Path) -> None:
    note(str(tmp_path), "no service is running")
    note(str(tmp_path), "no answer within 1500 ms")
    troubles = read_hook_log(tmp_path / "hook.log")
    assert troubles == read_hook_log(tmp_path)
    assert [trouble.reason for trouble in troubles] == [
        "no service is running",
        "no answer within 1500 ms",
    ]
    at = troubles[-1].at
    assert at is not None
    assert abs((datetime.now(UTC) - at).total_seconds()) < 60


def test_no_log_means_no_trouble(tmp_path: Path) -> None:
    assert read_hook_log(tmp_path) == ()


def test_a_damaged_line_is_shown_as_it_is(tmp_path: Path) -> None:
    lines = b"\xff\n\n2026-11-22T01:20:38Z fine\n2026-11-22 half a line\n"
    (tmp_path / "hook.log").write_bytes(lines)
    assert read_hook_log(tmp_path) == (
        HookTrouble(None, "\ufffd"),
        HookTrouble(datetime(2026, 11, 22, 1, 20, 38, tzinfo=UTC), "fine"),
        HookTrouble(None, "2026-11-22 half a line"),
    )


def test_a_log_that_leads_elsewhere_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("2026-11-22T01:20:38Z secret\n")
    (tmp_path / "hook.log").symlink_to(tmp_path / "secret")
    with pytest.raises(StoreError):
        read_hook_log(tmp_path)
