"""One prompt file: YAML front matter between `---` lines, then a Jinja body.

The front matter is the only place where an intent is defined. `read_prompt` reports every problem
that one file shows by itself; the library checks what needs the other files. The examples of an
agent may stand in a file of their own, `NAME.examples.yaml` beside `NAME.md`.

The JSON Schema under `output` may come with a cloned project. It refers to nothing outside of
itself and, with its references followed, is of limited size, so that a check ends.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from kds.brain.errors import Problem
from kds.brain.yaml_files import Document, NodePath, parse_yaml, validate
from kds.router.pattern import Pattern, control_problem

MOST_SHIFT: Final = 10.0
"""Log odds: more decides alone, and that is for patterns that are `exact`."""

FENCE: Final = "---"
SUFFIX: Final = ".examples.yaml"

When = Literal["first", "question", "reference", "addition", "image"]
"""Signs of a conversation that may speak for or against an intent; see docs/prompt-files.md."""

Text = Annotated[str, Field(min_length=1, max_length=2000)]
_Intent = Annotated[str, Field(pattern=r"^[A-Z][A-Z0-9_]*$")]
_Name = Annotated[str, Field(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$", max_length=64)]
"""Also the rule for skill names, so that skills can be made from prompt files."""
_Tool = Annotated[str, Field(pattern=r"^[a-zA-Z0-9_-]{1,64}$")]
"""What the providers of models accept as the name of a tool."""
_NAMES: Final = Field(max_length=100)
_PATTERNS: Final = Field(max_length=200)
"""Of one file. Those that ship have fewer; each is compiled when it is read."""
_EXAMPLES: Final = Field(max_length=2_000)
"""Of one file. The most that ship have below 400; a fit takes longer with each."""


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, str_strip_whitespace=True)


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
    after: list[_Intent] = []
    shift: Annotated[float, Field(ge=-MOST_SHIFT, le=MOST_SHIFT)]


class FrontMatter(_Strict):
    """The keys of a prompt file. docs/prompt-files.md says what they mean."""

    name: _Name
    description: Annotated[str, Field(min_length=1, max_length=1024)]
    intent: _Intent | None = None
    priority: Annotated[int, Field(ge=0, le=999)] = 500  # behind every agent that ships (10 to 110)
    patterns: Annotated[list[PatternEntry], _PATTERNS] = []
    not_: Annotated[list[NotEntry], Field(alias="not"), _PATTERNS] = []
    needs: Annotated[list[NotEntry], _PATTERNS] = []
    examples: Annotated[list[Text], _EXAMPLES] = []
    counter_examples: Annotated[list[Text], _EXAMPLES] = []
    context: Annotated[list[ContextShift], _NAMES] = []
    absorbs: Annotated[list[_Intent], _NAMES] = []
    symptoms: Annotated[list[_Intent], _NAMES] = []
    starts_session: bool = False
    corrects: bool = False
    only_looks: bool = False
    inputs: Annotated[list[Text], _NAMES] = []
    confirm: bool = False
    memory: bool = True
    handoffs: Annotated[list[_Intent], _NAMES] = []
    ask: Text | None = None
    tools: Annotated[list[_Tool], _NAMES] = []
    output: dict[str, Any] | None = None


_Examples = Annotated[
    list[Text], _EXAMPLES, BeforeValidator(lambda given: [] if given is None else given)
]


class ExampleKeys(_Strict):
    """The keys of a file of examples; one with nothing below it counts as an empty list."""

    examples: _Examples = []
    counter_examples: _Examples = []


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


@dataclass(frozen=True, slots=True)
class PromptFile:
    """A prompt as its file defines it; an agent when it has an intent.

    ``ref`` is its place among the prompts, "prompts/internal/work-planner.md"; ``excludes`` are
    the patterns under `not`; ``front`` is its front matter, ``more`` the file of its examples. The
    other fields are the keys of the file (docs/prompt-files.md).
    """

    name: str
    description: str
    intent: str | None
    priority: int
    patterns: tuple[IntentPattern, ...]
    excludes: tuple[IntentPattern, ...]
    needs: tuple[IntentPattern, ...]
    examples: tuple[str, ...]
    counter_examples: tuple[str, ...]
    context: tuple[ContextShift, ...]
    absorbs: tuple[str, ...]
    symptoms: tuple[str, ...]
    starts_session: bool
    corrects: bool
    only_looks: bool
    inputs: tuple[str, ...]
    confirm: bool
    memory: bool
    handoffs: tuple[str, ...]
    ask: str | None
    tools: tuple[str, ...]
    output: Mapping[str, object] | None
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


@dataclass(frozen=True, slots=True)
class PromptDraft:
    """A prompt file with what is wrong in it, as far as it can be read all the same.

    Its ``prompt`` is None when the front matter cannot be read; with other problems it is for
    further checks only.
    """

    problems: tuple[Problem, ...]
    prompt: PromptFile | None = None
    body: str = ""
    body_line: int = 1


def examples_path(prompt: Path) -> Path:
    """Where the examples of a prompt file may lie.

    >>> examples_path(Path("internal/work-planner.md")).name
    'work-planner.examples.yaml'
    """
    return prompt.with_name(f"{prompt.stem}{SUFFIX}")


def read_prompt(
    text: str, *, path: Path, ref: str, trusted: bool = False, examples: ExamplesText | None = None
) -> PromptDraft:
    """Read one prompt file, with everything that it shows to be wrong by itself.

    ``examples`` is the file of its examples. The patterns of a ``trusted`` file are not checked:
    the tests check those that ship.
    """
    lines = text.split("\n")
    ends = (at for at, line in enumerate(lines) if at and line.rstrip() == FENCE)
    if lines[0].rstrip() != FENCE or (end := next(ends, 0)) == 0:
        hint = "begin the file with a line '---', the YAML, and another line '---'"
        unfenced = Problem(f"{path}:1", "has no front matter", hint)
        return PromptDraft((unfenced, *_read_examples(examples)[2]))
    body, body_line = "\n".join(lines[end + 1 :]), end + 2
    front = parse_yaml("\n".join(lines[1:end]), path=str(path), first_line=2)
    if examples and examples.inherited and isinstance(front.data, dict):
        # an inherited file counts only where the prompt names no examples, not even []
        examples = None if front.data.keys() & ExampleKeys.model_fields.keys() else examples
    more, more_document, problems = _read_examples(examples)
    if not body.strip():
        hint = "write the prompt below the front matter"
        problems = [Problem(f"{path}:{body_line}", "has an empty body", hint), *problems]
    found = validate(front, FrontMatter)
    if isinstance(found, tuple):
        return PromptDraft((*found, *problems), None, body, body_line)
    problems = [*_own_problems(found, front, path), *problems]

    def compiled(key: str, entries: list[PatternEntry] | list[NotEntry]) -> Iterator[IntentPattern]:
        for index, entry in enumerate(entries):
            at: NodePath = (key, index)
            where = f"{ref}:{front.line(at)}"
            pattern = _compile(entry, front.where(at), where, checked=trusted)
            if isinstance(pattern, Problem):
                problems.append(pattern)
            else:
                weight = entry.weight if isinstance(entry, PatternEntry) else 1.0
                yield IntentPattern(pattern.source, pattern, weight, entry.exact, where)

    given: dict[str, Any] = {
        one.name: tuple(value) if isinstance(value, list) else value
        for one in fields(PromptFile)
        if (value := getattr(found, one.name, front)) is not front
    }
    given.update(
        patterns=tuple(compiled("patterns", found.patterns)),
        excludes=tuple(compiled("not", found.not_)),
        needs=tuple(compiled("needs", found.needs)),
        examples=(*found.examples, *more.examples),
        counter_examples=(*found.counter_examples, *more.counter_examples),
    )
    prompt = PromptFile(
        **given,
        body=body,
        body_line=body_line,
        path=path,
        ref=ref,
        front=front,
        more=more_document,
    )
    return PromptDraft(tuple(problems), prompt, body, body_line)


def _read_examples(
    given: ExamplesText | None,
) -> tuple[ExampleKeys, Document | None, list[Problem]]:
    """Read the file of examples, if there is one, or say everything that is wrong with it."""
    if given is None:
        return ExampleKeys(), None, []
    if isinstance(given.text, Problem):
        return ExampleKeys(), None, [given.text]
    document = parse_yaml(given.text, path=str(given.path))
    if not document.problems and (document.data is None or document.data == []):
        return ExampleKeys(), document, []
    if isinstance(document.data, list):
        hint = "write 'examples:' above the list, or 'counter_examples:'"
        return ExampleKeys(), None, [Problem(document.where(), "is a list without a name", hint)]
    found = validate(document, ExampleKeys)
    if isinstance(found, tuple):
        return ExampleKeys(), None, list(found)
    return found, document, []


_OF_AN_INTENT: Final = (
    *("patterns", "not", "needs", "context", "absorbs", "symptoms"),
    *("starts_session", "corrects", "only_looks"),
)
"""Keys that say nothing of a prompt without an intent."""


def _own_problems(found: FrontMatter, front: Document, path: Path) -> Iterator[Problem]:
    """What does not go together within one front matter."""
    if found.name != path.stem:
        message = f"name '{found.name}' is not the file name '{path.stem}'"
        hint = f"write 'name: {path.stem}', or rename the file"
        yield Problem(front.where(("name",)), message, hint)
    for key in _OF_AN_INTENT if found.intent is None else ():
        if getattr(found, "not_" if key == "not" else key):
            hint = f"add 'intent: NAME', or remove '{key}'"
            yield Problem(front.where((key,)), f"has '{key}' and no intent", hint)
    for key in ("inputs", "handoffs", "tools", "absorbs", "symptoms"):
        names = getattr(found, key)
        for index, name in enumerate(names):
            if name in names[:index]:
                message = f"{key} names '{name}' twice"
                yield Problem(front.where((key, index)), message, f"keep one '{name}'")
    yield from _idle_context(found.context, front)
    if found.intent is not None and found.intent in found.absorbs:
        where = front.where(("absorbs", found.absorbs.index(found.intent)))
        yield Problem(where, "absorbs its own intent", f"remove '{found.intent}'")
    if found.output is not None:
        yield from schema_problems(found.output, front, at=("output",))


def _idle_context(shifts: list[ContextShift], front: Document) -> Iterator[Problem]:
    """Entries of `context` that can never say anything."""
    for index, entry in enumerate(shifts):
        where = front.where(("context", index))
        if entry.when == "first" and entry.after:
            message = "'when: first' with 'after': no message comes before the first"
            yield Problem(where, message, "remove 'after', or write another 'when'")
        if entry.shift == 0:
            hint = "write how far it shifts, such as 0.5"
            yield Problem(where, "a 'shift' of 0 changes nothing", hint)


def _compile(entry: NotEntry, shown: str, where: str, *, checked: bool) -> Pattern | Problem:
    """``shown`` is where a problem is reported, ``where`` the name the pattern goes by."""
    if (entry.regex is None) == (entry.literal is None):
        which = "neither 'regex' nor" if entry.regex is None else "both 'regex' and"
        message = f"a pattern has {which} 'literal'"
        return Problem(shown, message, "give each pattern exactly one of the two")
    if entry.literal is not None:
        unseen = control_problem(entry.literal, shown)
        return unseen or Pattern.literal(entry.literal, where=where, exact=entry.exact)
    made = Pattern.compile(entry.regex or "", where=where, exact=entry.exact, checked=checked)
    return Problem(shown, made.message, made.hint) if isinstance(made, Problem) else made


# The JSON Schema under `output`. `jsonschema` takes 80 ms to import: it waits for a prompt that
# declares an output.

MOST_NODES: Final = 5_000
"""Keys and items of a schema, references followed; one written by a person has some hundreds."""

UNSUPPORTED: Final = ("pattern", "$id", "$dynamicRef")
"""Keywords that are left out: regexes can run for ever, the others lead out of the file."""

MOST_FAULTS: Final = 5
"""Faults that are told at once: enough to mend an answer."""

FAULT_CHARS: Final = 200
"""Characters of one fault: they quote the data, which may be long."""


def schema_problems(
    schema: Mapping[str, Any], front: Document, *, at: NodePath
) -> Iterator[Problem]:
    """Everything that keeps ``schema``, which stands at ``at`` in ``front``, from being used."""
    if schema.get("type") != "object":
        message = "the schema under 'output' does not describe an object"
        hint = "write 'type: object' and the fields under 'properties'"
        yield Problem(front.where((*at, "type")), message, hint)
        return
    nodes = list(islice(_nodes(schema, at), MOST_NODES + 1))
    if len(nodes) > MOST_NODES:
        message = f"the schema under 'output' has more than {MOST_NODES} keys and items"
        hint = "describe less; a definition cannot refer to itself"
        yield Problem(front.where(at), message, hint)
        return
    unusable = [
        Problem(front.where(place), *fault)
        for place, key, value in nodes
        if (fault := _unusable(schema, key, value))
    ]
    yield from unusable or _unsound(schema, front, at)


def schema_faults(schema: Mapping[str, Any], data: object) -> list[str]:
    """What of ``data`` does not fit ``schema``, in words; nothing when all of it does.

    >>> schema_faults({"type": "object", "required": ["answer"]}, {})
    ["'answer' is a required property"]
    """
    from jsonschema import Draft202012Validator
    from referencing import Registry

    one_draft = {key: value for key, value in schema.items() if key != "$schema"}
    validator = Draft202012Validator(one_draft, registry=Registry())  # fetches nothing
    try:
        found = list(islice(validator.iter_errors(data), 100))
    except RecursionError:
        return ["the data is nested too deep"]
    except ArithmeticError as error:  # multipleOf, with a number beyond all measure
        return [_cut(f"the data cannot be checked: {error}")]
    found.sort(key=lambda error: [str(part) for part in error.path])
    return [
        _cut(": ".join(filter(None, (".".join(map(str, error.path)), error.message))))
        for error in found[:MOST_FAULTS]
    ]


def _unsound(schema: Mapping[str, Any], front: Document, at: NodePath) -> Iterator[Problem]:
    """Where the schema breaks the rules of JSON Schema itself."""
    from jsonschema import Draft202012Validator

    for error in Draft202012Validator(Draft202012Validator.META_SCHEMA).iter_errors(schema):
        place = (*at, *error.path)
        message = f"'{place[-1]}' is not as JSON Schema has it: {_cut(error.message)}"
        hint = "see https://json-schema.org for what may stand there"
        yield Problem(front.where(place), message, hint)


def _unusable(root: Mapping[str, Any], key: str | int, value: Any) -> tuple[str, str] | None:
    """What JSON Schema allows and a prompt file does not, and references that lead nowhere."""
    if key == "patternProperties":
        return f"'{key}' is not supported", "use 'properties', or 'additionalProperties'"
    if key in UNSUPPORTED and isinstance(value, str):
        return f"'{key}' is not supported", "say it in a 'description'"
    if key != "$ref" or not isinstance(value, str) or _target(root, value) is not None:
        return None
    outside = f"'{key}' refers to something outside of the file"
    message = f"nothing stands at '{value}'" if value.startswith("#") else outside
    return message, "put it under '$defs', and use '#/$defs/...'"


def _nodes(schema: Mapping[str, Any], at: NodePath) -> Iterator[tuple[NodePath, str | int, Any]]:
    """Every key and item with its place; behind a `$ref`, those of what it refers to."""
    queue: list[tuple[NodePath, Any]] = [(at, schema)]
    while queue:
        place, node = queue.pop()
        pairs: Any = node.items() if isinstance(node, Mapping) else ()
        for key, value in enumerate(node) if isinstance(node, list) else pairs:
            inner = (*place, key)
            yield inner, key, value
            followed = _target(schema, value) if key == "$ref" else None
            queue.append((inner, value if followed is None else followed))


def _target(root: Mapping[str, Any], reference: Any) -> Any:
    """What `#/...` refers to within ``root``; None where nothing stands."""
    node: Any = root
    if not isinstance(reference, str) or reference.partition("/")[0] != "#":
        return None
    for part in reference.split("/")[1:]:
        key = part.replace("~1", "/").replace("~0", "~")
        node = node.get(key) if isinstance(node, Mapping) else None
    return node


def _cut(text: str) -> str:
    return text if len(text) <= FAULT_CHARS else f"{text[: FAULT_CHARS - 3]}..."
