"""The progress bar: there on a terminal, and nowhere else."""

import pytest

from kds.cli.progress import tracked


def test_a_pipe_gets_the_items_and_no_bar(capsys: pytest.CaptureFixture[str]) -> None:
    assert list(tracked([1, 2, 3], "counting")) == [1, 2, 3]
    assert capsys.readouterr() == ("", "")


def test_a_terminal_gets_a_bar_on_stderr(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")  # rich then takes the stream for a terminal
    assert list(tracked([1, 2, 3], "counting")) == [1, 2, 3]
    out, err = capsys.readouterr()
    assert out == ""
    assert "counting" in err


def test_a_bar_of_nothing_is_no_error() -> None:
    assert list(tracked([], "counting")) == []
