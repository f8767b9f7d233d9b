"""Writing values into a settings file that a person edits."""

from pathlib import Path

import pytest

from kds.api.settings_edit import write_values
from kds.brain.errors import KdsError

VALUES = {"rerank_alpha": 0.2, "rerank_beta": 0.65}


def test_a_link_is_neither_followed_nor_replaced(tmp_path: Path) -> None:
    path, theirs = tmp_path / "settings.yaml", tmp_path / "theirs.yaml"
    theirs.write_text("memory:\n  enabled: false\n")
    path.symlink_to(theirs)
    with pytest.raises(KdsError, match="is a link"):
        write_values(path, "memory", {"enabled": True})
    assert path.is_symlink()
    assert theirs.read_text() == "memory:\n  enabled: false\n"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        *((text, "by hand") for text in ("recall: {hybrid: true}\n", "[1]\n", "recall:\n- x\n")),
        ("# mine\na: [\n", r"settings\.yaml:2: is not YAML"),
    ],
)
def test_what_is_of_another_shape_is_left_as_it_is(tmp_path: Path, text: str, told: str) -> None:
    path = tmp_path / "settings.yaml"
    path.write_text(text)
    with pytest.raises(KdsError, match=told):
        write_values(path, "recall", VALUES)
    assert path.read_text() == text
