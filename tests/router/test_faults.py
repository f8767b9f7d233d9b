"""What is wrong in the files of a workspace is told with its place and a way out (faults.yaml)."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from kds.brain.errors import ConfigError
from kds.router.english import load_english
from kds.router.prompts.library import PromptLibrary
from kds.router.references.ruleset import load_rules

TABLE = yaml.safe_load(Path(__file__).with_name("faults.yaml").read_text("utf-8"))

READ = {
    "rules": load_rules,
    "english": load_english,
    "prompts": lambda folder: PromptLibrary.load(packaged=folder),
}


def _text(given: Any) -> str:
    """A text as it stands, or that of a sound file with some of it replaced."""
    if isinstance(given, str):
        return given
    text: str = TABLE["sound"][given["like"]]
    for old, new in given["with"]:
        text = text.replace(old, new, 1)
    return text


@pytest.mark.parametrize("row", TABLE["wrong"], ids=lambda row: row["told"][0][:60])
def test_all_that_is_wrong_is_told_at_once(tmp_path: Path, row: dict[str, Any]) -> None:
    for name, given in row["files"].items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(_text(given), encoding="utf-8")
    room = next(iter(row["files"])).partition("/")[0]
    with pytest.raises(ConfigError) as caught:
        READ[room](tmp_path / room)
    told = [f"{one.where} {one.message}; {one.hint}" for one in caught.value.problems]
    plain = [one.replace(f"{tmp_path / room}/", "") for one in told]
    assert len(plain) == len(row["told"])
    for one, right in zip(plain, row["told"], strict=True):
        assert one.startswith(right.removesuffix("..."))
        assert one == right or right.endswith("...")
