"""Progress of longer work: on a terminal and in a pipe."""

from threading import Timer
from time import sleep

import pytest

from kds.cli.terminal import slow, tracked

Streams = pytest.CaptureFixture[str]


class Clock(Timer):
    """A timer that rings when the test says so."""

    def start(self) -> None:
        Clock.last = self

    def ring(self) -> None:
        self.function()


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> type[Clock]:
    monkeypatch.setenv("FORCE_COLOR", "1")  # rich then takes the stream for a terminal
    monkeypatch.setattr("kds.cli.terminal.Timer", Clock)
    return Clock


def test_a_terminal_gets_a_spinner_that_tells_how_far_it_is_and_goes_away(
    clock: type[Clock], capsys: Streams
) -> None:
    with slow("loading rules"):
        clock.last.ring()
    out, err = capsys.readouterr()
    assert out == ""
    assert "loading rules ..." in err
    assert err.rstrip().endswith("\x1b[2K")  # the line is erased
    with slow("reading") as tell:
        clock.last.ring()
        tell("reading [red]a.md", 1, 2)
        sleep(0.2)  # the spinner is drawn by a thread of its own
    out, err = capsys.readouterr()
    assert out == ""
    assert "reading [red]a.md 1/2" in err


def test_a_pipe_gets_the_items_and_no_bar(capsys: Streams, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    with slow("counting"):
        assert list(tracked([1, 2, 3], "counting")) == [1, 2, 3]
    assert capsys.readouterr() == ("", "")
