"""Files that only this user's KDS writes."""

from pathlib import Path

import pytest

from kds.brain.environment import own_folder
from kds.brain.files import FOLDER, read_trusted, replace_trusted


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "home").mkdir()
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "home"))


def test_what_was_written_here_is_believed(tmp_path: Path) -> None:
    path = tmp_path / "file"
    assert read_trusted(path) is None
    replace_trusted(path, b"first")
    replace_trusted(path, b"second")
    assert read_trusted(path) == b"second"
    (receipt,) = (Path(own_folder()) / FOLDER).iterdir()
    assert receipt.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("content", [b"other", b"", b"written "])
def test_another_content_in_its_place_is_not_believed(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "file"
    replace_trusted(path, b"written")
    path.write_bytes(content)
    assert read_trusted(path) is None


def test_receipts_for_what_is_gone_go(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    replace_trusted(first, b"written")
    first.unlink()
    replace_trusted(second, b"written")
    assert len(list((Path(own_folder()) / FOLDER).iterdir())) == 1
    assert read_trusted(second) == b"written"
