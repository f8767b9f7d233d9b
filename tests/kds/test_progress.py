"""Progress of longer work: on a terminal and in a pipe."""

from collections.abc import Callable
from threading import Event
from time import sleep

import pytest

from kds.cli.terminal import slow, tracked

Streams = pytest.CaptureFixture[str]


class Clock:
    """Stands in for the timer: rings when the test says so."""

    call: Callable[[], None] | None = None

    def __init__(self) -> None:
        self.finished = Event()

    def __call__(self, wait_s: float, call: Callable[[], None]) -> "Clock":
        self.call = call
        self.finished.clear()
        return self

    def start(self) -> None:
        """Nothing rings by itself."""

    def cancel(self) -> None:
        self.call = None
        self.finished.set()

    def ring(self) -> None:
        if self.call is not None:
            self.call()


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    monkeypatch.setenv("FORCE_COLOR", "1")  # rich then takes the stream for a terminal
    clock = Clock()
    monkeypatch.setattr("kds.cli.terminal.Timer", clock)
    return clock


def test_what_is_quick_says_nothing(clock: Clock, capsys: Streams) -> None:
    with slow("loading rules"):
        late = clock.call
    assert clock.call is None
    assert late is not None
    late()  # the timer rang in the very moment of the end
    assert capsys.readouterr() == ("", "")


def test_the_block_may_say_that_the_wait_is_over(clock: Clock, capsys: Streams) -> None:
    with slow("waiting for the answer") as arrived:
        arrived.end()
        clock.ring()
    assert capsys.readouterr() == ("", "")


def test_a_terminal_gets_a_spinner_that_goes_away(clock: Clock, capsys: Streams) -> None:
    with slow("loading rules"):
        clock.ring()
    out, err = capsys.readouterr()
    assert out == ""
    assert "loading rules ..." in err
    assert err.rstrip().endswith("\x1b[2K")  # the line is erased


def test_a_pipe_gets_the_items_and_no_bar(capsys: Streams, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    with slow("counting"):
        assert list(tracked([1, 2, 3], "counting")) == [1, 2, 3]
    assert capsys.readouterr() == ("", "")


def test_a_terminal_is_told_how_far_it_is(clock: Clock, capsys: Streams) -> None:
    with slow("reading") as tell:
        clock.ring()
        tell("reading [red]a.md", 1, 2)
        sleep(0.2)  # the spinner is drawn by a thread of its own
    out, err = capsys.readouterr()
    assert out == ""
    assert "reading [red]a.md 1/2" in err
