"""Each rule of `rules.yaml` against its own examples."""

from pathlib import Path

import pytest
import yaml

from kds.brain.secrets.redaction import redacted

RULES = yaml.safe_load(
    (Path(__file__).parents[3] / "brain/secrets/rules.yaml").read_text(encoding="utf-8")
)
EXAMPLES = [*RULES["named"], *RULES["free"]]


@pytest.mark.parametrize("text", [text for rule in EXAMPLES for text in rule.get("hit", ())])
def test_what_a_rule_is_for_is_redacted_once(text: str) -> None:
    stored = redacted(text)
    assert "[secret: " in stored
    assert redacted(stored) == stored


@pytest.mark.parametrize("text", [text for rule in EXAMPLES for text in rule.get("miss", ())])
def test_what_a_rule_leaves_no_other_takes(text: str) -> None:
    assert redacted(text) == text
