"""What `kds prompts check` warns of."""

from pathlib import Path

import pytest

from kds.brain.workspace import Workspace
from kds.router.prompts.library import stray_files

PROMPT = "---\nname: x\ndescription: d\n---\nHello\n"
RULES = "rules:\n  - id: pron.own\n    signal: {kind: pronoun}\n"


def strays(root: Path, place: str, text: str) -> list[tuple[str, str, str]]:
    path = root / place
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    (root / "kds-brain").mkdir(exist_ok=True)
    found = stray_files(Workspace.find(environ={"KDS_HOME": str(root)}))
    return [(one.where.removeprefix(f"{root}/"), one.message, one.hint) for one in found]


@pytest.mark.parametrize(
    ("place", "text", "hint"),
    [
        ("prompts/x.md", PROMPT, "move it to prompts/user, prompts/internal or prompts/shared"),
        ("prompts/internal/old/x.md", PROMPT, "prompts/internal"),
        ("prompts/Internals/x.md", PROMPT, "move it to prompts/internal"),
        ("prompts/x.examples.yaml", "examples: [a]\n", "move it beside its prompt file"),
        (
            "prompts/internal/x.examples.yaml",
            "examples: [a]\n",
            "its prompt file x.md must lie beside it: add it, or remove this",
        ),
        (
            "prompts/internal/x.examples.yml",
            "examples: [a]\n",
            "examples are read from x.examples.yaml, rules from kds-brain/rules/",
        ),
        ("kds-brain/rules/x.yml", RULES, "name it x.yaml"),
        ("rules/x.yaml", RULES, "kds-brain/rules/x.yaml"),
        ("rules/x.yml", RULES, "kds-brain/rules/x.yaml"),
    ],
)
def test_each_is_named_with_the_place_where_it_would_be_read(
    tmp_path: Path, place: str, text: str, hint: str
) -> None:
    found = strays(tmp_path, place, text)
    assert [where for where, _, _ in found] == [f"{place}:1"]
    assert found[0][2].endswith(hint)


@pytest.mark.parametrize(
    ("place", "text"),
    [
        ("prompts/README.md", "# Our prompts\n"),
        ("prompts/marketing/launch.md", PROMPT),
        ("prompts/internal/x.md", PROMPT),
        ("rules/eslint.yaml", "extends: recommended\n"),
        ("kds-brain/rules/x.yaml", RULES),
    ],
)
def test_what_a_project_keeps_for_itself_is_left_alone(
    tmp_path: Path, place: str, text: str
) -> None:
    assert strays(tmp_path, place, text) == []
