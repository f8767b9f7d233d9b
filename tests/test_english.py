"""The prose of the repository reads like English, not like a translation."""

import ast
import io
import re
import subprocess
import tokenize
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).resolve().parent.parent

CALQUE: Final = re.compile(
    r"(?<!there )(?<!there's )\b(?:is|are|was|were)\s+no\s+"
    r"(?!longer|more|less|fewer|better|worse|faster|slower|different|exception)[a-z]"
    r"|\bwhoever\b|\bnone of ours\b|\bwhat came\b|\bwho asks\b",
    re.IGNORECASE,
)
"""Word for word from another language: "is no JSON" (not JSON), "whoever waits" (the caller)."""

PROSE: Final = (".md", ".html", ".ts", ".mjs", ".js", ".toml")
"""Read whole, like Python outside of tests. Tests and YAML hold sentences of users: there only
docstrings, comments and the names of tests count."""

SKIPPED: Final = ("tests/documents/", "src/kds/web/static/vendor/", "router/fitted/")


def prose_of(name: str, text: str) -> Iterator[tuple[int, str]]:
    """Each piece of prose in a file, with its first line."""
    if name.endswith(PROSE) or (name.endswith(".py") and not name.startswith("tests/")):
        yield 1, text
    elif name.endswith(".py"):
        yield from _comments_and_names(text)
    elif name.endswith((".yaml", ".yml")):
        for at, line in enumerate(text.splitlines(), start=1):
            yield at, line.partition("#")[2]


def _comments_and_names(text: str) -> Iterator[tuple[int, str]]:
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and node.body:
            first = node.body[0]
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                yield first.lineno, str(first.value.value)
        if isinstance(node, ast.FunctionDef):
            yield node.lineno, node.name.replace("_", " ")


def calques(wrong: re.Pattern[str] = CALQUE) -> Iterator[str]:
    """Every calque under version control, as path:line and the words."""
    listed = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    for name in listed.stdout.splitlines():
        path = ROOT / name
        if name.startswith(SKIPPED) or path == Path(__file__) or path.is_symlink():
            continue
        if name.endswith((".py", ".yaml", ".yml", *PROSE)) and path.is_file():
            for line, text in prose_of(name, path.read_text(encoding="utf-8")):
                for found in wrong.finditer(text):
                    at = line + text.count("\n", 0, found.start())
                    yield f"{name}:{at}: {' '.join(found[0].split())}"


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="lists what is under version control")
def test_no_prose_reads_like_a_translation_or_cites_a_page_that_is_not_in_the_repository() -> None:
    assert list(calques()) == []
    assert list(calques(re.compile(r"\bDESIGN [0-9]|\bMISSION\b|\b(?:HOUSE|STYLE)\.md"))) == []


def test_a_calque_is_found_and_good_english_is_left() -> None:
    found = "it is no JSON|which are\nno files|Whoever waits|what came is odd|one who asks"
    assert all(map(CALQUE.search, found.split("|")))
    left = "there is no file|it is no longer here|the answer is no.|it is not JSON"
    assert not any(map(CALQUE.search, left.split("|")))
