"""What `kds prompts check` warns of: files that look like those of KDS and are never read."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from kds.brain.errors import Problem
from kds.brain.workspace import Workspace
from kds.brain.yaml_files import nearest, read_text
from kds.router.prompts.library import FOLDERS
from kds.router.prompts.promptfile import FENCE, SUFFIX, examples_path

_PLACES: Final = f"move it to prompts/{', prompts/'.join(FOLDERS[:-1])} or prompts/{FOLDERS[-1]}"
_RULES: Final = re.compile(r"^(?:rules|entities|knowledge):|^\s*-?\s*signal:", re.MULTILINE)
"""How a rule file of KDS gives itself away, among those of linters and other tools."""


def stray_files(workspace: Workspace) -> tuple[Problem, ...]:
    """Every such file, each with what to do. Reads only YAML and Markdown."""
    found = (
        *_prompts(workspace.prompts_dir),
        *_examples(workspace.prompts_dir),
        *_rules(workspace.root / "rules", workspace.rules_dir),
    )
    message = "looks like a file of KDS, and is not read here"
    return tuple(Problem(f"{path}:1", message, hint) for path, hint in found)


def _prompts(folder: Path) -> Iterator[tuple[Path, str]]:
    """Prompts at the wrong level, or in a folder whose name is nearly one of ours."""
    for path in _files(folder, "**/*.md"):
        *inner, _ = path.relative_to(folder).parts
        near = nearest(inner[0].lower(), list(FOLDERS)) if inner else None
        is_read = len(inner) == 1 and inner[0] in FOLDERS
        if not is_read and (near or not inner) and _text(path).lstrip().startswith(FENCE):
            yield path, f"move it to prompts/{near}" if near else _PLACES


def _examples(folder: Path) -> Iterator[tuple[Path, str]]:
    """Files of examples that stand alone, or that have another ending than KDS reads."""
    for path in _files(folder, f"*{SUFFIX}"):
        yield path, "move it beside its prompt file"
    for path in (one for name in FOLDERS for one in _files(folder / name, "*.y*ml")):
        prompt = path.with_name(f"{path.name.partition('.')[0]}.md")
        if examples_path(prompt) != path:
            hint = f"examples are read from {examples_path(prompt).name}"
            yield path, f"{hint}, rules from kds-brain/rules/"
        elif not prompt.is_file():
            yield path, f"its prompt file {prompt.name} must lie beside it: add it, or remove this"


def _rules(wrong: Path, right: Path) -> Iterator[tuple[Path, str]]:
    for path in _files(right, "*.yml"):
        yield path, f"name it {path.stem}.yaml"
    for path in _files(wrong, "*.y*ml"):
        if _RULES.search(_text(path)):
            yield path, f"move it to {right}/{path.stem}.yaml"


def _files(folder: Path, pattern: str) -> list[Path]:
    return [path for path in sorted(folder.glob(pattern)) if path.is_file()]


def _text(path: Path) -> str:
    text = read_text(path)
    return text if isinstance(text, str) else ""
