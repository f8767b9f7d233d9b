"""What a project can bring along in great numbers: it is refused with the place, limit and fix."""

from collections.abc import Callable
from pathlib import Path
from time import process_time

import pytest

from .conftest import Run, data


def many(folder: str, name: str, text: str, *, files: int = 201) -> Callable[[Path], None]:
    def write(root: Path) -> None:
        (root / folder).mkdir(parents=True, exist_ok=True)
        for number in range(files):
            (root / folder / name.format(number)).write_text(text)

    return write


def one(name: str, text: str) -> Callable[[Path], None]:
    def write(root: Path) -> None:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)

    return write


TAGS = "---\nname: m\ndescription: m\ninputs: [message]\n---\n" + "{{ message }} " * 40_000
LINE = f'{{"user_message": "{"a" * 1_000_001}"}}\n'
DEEP = "[" * 100_000 + "]" * 100_000
EXAMPLES = "".join(f"  - do the thing {n}\n" for n in range(2_001))
AGENT = f"---\nname: m\ndescription: m\nintent: MINE\nexamples:\n{EXAMPLES}---\nDo it.\n"
CPU_S = 4.0
"""What a refusal or an answer may take in a process that has everything loaded: 2 s, and as much
again for a machine that is busy with other tests."""


@pytest.mark.parametrize(
    ("way", "said"),
    [
        (one("kds-brain/settings.yaml", f"# {'a' * 97}\n" * 600_000), "larger than 1000 kB"),
        (one("kds-brain/settings.yaml", f"memory: {DEEP}\n"), "nested too deeply"),
        (one("kds-brain/rules/r.yaml", f"rules: {DEEP}\n"), "nested too deeply"),
        (one("prompts/internal/m.md", f"---\nname: {DEEP}\n---\nDo it.\n"), "nested too deeply"),
        (one("prompts/internal/m.md", TAGS), "more than 10,000 template tags"),
        (many("kds-brain/rules", "r{}.yaml", f"# {'a' * 990_000}\n", files=200), "more than 500"),
        (many("prompts/internal", "p{}.md", "a" * 990_000, files=200), "more than 500"),
        (one("prompts/internal/m.md", AGENT), "2000"),
        (many("kds-brain/rules", "r{}.yaml", "rules: []\n"), "holds 201 files, more than 200"),
        (many("kds-brain/english", "w{}.yaml", "a: b\n"), "holds 201 files, more than 200"),
        (many("prompts/internal", "p{}.md", "text\n"), "holds 201 files, more than 200"),
    ],
)
def test_what_is_too_large_too_deep_or_too_many_is_left_out_at_once_and_named(
    fitted_workspace: Path, kds_call: Run, way: Callable[[Path], None], said: str
) -> None:
    way(fitted_workspace)
    began = process_time()
    result = kds_call("route", "I want to add a FAB button")
    assert said in result.err
    assert (result.code, "PLAN" in result.out) in ((0, True), (2, False))
    assert process_time() - began < CPU_S


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("learned.yaml", f"examples: {DEEP}\n", ""),
        ("learned.yaml", "# x\n" * 15_000_000, ""),
        ("conversation-context.jsonl", "{}\n" * 20_000_000, ""),
        ("conversation-context.jsonl", "\n" * 60_000_000, ""),
        ("conversation-context.jsonl", f'{{"user_message": {DEEP}}}\n', ""),
        ("conversation-context.jsonl", LINE, "longer than 1,000,000 bytes"),
    ],
    ids=["deep learned", "huge learned", "short lines", "blank lines", "deep line", "huge line"],
)
def test_what_only_the_memory_of_a_project_holds_is_set_aside_at_once(
    fitted_workspace: Path, kds_call: Run, name: str, text: str, said: str
) -> None:
    (fitted_workspace / "kds-brain" / name).write_text(text)
    began = process_time()
    result = kds_call("route", "I want to add a FAB button", "--json")
    assert data(result)["intent"] == "PLAN"
    assert said in result.err
    assert process_time() - began < CPU_S
