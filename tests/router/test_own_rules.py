"""Rules of a workspace's own: what one may decide (own_rules.yaml)."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

RULES = yaml.safe_load(Path(__file__).with_name("own_rules.yaml").read_text("utf-8"))


@pytest.mark.parametrize("row", RULES.values(), ids=RULES)
def test_a_rule_of_ones_own_decides(
    rewrite_by: Callable[[str], Callable[..., str]], row: dict[str, Any]
) -> None:
    rewrite = rewrite_by(row["rule"])
    assert [[said, rewrite(*said)] for said, _ in row["said"]] == row["said"]
