"""`python -m kds.router.shipping`: the command line of what ships; its files are tested apart."""

import runpy
from pathlib import Path

import pytest


@pytest.mark.filterwarnings("ignore:.*found in sys.modules:RuntimeWarning")
@pytest.mark.parametrize(("argument", "code"), [("--help", 0), ("--out", 2)])
def test_an_option_is_explained_or_refused_and_makes_no_folder(
    argument: str, code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", ["shipping", argument])
    with pytest.raises(SystemExit) as left:
        runpy.run_module("kds.router.shipping", run_name="__main__")
    assert left.value.code == code
    assert "FOLDER" in "".join(capsys.readouterr())
    assert list(tmp_path.iterdir()) == []
