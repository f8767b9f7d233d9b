"""What developers paste: two sets written before the rules that find it, with drawn values."""

from pathlib import Path

import pytest
import yaml

from kds.brain.secrets.redaction import redacted

from .drawn import filled

SETS = [
    yaml.safe_load(Path(__file__).with_name(name).read_text(encoding="utf-8"))
    for name in ("pasted.yaml", "cold.yaml")
]


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("template", [one for each in SETS for one in each["secrets"]])
def test_a_pasted_secret_is_replaced(template: str, seed: int) -> None:
    text, values = filled(template, seed)
    assert values, "nothing is drawn: it belongs into messages.yaml"
    assert not [value for value in values if value in redacted(text)]


@pytest.mark.parametrize("template", [one for each in SETS for one in each["harmless"]])
def test_what_only_looks_like_a_secret_stays(template: str) -> None:
    text, _ = filled(template, 1)
    assert redacted(text) == text
