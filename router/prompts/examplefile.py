"""The examples of an agent in a file of their own: `NAME.examples.yaml` beside `NAME.md`.

A prompt file that shows its prompt is easier to read than one behind hundreds of messages.
Examples in the front matter go on counting, and come first.
"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Final

from pydantic import BaseModel, BeforeValidator

from kds.brain.errors import Problem
from kds.brain.yaml_files import Document, DocumentCache, validate
from kds.router.prompts.frontmatter import MANY_EXAMPLES, STRICT, Text

SUFFIX: Final = ".examples.yaml"


@dataclass(frozen=True, slots=True)
class ExamplesText:
    """Such a file with its text, or with the Problem that keeps it from being read.

    An ``inherited`` one is that of the packaged prompt, for a copy that names no examples.
    """

    path: Path
    text: str | Problem
    inherited: bool = False


@dataclass(frozen=True, slots=True)
class ExampleFile:
    """What such a file says. With ``problems`` it has no examples."""

    examples: tuple[str, ...] = ()
    counter_examples: tuple[str, ...] = ()
    document: Document | None = None
    problems: tuple[Problem, ...] = field(default=())


Examples = Annotated[
    list[Text], MANY_EXAMPLES, BeforeValidator(lambda given: [] if given is None else given)
]
"""A list, and none where all that stood below its key was taken out."""


class ExampleSchema(BaseModel):
    """The keys of such a file."""

    model_config = STRICT
    examples: Examples = []
    counter_examples: Examples = []


def examples_path(prompt: Path) -> Path:
    """Where the examples of a prompt file may lie.

    >>> examples_path(Path("internal/work-planner.md")).name
    'work-planner.examples.yaml'
    """
    return prompt.with_name(f"{prompt.stem}{SUFFIX}")


def read_examples(given: ExamplesText | None, cache: DocumentCache) -> ExampleFile:
    """Read one file, if there is one, or say everything that is wrong with it."""
    if given is None:
        return ExampleFile()
    if isinstance(given.text, Problem):
        return ExampleFile(problems=(given.text,))
    document = cache.parse(given.text, path=str(given.path))
    if not document.problems and (document.data is None or document.data == []):
        return ExampleFile(document=document)
    if isinstance(document.data, list):
        hint = "write 'examples:' above the list, or 'counter_examples:'"
        return ExampleFile(problems=(Problem(document.where(), "is a list without a name", hint),))
    found = validate(document, ExampleSchema)
    if isinstance(found, tuple):
        return ExampleFile(problems=found)
    cache.keep(given.text, document)
    return ExampleFile(tuple(found.examples), tuple(found.counter_examples), document)
