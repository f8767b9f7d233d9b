"""One prompt file: YAML front matter between `---` lines, then a Jinja body.

The front matter is the only place where an intent is defined. `read_prompt` reports every problem
that one file shows by itself; the library checks what needs the other files. The examples of an
agent may stand in a file of their own, `NAME.examples.yaml` beside `NAME.md`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from kds.brain.errors import Problem
from kds.brain.yaml_files import Document, NodePath, parse_yaml, validate
from kds.router.pattern import Pattern, control_problem

MOST_SHIFT: Final = 10.0
"""Log odds: more decides alone, and that is for patterns that are `exact`."""

FENCE: Final = "---"
SUFFIX: Final = ".examples.yaml"
BEGIN: Final = f"begin it with a line '{FENCE}', the YAML, and another line '{FENCE}'"

OF_AN_INTENT: Final = (
    *("patterns", "not", "needs", "context", "absorbs", "symptoms"),
    *("starts_session", "corrects", "only_looks"),
)
"""Keys that say nothing of a prompt without an intent."""

When = Literal["first", "question", "reference", "addition", "image"]
"""Signs of a conversation that may speak for or against an intent; see docs/prompt-files.md."""

Text = Annotated[str, Field(min_length=1, max_length=2000)]
_Intent = Annotated[str, Field(pattern=r"^[A-Z][A-Z0-9_]*$")]
_Name = Annotated[str, Field(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$", max_length=64)]
"""Also the rule for skill names, so that skills can be made from prompt files."""
_Tool = Annotated[str, Field(pattern=r"^[a-zA-Z0-9_-]{1,64}$")]
"""What the providers of models accept as the name of a tool."""
_NAMES: Final = Field(max_length=100, strict=False)
_PATTERNS: Final = Field(max_length=200, strict=False)
"""Of one file. Those that ship have fewer; each is compiled when it is read."""
_EXAMPLES: Final = Field(max_length=2_000, strict=False)
"""Of one file. The most that ship have below 400; a fit takes longer with each."""

_Examples = Annotated[
    tuple[Text, ...], _EXAMPLES, BeforeValidator(lambda given: () if given is None else given)
]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, str_strip_whitespace=True)


class NotEntry(_Strict):
    """A pattern without a weight, as under `not` and `needs`."""

    regex: Text | None = None
    literal: Text | None = None
    exact: bool = False


class PatternEntry(NotEntry):
    """A pattern that is evidence."""

    weight: Annotated[float, Field(gt=0, le=1)]


class ContextShift(_Strict):
    """What the conversation says about an intent: ``shift`` in log odds ``when`` a sign is there.

    With ``after``, only when the message before had one of these intents.
    """

    when: When
    after: Annotated[tuple[_Intent, ...], _NAMES] = ()
    shift: Annotated[float, Field(ge=-MOST_SHIFT, le=MOST_SHIFT)]


class ExampleKeys(_Strict):
    """The keys of a file of examples; one with nothing below it counts as an empty list."""

    examples: _Examples = ()
    counter_examples: _Examples = ()


class _Keys(_Strict):
    """What a prompt file says word for word; docs/prompt-files.md says what its keys mean."""

    name: _Name
    description: Annotated[str, Field(min_length=1, max_length=1024)]
    intent: _Intent | None = None
    priority: Annotated[int, Field(ge=0, le=999)] = 500  # behind every agent that ships (10 to 110)
    examples: Annotated[tuple[Text, ...], _EXAMPLES] = ()
    counter_examples: Annotated[tuple[Text, ...], _EXAMPLES] = ()
    context: Annotated[tuple[ContextShift, ...], _NAMES] = ()
    absorbs: Annotated[tuple[_Intent, ...], _NAMES] = ()
    symptoms: Annotated[tuple[_Intent, ...], _NAMES] = ()
    starts_session: bool = False
    corrects: bool = False
    only_looks: bool = False
    inputs: Annotated[tuple[Text, ...], _NAMES] = ()
    confirm: bool = False
    memory: bool = True
    handoffs: Annotated[tuple[_Intent, ...], _NAMES] = ()
    ask: Text | None = None
    tools: Annotated[tuple[_Tool, ...], _NAMES] = ()


class FrontMatter(_Keys):
    """The keys of a prompt file."""

    patterns: Annotated[tuple[PatternEntry, ...], _PATTERNS] = ()
    not_: Annotated[tuple[NotEntry, ...], Field(alias="not"), _PATTERNS] = ()
    needs: Annotated[tuple[NotEntry, ...], _PATTERNS] = ()


@dataclass(frozen=True, slots=True)
class ExamplesText:
    """A file of examples with its text, or with the Problem that keeps it from being read.

    An ``inherited`` one is that of the packaged prompt, for a copy that names no examples.
    """

    path: Path
    text: str | Problem
    inherited: bool = False


@dataclass(frozen=True, slots=True)
class IntentPattern:
    """Evidence for an intent: ``weight`` in (0, 1]; an ``exact`` one matches whole messages."""

    source: str
    pattern: Pattern
    weight: float
    exact: bool
    where: str


class PromptFile(_Keys):
    """A prompt as its file defines it; an agent when it has an intent.

    ``ref`` is its place among the prompts, "prompts/internal/work-planner.md"; ``excludes`` are
    the patterns under `not`; ``front`` is its front matter, ``more`` the file of its examples.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    patterns: tuple[IntentPattern, ...] = ()
    excludes: tuple[IntentPattern, ...] = ()
    needs: tuple[IntentPattern, ...] = ()
    body: str
    body_line: int
    path: Path
    ref: str
    front: Document
    more: Document | None

    @property
    def phrase(self) -> str:
        """What the agent does, behind "to" in a question."""
        return self.ask or f"have the {self.name.replace('-', ' ')} take it"

    def example_place(self, number: int) -> str:
        """``path:line`` of an example; of what was learned, the place where it would stand."""
        data = self.front.data
        own = len(data.get("examples") or ()) if isinstance(data, dict) else 0
        if self.more is None or number < own:
            return self.front.where(("examples", number))
        return self.more.where(("examples", number - own))


