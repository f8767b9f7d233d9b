"""Libraries of the extras: found, named when missing, and not blamed for the faults of others."""

from pathlib import Path

import pytest

from kds.brain.errors import KdsError
from kds.brain.extras import load_extra
from kds.brain.installation import install_line


def test_a_library_that_is_not_there_is_named_with_its_extra() -> None:
    with pytest.raises(KdsError, match="'kds_nowhere' is needed to draw") as caught:
        load_extra("kds_nowhere.part", extra="eval", purpose="draw")
    assert caught.value.hint == f"{install_line('eval')} (the extra 'eval' of KDS)"


def test_a_library_whose_own_needs_are_missing_is_not_called_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "kds_half_there.py").write_text("import kds_its_own_need\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="kds_its_own_need"):
        load_extra("kds_half_there", extra="eval", purpose="draw")
