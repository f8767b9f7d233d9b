"""KDS where PyYAML is the pure one: what it brings loads, and what a user wrote is explained."""

import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from kds.brain.yaml_files import parse_yaml
from kds.router.english import PACKAGED as TABLES
from kds.router.prompts.library import packaged_root
from kds.router.references.ruleset import PACKAGED

DIALOGUES = sorted((Path(__file__).parent / "dialogues").glob("*.yaml"))

# A process of its own, in which libyaml cannot be imported.
SCRIPT = """
import sys
sys.modules["yaml._yaml"] = None
import yaml
from kds.router.references.ruleset import load_rules

assert not yaml.__with_libyaml__
assert load_rules().rules
"""


def test_the_packaged_rules_load_in_a_process_without_libyaml() -> None:
    run = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr


@pytest.mark.skipif(not yaml.__with_libyaml__, reason="nothing to compare with")
def test_both_parsers_read_the_same_data_and_lines_of_all_that_ships(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    prompts = [(path.name, path.read_text("utf-8")) for path in packaged_root().rglob("*.md")]
    parts = [(name, text.split("---\n")[1]) for name, text in prompts if text[:4] == "---\n"]
    files = (*PACKAGED.glob("*.yaml"), *TABLES.glob("*.yaml"), *DIALOGUES)
    parts += [(path.name, path.read_text("utf-8")) for path in files]
    assert len(parts) > len(DIALOGUES) + 20
    compiled = [parse_yaml(text, path=name) for name, text in parts]
    monkeypatch.setattr("kds.brain.yaml_files._PARSER", yaml.SafeLoader)
    for (name, text), document in zip(parts, compiled, strict=True):
        assert parse_yaml(text, path=name) == document
