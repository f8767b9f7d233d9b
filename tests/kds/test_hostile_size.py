"""What a project can bring along in great numbers: it is refused with the place, limit and fix."""

from collections.abc import Callable
from pathlib import Path

import pytest

from .conftest import Run, data, refused


def many(folder: str, name: str, text: str) -> Callable[[Path], None]:
    def write(root: Path) -> None:
        (root / folder).mkdir(parents=True, exist_ok=True)
        for number in range(201):
            (root / folder / name.format(number)).write_text(text)

    return write


def many_inputs(root: Path) -> None:
    folder = root / "prompts" / "internal"
    folder.mkdir(parents=True)
    names = ", ".join(f"name{number}" for number in range(40_000))
    head = f"---\nname: mine\ndescription: mine\ninputs: [{names}]\n---\n"
    (folder / "mine.md").write_text(f"{head}Do it.\n")


@pytest.mark.parametrize(
    ("way", "said"),
    [
        (many("kds-brain/rules", "r{}.yaml", "rules: []\n"), "holds 201 files, more than 200"),
        (many("kds-brain/english", "w{}.yaml", "a: b\n"), "holds 201 files, more than 200"),
        (many("prompts/internal", "p{}.md", "text\n"), "holds 201 files, more than 200"),
        (many_inputs, "inputs"),
    ],
)
def test_too_many_files_or_inputs_are_refused(
    fitted_workspace: Path, kds_call: Run, way: Callable[[Path], None], said: str
) -> None:
    way(fitted_workspace)
    refused(kds_call("route", "I want to add a FAB button"), said)


def test_a_huge_line_of_the_context_is_set_aside(fitted_workspace: Path, kds_call: Run) -> None:
    path = fitted_workspace / "kds-brain" / "conversation-context.jsonl"
    path.write_bytes(b'{"user_message": "' + b"a" * 1_000_001 + b'"}\n')
    result = kds_call("route", "I want to add a FAB button", "--json")
    assert data(result)["intent"] == "PLAN"
    assert "longer than 1,000,000 bytes" in result.err
