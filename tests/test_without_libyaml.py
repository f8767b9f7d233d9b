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

# Loads all that ships, in a process of its own in which libyaml cannot be imported.
SCRIPT = """
import sys
sys.modules["yaml._yaml"] = None
import yaml
from pathlib import Path
from kds.testing.dialogues import read_dialogues
from kds.router.english import PACKAGED, table
from kds.router.prompts.library import PromptLibrary
from kds.router.references.ruleset import load_rules

assert not yaml.__with_libyaml__
loaded = [load_rules().rules, PromptLibrary.load().prompts()]
loaded += [table(path.stem) for path in PACKAGED.glob("*.yaml")]
loaded += [read_dialogues(Path(path)) for path in sys.argv[1:]]
assert all(loaded)
"""


def test_the_packaged_rules_prompts_words_and_dialogues_load_in_a_process_without_libyaml() -> None:
    command = [sys.executable, "-c", SCRIPT, *map(str, DIALOGUES)]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr


def _yaml_parts() -> list[tuple[str, str]]:
    """Name and text of all the YAML that comes with KDS, and of the dialogues of its tests."""
    prompts = sorted(packaged_root().rglob("*.md"))
    fronts = [(path.name, path.read_text(encoding="utf-8").split("---\n")) for path in prompts]
    files = [*sorted(PACKAGED.glob("*.yaml")), *sorted(TABLES.glob("*.yaml")), *DIALOGUES]
    parts = [(name, blocks[1]) for name, blocks in fronts if not blocks[0] and len(blocks) > 2]
    return parts + [(path.name, path.read_text(encoding="utf-8")) for path in files]


@pytest.mark.skipif(not yaml.__with_libyaml__, reason="nothing to compare with")
def test_both_parsers_read_the_same_data_and_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    parts = _yaml_parts()
    assert len(parts) > len(DIALOGUES) + 20
    compiled = [parse_yaml(text, path=name) for name, text in parts]
    monkeypatch.setattr("kds.brain.yaml_files._PARSER", yaml.SafeLoader)
    for (name, text), document in zip(parts, compiled, strict=True):
        assert parse_yaml(text, path=name) == document


def test_a_byte_order_mark_at_the_beginning_is_accepted() -> None:
    assert parse_yaml("\ufeffa: 1\n", path="f").data == {"a": 1}
