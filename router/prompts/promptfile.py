"""One prompt file: YAML front matter between `---` lines, then a Jinja body.

The front matter is the only place where an intent is defined. `read_prompt` reports every problem
that one file shows by itself; what needs the other files is checked by the library. The examples
of an agent may stand in a file of their own, `NAME.examples.yaml` beside `NAME.md`: a prompt file
is easier to read without hundreds of messages.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from kds.brain.errors import Problem
from kds.brain.yaml_files import Document, NodePath, parse_yaml, validate
from kds.router.pattern import Pattern, control_problem
from kds.router.prompts.outputschema import schema_problems

INTENT_NAME: Final = r"^[A-Z][A-Z0-9_]*$"
PROMPT_NAME: Final = r"^[a-z0-9]+(-[a-z0-9]+)*$"
"""Also the rule for skill names, so that skills can be made from prompt files."""

TOOL_NAME: Final = r"^[a-zA-Z0-9_-]{1,64}$"
"""What the providers of models accept as the name of a tool."""

DEFAULT_PRIORITY: Final = 500
"""Behind every agent that ships (10 to 110), before UNKNOWN (999)."""

MOST_SHIFT: Final = 10.0
"""Log odds: more decides alone, and that is for patterns that are `exact`."""

When = Literal["first", "question", "reference", "addition", "image"]
"""Signs of a conversation that may speak for or against an intent; see docs/prompt-files.md."""

Text = Annotated[str, Field(min_length=1, max_length=2000)]
MANY_EXAMPLES = Field(max_length=2_000)
"""Of one file. The most that ship have below 400; a fit takes longer with each."""
MANY_NAMES = Field(max_length=100)
MANY_PATTERNS = Field(max_length=200)
"""Of one file. Those that ship have fewer; each is tried on hostile texts when it is first read."""
_Intent = Annotated[str, Field(pattern=INTENT_NAME)]
STRICT: Final = ConfigDict(extra="forbid", strict=True, str_strip_whitespace=True)


class NotEntry(BaseModel):
    """A pattern without a weight, as under `not` and `needs`."""

    model_config = STRICT
    regex: Text | None = None
    literal: Text | None = None
    exact: bool = False


class PatternEntry(NotEntry):
    """A pattern that is evidence."""

    weight: Annotated[float, Field(gt=0, le=1)]


class ContextShift(BaseModel):
    """What the conversation says about an intent: ``shift`` in log odds ``when`` a sign is there.

    With ``after``, only when the message before had one of these intents.
    """

    model_config = STRICT
    when: When
    after: list[_Intent] = []
    shift: Annotated[float, Field(ge=-MOST_SHIFT, le=MOST_SHIFT)]


class FrontMatter(BaseModel):
    """The keys of a prompt file. docs/prompt-files.md says what they mean."""

    model_config = STRICT
    name: Annotated[str, Field(pattern=PROMPT_NAME, max_length=64)]
    description: Annotated[str, Field(min_length=1, max_length=1024)]
    intent: _Intent | None = None
    priority: Annotated[int, Field(ge=0, le=999)] = DEFAULT_PRIORITY
    patterns: Annotated[list[PatternEntry], MANY_PATTERNS] = []
    not_: Annotated[list[NotEntry], Field(alias="not"), MANY_PATTERNS] = []
    needs: Annotated[list[NotEntry], MANY_PATTERNS] = []
    examples: Annotated[list[Text], MANY_EXAMPLES] = []
    counter_examples: Annotated[list[Text], MANY_EXAMPLES] = []
    context: Annotated[list[ContextShift], MANY_NAMES] = []
    absorbs: Annotated[list[_Intent], MANY_NAMES] = []
    symptoms: Annotated[list[_Intent], MANY_NAMES] = []
    starts_session: bool = False
    corrects: bool = False
    only_looks: bool = False
    inputs: Annotated[list[Text], MANY_NAMES] = []
    confirm: bool = False
    memory: bool = True
    handoffs: Annotated[list[_Intent], MANY_NAMES] = []
    ask: Text | None = None
    tools: Annotated[list[Annotated[str, Field(pattern=TOOL_NAME)]], MANY_NAMES] = []
    output: dict[str, Any] | None = None


OF_AN_INTENT: Final = (
    *("patterns", "not", "needs", "context", "absorbs", "symptoms"),
    *("starts_session", "corrects", "only_looks"),
)
"""Keys that say nothing of a prompt without an intent."""


def own_problems(found: FrontMatter, front: Document, path: Path) -> list[Problem]:
    """What does not go together within one front matter."""
    problems = []
    if found.name != path.stem:
        message = f"name '{found.name}' is not the file name '{path.stem}'"
        hint = f"write 'name: {path.stem}', or rename the file"
        problems.append(Problem(front.where(("name",)), message, hint))
    if found.intent is None:
        for key in OF_AN_INTENT:
            if getattr(found, "not_" if key == "not" else key):
                message = f"has '{key}' and no intent"
                hint = f"add 'intent: NAME', or remove '{key}'"
                problems.append(Problem(front.where((key,)), message, hint))
    for key in ("inputs", "handoffs", "tools", "absorbs", "symptoms"):
        problems += _repeats(getattr(found, key), key, front)
    problems += _idle_context(found, front)
    if found.intent is not None and found.intent in found.absorbs:
        where = front.where(("absorbs", found.absorbs.index(found.intent)))
        problems.append(Problem(where, "absorbs its own intent", f"remove '{found.intent}'"))
    if found.output is not None:
        problems += schema_problems(found.output, front, at=("output",))
    return problems


def _repeats(names: list[str], key: str, front: Document) -> list[Problem]:
    return [
        Problem(front.where((key, index)), f"{key} names '{name}' twice", f"keep one '{name}'")
        for index, name in enumerate(names)
        if name in names[:index]
    ]


def _idle_context(found: FrontMatter, front: Document) -> list[Problem]:
    """Entries of `context` that can never say anything."""
    problems = []
    for index, entry in enumerate(found.context):
        where = front.where(("context", index))
        if entry.when == "first" and entry.after:
            message = "'when: first' with 'after': no message comes before the first"
            problems.append(Problem(where, message, "remove 'after', or write another 'when'"))
        if entry.shift == 0:
            message = "a 'shift' of 0 changes nothing"
            problems.append(Problem(where, message, "write how far it shifts, such as 0.5"))
    return problems


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


def read_examples(given: ExamplesText | None) -> ExampleFile:
    """Read one file, if there is one, or say everything that is wrong with it."""
    if given is None:
        return ExampleFile()
    if isinstance(given.text, Problem):
        return ExampleFile(problems=(given.text,))
    document = parse_yaml(given.text, path=str(given.path))
    if not document.problems and (document.data is None or document.data == []):
        return ExampleFile(document=document)
    if isinstance(document.data, list):
        hint = "write 'examples:' above the list, or 'counter_examples:'"
        return ExampleFile(problems=(Problem(document.where(), "is a list without a name", hint),))
    found = validate(document, ExampleSchema)
    if isinstance(found, tuple):
        return ExampleFile(problems=found)
    return ExampleFile(tuple(found.examples), tuple(found.counter_examples), document)


FENCE: Final = "---"


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
    """A prompt as its file defines it. It is an agent when it has an intent.

    ``ref`` is its place among the prompts, "prompts/internal/work-planner.md"; ``excludes`` are
    the patterns under `not`, ``needs`` those of which a message must have one; ``ask`` is a verb
    phrase for clarifying questions. ``tools`` are names of tools that a model may call,
    ``output`` is the JSON Schema of its structured reply. ``absorbs`` are the intents of sentences
    that only spell it out, ``symptoms`` those that reports of symptoms look like; it
    ``starts_session``, it ``corrects`` the message before, it ``only_looks``: docs/prompt-files.md
    says what follows from each.
    """

    name: str
    description: str
    intent: str | None
    priority: int
    patterns: tuple[IntentPattern, ...]
    excludes: tuple[IntentPattern, ...]
    examples: tuple[str, ...]
    counter_examples: tuple[str, ...]
    inputs: tuple[str, ...]
    confirm: bool
    memory: bool
    """Whether the agent is told what the memory has on the message."""
    handoffs: tuple[str, ...]
    ask: str | None
    body: str
    body_line: int
    path: Path
    ref: str
    front: Document
    tools: tuple[str, ...] = ()
    output: Mapping[str, object] | None = None
    needs: tuple[IntentPattern, ...] = ()
    context: tuple[ContextShift, ...] = ()
    absorbs: tuple[str, ...] = ()
    symptoms: tuple[str, ...] = ()
    starts_session: bool = False
    corrects: bool = False
    only_looks: bool = False
    more: Document | None = None
    """The file of its examples, where it has one; see `kds.router.prompts.promptfile`."""

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


def read_prompt(
    text: str,
    *,
    path: Path,
    ref: str,
    trusted: bool = False,
    examples: ExamplesText | None = None,
) -> PromptDraft:
    """Read one prompt file, with everything that it shows to be wrong by itself.

    ``examples`` is the file of its examples, where there is one. The patterns of a ``trusted``
    file are not checked: those that ship, the tests check.
    """
    split = _split(text)
    if split is None:
        hint = "begin the file with a line '---', the YAML, and another line '---'"
        unread = read_examples(examples).problems
        return PromptDraft((Problem(f"{path}:1", "has no front matter", hint), *unread))
    yaml_text, body, body_line = split
    front = parse_yaml(yaml_text, path=str(path), first_line=2)
    more = _more_examples(front, examples)
    found = validate(front, FrontMatter)
    body_problems = _body_problems(body, f"{path}:{body_line}")
    if isinstance(found, tuple):
        return PromptDraft((*found, *body_problems, *more.problems), None, body, body_line)
    problems = own_problems(found, front, path)
    patterns, excludes, needs = _patterns(found, front, ref, problems, checked=trusted)
    prompt = PromptFile(
        name=found.name,
        description=found.description,
        intent=found.intent,
        priority=found.priority,
        patterns=patterns,
        excludes=excludes,
        examples=(*found.examples, *more.examples),
        counter_examples=(*found.counter_examples, *more.counter_examples),
        inputs=tuple(found.inputs),
        confirm=found.confirm,
        memory=found.memory,
        handoffs=tuple(found.handoffs),
        ask=found.ask,
        body=body,
        body_line=body_line,
        path=path,
        ref=ref,
        front=front,
        tools=tuple(found.tools),
        output=found.output,
        needs=needs,
        context=tuple(found.context),
        absorbs=tuple(found.absorbs),
        symptoms=tuple(found.symptoms),
        starts_session=found.starts_session,
        corrects=found.corrects,
        only_looks=found.only_looks,
        more=more.document,
    )
    whole = (*problems, *body_problems, *more.problems)
    return PromptDraft(whole, prompt, body, body_line)


def _split(text: str) -> tuple[str, str, int] | None:
    """Front matter, body, and the line on which the body begins."""
    lines = text.split("\n")
    if lines[0].rstrip() != FENCE:
        return None
    for number, line in enumerate(lines[1:], start=1):
        if line.rstrip() == FENCE:
            return "\n".join(lines[1:number]), "\n".join(lines[number + 1 :]), number + 2
    return None


def _more_examples(front: Document, given: ExamplesText | None) -> ExampleFile:
    """The file of its examples; an inherited one only where the prompt names none, not even []."""
    own = isinstance(front.data, dict) and not front.data.keys().isdisjoint(_EXAMPLE_KEYS)
    return read_examples(None if own and given and given.inherited else given)


_EXAMPLE_KEYS: Final = ("examples", "counter_examples")


def _body_problems(body: str, where: str) -> tuple[Problem, ...]:
    if body.strip():
        return ()
    return (Problem(where, "has an empty body", "write the prompt below the front matter"),)


_Patterns = tuple[IntentPattern, ...]


def _patterns(
    found: FrontMatter, front: Document, ref: str, problems: list[Problem], *, checked: bool
) -> tuple[_Patterns, _Patterns, _Patterns]:
    """The patterns, the excludes and the needs; what is wrong with them goes to ``problems``."""

    def compiled(key: str, entries: list[PatternEntry] | list[NotEntry]) -> _Patterns:
        made = []
        for index, entry in enumerate(entries):
            at: NodePath = (key, index)
            weight = entry.weight if isinstance(entry, PatternEntry) else 1.0
            where = f"{ref}:{front.line(at)}"
            pattern = _compile(entry, front.where(at), where, checked=checked)
            if isinstance(pattern, Problem):
                problems.append(pattern)
            else:
                made.append(
                    IntentPattern(pattern.source, pattern, weight, entry.exact, pattern.where)
                )
        return tuple(made)

    return (
        compiled("patterns", found.patterns),
        compiled("not", found.not_),
        compiled("needs", found.needs),
    )


def _compile(entry: NotEntry, shown: str, where: str, *, checked: bool) -> Pattern | Problem:
    """``shown`` is where a problem is reported, ``where`` the name the pattern goes by."""
    if (entry.regex is None) == (entry.literal is None):
        which = "neither 'regex' nor 'literal'" if entry.regex is None else "both"
        message = f"a pattern has {which}" + (" 'regex' and 'literal'" if which == "both" else "")
        return Problem(shown, message, "give each pattern exactly one of the two")
    if entry.literal is not None:
        unseen = control_problem(entry.literal, shown)
        return unseen or Pattern.literal(entry.literal, where=where, exact=entry.exact)
    made = Pattern.compile(entry.regex or "", where=where, exact=entry.exact, checked=checked)
    return Problem(shown, made.message, made.hint) if isinstance(made, Problem) else made
