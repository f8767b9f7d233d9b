"""The pictures of a classifier's confusions and of its confidence."""

import sys
from pathlib import Path

import pytest

from kds.brain.errors import KdsError
from kds.evaluation.intents.plots import draw_plots
from kds.router.intents.calibration import ReliabilityBin

CONFUSION = (("ASK", "PLAN", "UNKNOWN"), ((5, 0, 1), (2, 8, 0), (0, 0, 0)))
BINS = (ReliabilityBin(0.45, 0.5, 4), ReliabilityBin(0.0, 0.0, 0), ReliabilityBin(0.95, 0.9, 12))
HEADS = {".png": b"\x89PNG", ".svg": b"<?xml"}


@pytest.mark.parametrize("suffix", [".png", ".svg"])
def test_a_picture_is_written(suffix: str, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="needs the extra `eval`")
    path = tmp_path / f"plot{suffix}"
    draw_plots(path, *CONFUSION, BINS)
    assert path.read_bytes().startswith(HEADS[suffix])


def test_many_intents_and_no_messages_at_all_can_be_drawn(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="needs the extra `eval`")
    many = [f"intent {number}" for number in range(60)]
    draw_plots(tmp_path / "many.svg", many, [[1] * 60] * 60, ())
    assert "intent 7" not in (tmp_path / "many.svg").read_text()
    draw_plots(tmp_path / "none.svg", ["A"], [[0]], ())


def test_without_matplotlib_the_extra_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(KdsError, match=r"\[eval\]"):
        draw_plots(tmp_path / "plot.png", *CONFUSION, BINS)
