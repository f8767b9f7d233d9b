"""A file that KDS generates for a client, and its front matter."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Final

import yaml

from kds.router.prompts.library import PromptLibrary
from kds.router.prompts.promptfile import PromptFile

FRONT_DOOR: Final = "kds"
"""The prompt that routes, and the name of the files made from it."""
PREFIX: Final = "kds-"
"""Before the name of an agent, so that no file clashes with those of the project."""

MAX_NAME: Final = 64
MAX_DESCRIPTION: Final = 1024
"""Characters; both limits are those of the agent skills specification (agentskills.io)."""


@dataclass(frozen=True, slots=True)
class GeneratedFile:
    """A file to be written: its place below the folder that was asked for, and its text."""

    path: PurePosixPath
    text: str


def file_name(prompt: PromptFile) -> str:
    """The name of what is made from a prompt: `kds` itself, `kds-work-planner` of an agent.

    A name beyond 64 characters loses its end, which no name that ships comes near.
    """
    name = prompt.name if prompt.name == FRONT_DOOR else f"{PREFIX}{prompt.name}"
    return name[:MAX_NAME].rstrip("-")


def front_door(library: PromptLibrary) -> PromptFile:
    """The prompt that routes. Raises DispatchError when there is none."""
    return library.get(FRONT_DOOR)


def with_front_matter(fields: Mapping[str, object], body: str) -> str:
    """A Markdown text behind its YAML front matter, which keeps the order of ``fields``."""
    front = yaml.safe_dump(
        dict(fields), allow_unicode=True, sort_keys=False, width=10_000, default_flow_style=False
    )
    return f"---\n{front}---\n\n{body}\n"


def shortened(sentences: Iterable[str], limit: int) -> str:
    """The sentences as one line, cut at a word when they are longer than ``limit`` characters.

    >>> shortened(["Plans a thing.", "Use it always."], 20)
    'Plans a thing....'
    """
    line = " ".join(" ".join(sentences).split())
    return line if len(line) <= limit else f"{line[: limit - 3].rsplit(' ', 1)[0]}..."
