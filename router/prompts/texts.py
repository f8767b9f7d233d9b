"""What lies in the folders of prompts, the packaged ones and a workspace's own laid over them.

A root holds `user/`, `internal/` and `shared/`, each with Markdown files; names that begin
with "_" are partials. A file of the workspace replaces the packaged one at the same place.
A file of the workspace without front matter is a note of the project, not a prompt: it is passed
over, unless it has the name of a prompt that comes with KDS and so is meant to replace it.
"""

from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Final

import kds.prompts
from kds.brain.errors import Problem, PromptFileError
from kds.brain.yaml_files import DocumentCache, files_in, read_text
from kds.router.prompts.examplefile import ExamplesText, examples_path
from kds.router.prompts.promptfile import FENCE

FOLDERS: Final = ("user", "internal", "shared")


@cache
def packaged_root() -> Path:
    """The folder of the prompts that come with KDS."""
    return Path(kds.prompts.__file__).resolve().parent


@dataclass(frozen=True, slots=True)
class PromptTexts:
    """What lies in the folders of prompts: each file by its name within its root, with its text.

    ``problems`` are those of files that cannot be prompts, ``passed_over`` those of mere notes;
    ``examples`` are the files beside prompts, by the names of these.
    """

    texts: tuple[tuple[str, Path, str | Problem], ...]
    passed_over: tuple[Problem, ...]
    problems: tuple[Problem, ...]
    examples: tuple[tuple[str, ExamplesText], ...] = ()
    cache: DocumentCache | None = field(default=None, compare=False)


def gathered(roots: Iterable[Path], cache: DocumentCache | None = None) -> PromptTexts:
    """What lies in several folders; later ones win. The first must be prompts throughout."""
    first, *overlays = roots
    own, problems = _files([first])
    laid_over, links = _files(overlays)
    packaged = {path.name for path in own.values()}
    notes, unfenced = _without_front_matter(laid_over, packaged)
    left_out = notes.keys() | unfenced.keys()
    files = own | {name: path for name, path in laid_over.items() if name not in left_out}
    return PromptTexts(
        texts=tuple((name, path, read_text(path)) for name, path in files.items()),
        passed_over=tuple(notes.values()),
        problems=(*problems, *links, *unfenced.values()),
        examples=tuple(_examples(files, own)),
        cache=cache,
    )


def _examples(
    files: Mapping[str, Path], own: Mapping[str, Path]
) -> Iterator[tuple[str, ExamplesText]]:
    """The files of examples beside prompts; a copy without one has that of the packaged prompt."""
    for name, path in files.items():
        if path.name.startswith("_"):
            continue
        beside, packaged = examples_path(path), examples_path(own.get(name, path))
        if beside.is_file():
            text = read_text(beside) if _is_inside(beside) else _leaves(beside)
            yield name, ExamplesText(beside, text)
        elif packaged.is_file():
            yield name, ExamplesText(packaged, read_text(packaged), inherited=True)


def _files(roots: Iterable[Path]) -> tuple[dict[str, Path], list[Problem]]:
    """Every Markdown file by its name within its root ("internal/work-planner.md")."""
    files: dict[str, Path] = {}
    problems: list[Problem] = []
    for root in roots:
        for path in _markdown(root):
            if _is_inside(path):
                files[f"{path.parent.name}/{path.name}"] = path
            else:
                problems.append(_leaves(path))
    return files, problems


def _is_inside(path: Path) -> bool:
    """Whether a file in a folder of a root is in that root, and not behind a link out of it."""
    if not (path.is_symlink() or path.parent.is_symlink()):
        return True
    return path.resolve().is_relative_to(path.parent.parent.resolve())


def _leaves(path: Path) -> Problem:
    message = "is a link that leaves the prompts folder"
    return Problem(f"{path}:1", message, "copy the file into the folder")


def _without_front_matter(
    files: Mapping[str, Path], packaged: Container[str]
) -> tuple[dict[str, Problem], dict[str, Problem]]:
    """What only happens to lie in our folders, by name; and what was to replace one of ours.

    A file is no note when "---" comes first, even if the rest of its front matter is wrong.
    """
    notes: dict[str, Problem] = {}
    problems: dict[str, Problem] = {}
    for name, path in files.items():
        text = FENCE if path.name.startswith("_") else read_text(path)  # partials have none
        if isinstance(text, Problem) or text.lstrip().startswith(FENCE):
            continue
        if not text.strip():  # as the shell makes it before `kds prompts show NAME > FILE` runs
            notes[name] = Problem(f"{path}:1", "is empty and passed over", "write the prompt")
        elif path.name in packaged:
            message = "has no front matter, and the name of a prompt that comes with KDS"
            problems[name] = Problem(f"{path}:1", message, f"{_FRONT_MATTER}, or rename the file")
        else:
            message = "has no front matter, so it is not a prompt of KDS and is passed over"
            notes[name] = Problem(f"{path}:1", message, f"if it is to be one, {_FRONT_MATTER}")
    return notes, problems


_FRONT_MATTER: Final = f"begin it with a line '{FENCE}', the YAML, and another line '{FENCE}'"


def _markdown(root: Path) -> Iterator[Path]:
    for folder in FOLDERS:
        found = files_in(root / folder, "*.md")
        if isinstance(found, Problem):
            raise PromptFileError([found])
        yield from found
