"""The VS Code extension: what is generated for it is current, and its own tests pass."""

import importlib.util
import json
import shutil
import subprocess
from pathlib import Path
from types import ModuleType

import jsonschema
import pytest
import yaml

from kds.brain.errors import ExampleFileError
from kds.testing.dialogues import Dialogue
from kds.testing.examples import parse_examples

FOLDER = Path(__file__).parents[3] / "editors" / "vscode"
TIMEOUT_S = 300
MOST_LINES = 3_000


def _script(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, FOLDER / "scripts" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_slash_commands_schemas_and_cases_are_those_of_kds_and_the_extension_stays_small() -> None:
    stale = [
        path.name
        for path, text in _script("generate").generated().items()
        if not path.exists() or path.read_text(encoding="utf-8") != text
    ]
    assert stale == [], "run editors/vscode/scripts/generate.py"
    files = [path for path in FOLDER.rglob("*.ts") if not {"node_modules", "dist"} & {*path.parts}]
    assert sum(len(path.read_text().splitlines()) for path in files) <= MOST_LINES


def test_the_schema_of_dialogues_judges_as_kds_does() -> None:
    schema = json.loads((FOLDER / "schemas" / "dialogues.json").read_text())
    valid = jsonschema.Draft202012Validator(schema).is_valid
    for text in (
        "- {id: a, turns: [{user: Hi, intent: [ASK, PLAN], secondary: []}]}",
        "{id: a, turns: [{user: Hi, switch: true, reply: Hello}]}",
    ):
        assert valid(yaml.safe_load(text))
        assert parse_examples(text, Path("a.yaml"), Dialogue)
    for text in ("- {id: a, turns: []}", "- {id: a, turns: [{usr: Hi}]}", "[]"):
        assert not valid(yaml.safe_load(text))
        with pytest.raises(ExampleFileError):
            parse_examples(text, Path("a.yaml"), Dialogue)


def test_the_units_of_the_extension_pass_and_its_types_hold() -> None:
    """Where its packages are installed: `npm ci` in editors/vscode."""
    binaries = FOLDER / "node_modules" / ".bin"
    if shutil.which("node") is None or not (binaries / "vitest").exists():
        pytest.skip("needs Node and the packages of editors/vscode (make vscode)")
    for command in (["tsc", "--noEmit"], ["vitest", "run"]):
        done = subprocess.run(
            [str(binaries / command[0]), *command[1:]],
            cwd=FOLDER, capture_output=True, text=True, timeout=TIMEOUT_S, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
