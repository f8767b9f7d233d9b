"""What `kds prompts check` warns of: files that are never read, and keys that a copy has lost."""

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

from kds.brain.errors import Problem
from kds.brain.workspace import Workspace
from kds.brain.yaml_files import nearest, read_text
from kds.router.prompts.library import FOLDERS, PromptLibrary
from kds.router.prompts.promptfile import FENCE, SUFFIX, PromptFile, examples_path

_PLACES: Final = f"move it to prompts/{', prompts/'.join(FOLDERS[:-1])} or prompts/{FOLDERS[-1]}"
_RULES: Final = re.compile(r"^(?:rules|entities|knowledge):|^\s*-?\s*signal:", re.MULTILINE)
"""How a rule file of KDS gives itself away, among those of linters and other tools."""


def stray_files(workspace: Workspace) -> tuple[Problem, ...]:
    """Every such file, each with what to do. Reads only YAML and Markdown."""
    found = (*_prompts(workspace.prompts_dir), *_examples(workspace.prompts_dir))
    rules = _rules(workspace.root / "rules", workspace.rules_dir)
    return (*found, *rules)


def _prompts(folder: Path) -> Iterator[Problem]:
    """Prompts at the wrong level, or in a folder whose name is nearly one of ours."""
    for path in filter(_is_prompt, _files(folder, "*.md")):
        yield _unread(path, "lies beside the folders of prompts", _PLACES)
    for inner in _folders(folder):
        if inner.name in FOLDERS:
            wrong = [path for deeper in _folders(inner) for path in _files(deeper, "*.md")]
            message, hint = f"lies too deep in prompts/{inner.name}", f"move it to {inner}"
        else:
            near = nearest(inner.name.lower(), list(FOLDERS))
            wrong = _files(inner, "*.md") if near else []
            message, hint = f"lies in prompts/{inner.name}", f"did you mean prompts/{near}?"
        for path in filter(_is_prompt, wrong):
            yield _unread(path, message, hint)


def _examples(folder: Path) -> Iterator[Problem]:
    """Files of examples that stand alone, or that have another ending than KDS reads."""
    for path in _files(folder, f"*{SUFFIX}"):
        yield _unread(path, "lies beside the folders of prompts", "move it beside its prompt file")
    for inner in (folder / name for name in FOLDERS):
        for path in (*_files(inner, "*.yaml"), *_files(inner, "*.yml")):
            if not _is_read(path):
                yield _unread_yaml(path)


def _is_read(path: Path) -> bool:
    prompt = _prompt_of(path)
    is_partial = prompt.name.startswith("_")
    return examples_path(prompt) == path and prompt.is_file() and not is_partial


def _unread_yaml(path: Path) -> Problem:
    prompt = _prompt_of(path)
    right = examples_path(prompt)
    if right == path:
        hint = f"its prompt file {prompt.name} must lie beside it: add it, or remove this"
        return Problem(f"{path}:1", "has examples for a prompt that is not there", hint)
    hint = f"examples are read from {right.name}, rules from kds-brain/rules/"
    return Problem(f"{path}:1", "is not read: no prompt, no file of examples", hint)


def _prompt_of(path: Path) -> Path:
    return path.with_name(f"{path.name.partition('.')[0]}.md")


def _rules(wrong: Path, right: Path) -> Iterator[Problem]:
    for path in _files(right, "*.yml"):
        message = "is not read: rule files end with .yaml"
        yield Problem(f"{path}:1", message, f"name it {path.stem}.yaml")
    for path in (*_files(wrong, "*.yaml"), *_files(wrong, "*.yml")):
        text = read_text(path)
        if isinstance(text, str) and _RULES.search(text):
            hint = f"move it to {right}/{path.stem}.yaml"
            yield _unread(path, "looks like a rule file of KDS", hint)


def _files(folder: Path, pattern: str) -> list[Path]:
    return [path for path in sorted(folder.glob(pattern)) if path.is_file()]


def _folders(folder: Path) -> list[Path]:
    return [path for path in sorted(folder.glob("*")) if path.is_dir()]


def _is_prompt(path: Path) -> bool:
    text = read_text(path)
    return isinstance(text, str) and text.lstrip().startswith(FENCE)


def _unread(path: Path, message: str, hint: str) -> Problem:
    return Problem(f"{path}:1", f"{message}, where it is not read", hint)


BEHAVIOUR: Final[Mapping[str, str]] = {
    "needs": "it is chosen without the words it needs",
    "context": "where a message stands in the conversation no longer counts for it",
    "absorbs": "sentences that only spell it out count as requests of their own",
    "symptoms": "reports of symptoms go where their words point",
    "starts_session": "it starts no sessions",
    "corrects": "it stops no agents, and corrects nothing",
    "only_looks": "'go ahead' hands on what it has only looked at",
}
"""Keys that say what follows from an intent, and what happens without them."""


def lost_behaviour(library: PromptLibrary, packaged: Iterable[PromptFile]) -> tuple[Problem, ...]:
    """Every such key that a prompt of ``library`` leaves out; one that it denies is meant so."""
    shipped = {prompt.intent: prompt for prompt in packaged if prompt.intent}
    return tuple(
        problem
        for prompt in library.agents()
        if (first := shipped.get(prompt.intent or "")) is not None and first.path != prompt.path
        for problem in _losses(prompt, first)
    )


def _losses(prompt: PromptFile, packaged: PromptFile) -> Iterator[Problem]:
    said = prompt.front.data if isinstance(prompt.front.data, dict) else {}
    for key, loss in BEHAVIOUR.items():
        value = getattr(packaged, key)
        if not value or key in said:
            continue
        name = Path(packaged.ref).name
        message = f"has no '{key}', which the packaged {name} has: {loss}"
        none = "false" if value is True else "[]"
        hint = f"copy it from {packaged.front.where((key,))}; '{key}: {none}' if that is meant"
        yield Problem(prompt.front.where(("intent",)), message, hint)
