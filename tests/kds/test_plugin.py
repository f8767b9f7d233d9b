"""The pytest plugin, in projects of its own: what it collects, and what it says."""

import shutil
from importlib.metadata import entry_points
from pathlib import Path

import pytest

RIGHT = """
- id: greeting
  turns:
    - {user: I want to add a FAB button, intent: PLAN}
"""
WRONG = """
- id: impossible
  turns:
    - {user: I want to add a FAB button, intent: PLAN}
    - {user: Make it purple, intent: COMMIT, expanded: Paint it black}
"""


@pytest.fixture(autouse=True)
def _loaded(fitted_brain: Path, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    """The router is loaded first: pytester unloads what a run inside this process imports, and
    compiled modules cannot be loaded twice. The fitted model saves time. Plugins of others, which
    such a run would find, warn and take seconds."""
    names = {one.name for one in entry_points(group="pytest11")} - {"kds"}
    monkeypatch.setenv("PYTEST_ADDOPTS", " ".join(f"-p no:{name}" for name in sorted(names)))
    shutil.copytree(fitted_brain, pytester.path / "kds-brain")


def _write(pytester: pytest.Pytester, name: str, text: str) -> Path:
    path = pytester.path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_one_item_a_dialogue(pytester: pytest.Pytester) -> None:
    _write(pytester, "tests/dialogues/a.yaml", RIGHT + RIGHT.replace("greeting", "again"))
    _write(pytester, "tests/b.dialogue.yml", RIGHT)
    _write(pytester, "tests/c.dialogue.json", '{"id": "json", "turns": [{"user": "Hi"}]}')
    _write(pytester, "tests/other.yaml", "not: ours")
    result = pytester.runpytest("--collect-only", "-q")
    result.stdout.fnmatch_lines_random(
        ["tests/b.dialogue.yml::greeting", "tests/c.dialogue.json::json",
         "tests/dialogues/a.yaml::greeting", "tests/dialogues/a.yaml::again"]
    )  # fmt: skip
    assert "other.yaml" not in result.stdout.str()


def test_a_failure_shows_turn_expected_actual_and_why(pytester: pytest.Pytester) -> None:
    _write(pytester, "dialogues/a.yaml", WRONG)
    result = pytester.runpytest()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        ["*impossible, turn 2 of 2", "*user*Make it purple", "*expanded*- Paint it black",
         "*+ Make the FAB button purple", "*intent*- COMMIT", "*why*"]
    )  # fmt: skip
    assert "Traceback" not in result.stdout.str()


def test_a_right_dialogue_leaves_no_trace(pytester: pytest.Pytester) -> None:
    _write(pytester, "dialogues/a.yaml", RIGHT)
    pytester.runpytest("--import-mode=importlib").assert_outcomes(passed=1)
    assert not (pytester.path / "kds-brain" / "conversation-context.jsonl").exists()


def test_a_file_that_does_not_load_or_a_prompt_of_the_named_workspace_is_told_without_a_trace(
    pytester: pytest.Pytester,
) -> None:
    _write(pytester, "dialogues/a.yaml", "- id: a\n  turn: []\n")
    result = pytester.runpytest()
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*a.yaml:2: unknown key 'turn'*", "*did you mean 'turns'?*"])
    assert "Traceback" not in result.stdout.str()
    _write(pytester, "dialogues/a.yaml", RIGHT)
    _write(pytester, "home/kds-brain/README.md", "")
    _write(pytester, "home/prompts/internal/mine.md", "---\nname: other\n---\nbody\n")
    pytester.makeini("[pytest]\nkds_workspace = home\n")
    result = pytester.runpytest()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*mine.md:*"])
    assert "Traceback" not in result.stdout.str()
