"""What a project can bring along in great numbers: it is refused with the place, limit and fix."""

from collections.abc import Callable
from pathlib import Path
from time import process_time

import pytest

from .conftest import Run, data


def files(text: str, name: str, *, count: int = 1) -> Callable[[Path], None]:
    """Writes so many files with a text, into the name of which their number goes."""

    def write(root: Path) -> None:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        for number in range(count):
            (root / name.format(number)).write_text(text)

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
        (files(f"# {'a' * 97}\n" * 600_000, "kds-brain/settings.yaml"), "larger than 1000 kB"),
        (files(f"memory: {DEEP}\n", "kds-brain/settings.yaml"), "nested too deeply"),
        (files(f"rules: {DEEP}\n", "kds-brain/rules/r.yaml"), "nested too deeply"),
        (files(f"---\nname: {DEEP}\n---\nDo it.\n", "prompts/internal/m.md"), "nested too deeply"),
        (files(TAGS, "prompts/internal/m.md"), "more than 10,000 template tags"),
        (files(AGENT, "prompts/internal/m.md"), "2000"),
        (files(f"# {'a' * 990_000}\n", "kds-brain/rules/r{}.yaml", count=200), "more than 500"),
        (files("a" * 990_000, "prompts/internal/p{}.md", count=200), "more than 500"),
        (files("rules: []\n", "kds-brain/rules/r{}.yaml", count=201), "201 files, more than 200"),
        (files("a: b\n", "kds-brain/english/w{}.yaml", count=201), "201 files, more than 200"),
        (files("text\n", "prompts/internal/p{}.md", count=201), "201 files, more than 200"),
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
