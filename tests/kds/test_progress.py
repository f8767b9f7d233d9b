"""What is said of what takes longer: on a terminal, in a pipe, and where nobody wants it."""

from collections.abc import Callable

import pytest

from kds.cli.progress import after_a_while, reported, slow, tracked

Streams = pytest.CaptureFixture[str]


class Clock:
    """Stands in for the timer: rings when the test says so."""

    def __init__(self) -> None:
        self.call: Callable[[], None] | None = None

    def schedule(self, call: Callable[[], None]) -> Callable[[], None]:
        self.call = call
        return self.call_off

    def call_off(self) -> None:
        self.call = None

    def ring(self) -> None:
        if self.call is not None:
            self.call()


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    monkeypatch.setenv("KDS_PROGRESS", "auto")
    monkeypatch.setattr("kds.cli.progress.SLOW_S", 3600.0)  # for what makes a timer of its own
    return Clock()


def test_what_takes_a_while_says_so_in_one_line_on_stderr(clock: Clock, capsys: Streams) -> None:
    with slow("loading rules", schedule=clock.schedule):
        clock.ring()
    assert capsys.readouterr() == ("", "kds: loading rules ...\n")


def test_what_is_quick_says_nothing(clock: Clock, capsys: Streams) -> None:
    with slow("loading rules", schedule=clock.schedule):
        late = clock.call
    assert clock.call is None
    assert late is not None
    late()  # the timer rang in the very moment of the end
    assert capsys.readouterr() == ("", "")


def test_the_block_may_say_that_the_wait_is_over(clock: Clock, capsys: Streams) -> None:
    with slow("waiting for the answer", schedule=clock.schedule) as arrived:
        arrived()
        clock.ring()
    assert capsys.readouterr() == ("", "")


def test_an_error_ends_the_wait_too(clock: Clock) -> None:
    with pytest.raises(ValueError, match="broken"), slow("trying", schedule=clock.schedule):
        raise ValueError("broken")
    assert clock.call is None


def test_a_terminal_gets_a_spinner_that_goes_away(
    clock: Clock, capsys: Streams, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")  # rich then takes the stream for a terminal
    with slow("loading rules", schedule=clock.schedule):
        clock.ring()
    out, err = capsys.readouterr()
    assert out == ""
    assert "loading rules ..." in err
    assert "kds: loading" not in err
    assert err.rstrip().endswith("\x1b[2K")  # the line is erased


@pytest.mark.parametrize("word", ["off", "0", "No"])
def test_it_can_be_switched_off(
    word: str, clock: Clock, capsys: Streams, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KDS_PROGRESS", word)
    monkeypatch.setenv("FORCE_COLOR", "1")
    with slow("loading rules", schedule=clock.schedule):
        assert clock.call is None
    assert list(tracked([1], "counting")) == [1]
    with reported("reading") as tell:
        tell("reading", 1, 2)
    assert capsys.readouterr() == ("", "")


def test_the_timer_can_be_called_off() -> None:
    after_a_while(lambda: pytest.fail("it was called off"))()


@pytest.mark.usefixtures("clock")
def test_a_pipe_gets_the_items_and_no_bar(capsys: Streams) -> None:
    assert list(tracked([1, 2, 3], "counting")) == [1, 2, 3]
    assert capsys.readouterr() == ("", "")


@pytest.mark.usefixtures("clock")
def test_a_terminal_gets_a_bar_on_stderr(capsys: Streams, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")  # rich then takes the stream for a terminal
    assert list(tracked([1, 2, 3], "counting")) == [1, 2, 3]
    with reported("reading") as tell:
        tell("reading a.md", 1, 2)
    out, err = capsys.readouterr()
    assert out == ""
    assert "counting" in err
    assert "reading a.md" in err


def test_a_bar_of_nothing_is_no_error() -> None:
    assert list(tracked([], "counting")) == []
