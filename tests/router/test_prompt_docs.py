"""docs/prompt-files.md says what the code does."""

import re
from datetime import UTC, datetime
from pathlib import Path

from kds.brain.turn import Turn
from kds.router.prompts.library import PromptLibrary
from kds.router.prompts.promptfile import FrontMatter
from kds.router.prompts.values import prompt_values

PAGE = Path(__file__).parents[2] / "docs" / "prompt-files.md"


def rows(heading: str) -> set[str]:
    """The names in the first column of the table below a heading."""
    section = PAGE.read_text(encoding="utf-8").split(f"## {heading}\n")[1].split("\n## ")[0]
    cells = re.findall(r"^\| (`[^|]*) \|", section, re.MULTILINE)
    return {name for cell in cells for name in re.findall(r"`(\w+)`", cell)}


def test_the_example_loads_over_the_packaged_prompts(tmp_path: Path) -> None:
    example = re.search(r"```markdown\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert example is not None
    (tmp_path / "internal").mkdir()
    (tmp_path / "internal/deploy-runner.md").write_text(example[1], encoding="utf-8")
    library = PromptLibrary.load(tmp_path)
    prompt = library.for_intent("DEPLOY")
    assert prompt is not None
    turn = Turn("ship it", datetime(2025, 11, 3, tzinfo=UTC), expanded="ship the app")
    values = prompt_values(turn, agents=library.agents(), workspace="/w")
    assert library.render(prompt, values) == (
        "# Deploy runner\n\nAsked for: ship the app\n(written as: ship it)"
    )


def test_every_front_matter_key_and_every_template_variable_is_documented() -> None:
    assert rows("Front matter") == {
        field.alias or name for name, field in FrontMatter.model_fields.items()
    }
    values = prompt_values(Turn("x", datetime(2025, 11, 3, tzinfo=UTC)), agents=(), workspace="")
    assert rows("Template variables") == set(values)
