"""What developers paste: written before the rules, with values drawn anew for each seed."""

from pathlib import Path

import pytest
import yaml

from kds.brain.secrets.redaction import redacted

from .drawn import filled

PASTED = yaml.safe_load(Path(__file__).with_name("pasted.yaml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("template", PASTED["secrets"])
def test_a_pasted_secret_is_replaced(template: str, seed: int) -> None:
    text, values = filled(template, seed)
    assert not [value for value in values if value in redacted(text)]


@pytest.mark.parametrize("template", PASTED["harmless"])
def test_what_only_looks_like_a_secret_stays(template: str) -> None:
    text, _ = filled(template, 1)
    assert redacted(text) == text