def examples_path(prompt: Path) -> Path:
    """Where the examples of a prompt file may lie.

    >>> examples_path(Path("internal/work-planner.md")).name
    'work-planner.examples.yaml'
    """
    return prompt.with_name(f"{prompt.stem}{SUFFIX}")


def read_prompt(
    text: str, *, path: Path, ref: str, trusted: bool = False, examples: ExamplesText | None = None
) -> tuple[PromptFile | None, list[Problem]]:
    """Read one prompt file, with everything that it shows to be wrong by itself.

    The prompt is None when its front matter cannot be read; with other problems it is for further
    checks only. ``examples`` is the file of its examples. The patterns of a ``trusted`` file are
    not checked: the tests check those that ship.
    """
    lines = text.split("\n")
    ends = (at for at, line in enumerate(lines) if at and line.rstrip() == FENCE)
    if lines[0].rstrip() != FENCE or (end := next(ends, 0)) == 0:
        unfenced = Problem(f"{path}:1", "has no front matter", BEGIN)
        return None, [unfenced, *_read_examples(examples)[2]]
    front = parse_yaml("\n".join(lines[1:end]), path=str(path), first_line=2)
    if examples and examples.inherited and isinstance(front.data, dict):
        # an inherited file counts only where the prompt names no examples, not even []
        examples = None if front.data.keys() & ExampleKeys.model_fields.keys() else examples
    more, more_document, problems = _read_examples(examples)
    body, body_line = "\n".join(lines[end + 1 :]), end + 2
    if not body.strip():
        hint = "write the prompt below the front matter"
        problems.append(Problem(f"{path}:{body_line}", "has an empty body", hint))
    found = validate(front, FrontMatter)
    if isinstance(found, tuple):
        return None, [*found, *problems]
    problems += _own_problems(found, front, path)

    def compiled(key: str, entries: Sequence[NotEntry]) -> Iterator[IntentPattern]:
        for index, entry in enumerate(entries):
            at: NodePath = (key, index)
            where = f"{ref}:{front.line(at)}"
            pattern = _compile(entry, front.where(at), where, checked=trusted)
            if isinstance(pattern, Problem):
                problems.append(pattern)
            else:
                weight = entry.weight if isinstance(entry, PatternEntry) else 1.0
                yield IntentPattern(pattern.source, pattern, weight, entry.exact, where)

    keys = dict(found) | {
        "patterns": tuple(compiled("patterns", found.patterns)),
        "excludes": tuple(compiled("not", found.not_)),
        "needs": tuple(compiled("needs", found.needs)),
        "examples": (*found.examples, *more.examples),
        "counter_examples": (*found.counter_examples, *more.counter_examples),
    }
    del keys["not_"]
    prompt = PromptFile.model_construct(
        **keys, body=body, body_line=body_line, path=path, ref=ref, front=front, more=more_document
    )
    return prompt, problems


def _read_examples(
    given: ExamplesText | None,
) -> tuple[ExampleKeys, Document | None, list[Problem]]:
    """Read the file of examples, if there is one, or say everything that is wrong with it."""
    if given is None:
        return ExampleKeys(), None, []
    if isinstance(given.text, Problem):
        return ExampleKeys(), None, [given.text]
    document = parse_yaml(given.text, path=str(given.path))
    if not document.problems and document.data in (None, []):
        return ExampleKeys(), document, []
    if isinstance(document.data, list):
        hint = "write 'examples:' above the list, or 'counter_examples:'"
        return ExampleKeys(), None, [Problem(document.where(), "is a list without a name", hint)]
    found = validate(document, ExampleKeys)
    return (ExampleKeys(), None, [*found]) if isinstance(found, tuple) else (found, document, [])


def _own_problems(found: FrontMatter, front: Document, path: Path) -> Iterator[Problem]:
    """What does not go together within one front matter."""
    if found.name != path.stem:
        message = f"name '{found.name}' is not the file name '{path.stem}'"
        hint = f"write 'name: {path.stem}', or rename the file"
        yield Problem(front.where(("name",)), message, hint)
    for key in OF_AN_INTENT if found.intent is None else ():
        if getattr(found, "not_" if key == "not" else key):
            hint = f"add 'intent: NAME', or remove '{key}'"
            yield Problem(front.where((key,)), f"has '{key}' and no intent", hint)


def _compile(entry: NotEntry, shown: str, where: str, *, checked: bool) -> Pattern | Problem:
    """``shown`` is where a problem is reported, ``where`` the name the pattern goes by."""
    if (entry.regex is None) == (entry.literal is None):
        message = "a pattern has neither 'regex' nor 'literal', or both"
        return Problem(shown, message, "give each pattern exactly one of the two")
    if entry.literal is not None:
        unseen = control_problem(entry.literal, shown)
        return unseen or Pattern.literal(entry.literal, where=where, exact=entry.exact)
    made = Pattern.compile(entry.regex or "", where=where, exact=entry.exact, checked=checked)
    return Problem(shown, made.message, made.hint) if isinstance(made, Problem) else made
