"""Rewrites that are known to be wrong (known_faults.yaml); one that is mended fails here."""

from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

FAULTS = yaml.safe_load(Path(__file__).with_name("known_faults.yaml").read_text("utf-8"))


@pytest.mark.xfail
@pytest.mark.parametrize("row", FAULTS, ids=lambda row: row["fault"][:60])
def test_what_comes_out_right_one_day(
    rewrite: Callable[..., str], row: dict[str, list[str]]
) -> None:
    assert rewrite(*row["said"]) in row["right"]
