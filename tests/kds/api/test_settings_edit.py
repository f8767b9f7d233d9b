"""Writing values into a settings file that a person edits."""

from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from kds.api.settings_edit import with_values, write_values
from kds.brain.errors import KdsError

VALUES = {"rerank_alpha": 0.2, "rerank_beta": 0.65}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", "recall:\n  rerank_alpha: 0.2\n  rerank_beta: 0.65\n"),
        (
            "recall:\n    rerank_alpha: 0.9  # mine\n\n# end\nservice:\n  enabled: true\n",
            "recall:\n    rerank_alpha: 0.2  # mine\n    rerank_beta: 0.65\n\n# end\nservice:\n"
            "  enabled: true\n",
        ),
        (
            "# all of it\nservice:\n  enabled: true",
            "# all of it\nservice:\n  enabled: true\nrecall:\n  rerank_alpha: 0.2\n"
            "  rerank_beta: 0.65\n",
        ),
    ],
)
def test_lines_and_comments_stay(tmp_path: Path, before: str, after: str) -> None:
    path = tmp_path / "settings.yaml"
    path.write_text(before)
    write_values(path, "recall", VALUES)
    assert path.read_text() == after
    assert path.stat().st_mode & 0o777 == 0o600


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


@given(
    st.dictionaries(
        st.sampled_from(["recall", "service", "memory"]),
        st.dictionaries(
            st.sampled_from(["rerank_alpha", "hybrid", "x"]), st.integers(), min_size=1
        ),
    )
)
def test_everything_else_keeps_its_value(data: dict[str, dict[str, int]]) -> None:
    text = yaml.safe_dump(data) if data else ""
    changed = yaml.safe_load(with_values(text, "recall", VALUES))
    assert changed == data | {"recall": data.get("recall", {}) | VALUES}
