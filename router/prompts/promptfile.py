"""One prompt file: YAML front matter between `---` lines, then a Jinja body (DESIGN 4).

The front matter is the only place where an intent is defined. `read_prompt` reports every
problem that one file shows by itself; what needs the other files is checked by the library.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from kds.brain.document import Document, NodePath, misfits, validate
from kds.brain.document_cache import DocumentCache
from kds.brain.errors import Problem
from kds.router.pattern import Pattern
from kds.router.prompts.outputschema import schema_problems
from kds.router.prompts.promptmend import NAMELESS, doubtful_keys, mended

FENCE: Final = "---"
INTENT_NAME: Final = r"^[A-Z][A-Z0-9_]*$"
PROMPT_NAME: Final = r"^[a-z0-9]+(-[a-z0-9]+)*$"
"""Also the rule for skill names (DESIGN 7), so that skills can be made from prompt files."""

TOOL_NAME: Final = r"^[a-zA-Z0-9_-]{1,64}$"
"""What the providers of models accept as the name of a tool."""

DEFAULT_PRIORITY: Final = 500
"""Behind every agent that ships (10 to 110), before UNKNOWN (999)."""


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
    ``output`` is the JSON Schema of its structured reply.
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


@dataclass(frozen=True, slots=True)
class PromptDraft:
    """A prompt file with what is wrong in it, as far as it can be read all the same.

    Its ``prompt`` is in order when there are no problems. Else it is for further checks only,
    and stand-ins take the place of what does not fit; it is None when nothing can be read of
    the front matter. ``inputs_read`` is False when its inputs are not those of the file.
    """

    problems: tuple[Problem, ...]
    prompt: PromptFile | None = None
    body: str = ""
    body_line: int = 1
    inputs_read: bool = False


def parse_prompt(text: str, *, path: Path, ref: str) -> PromptFile | tuple[Problem, ...]:
    """Read one prompt file, or say everything that is wrong with it."""
    draft = read_prompt(text, path=path, ref=ref)
    return draft.prompt if draft.prompt and not draft.problems else draft.problems


def read_prompt(
    text: str,
    *,
    path: Path,
    ref: str,
    cache: DocumentCache | None = None,
    trusted: bool = False,
) -> PromptDraft:
    """Read one prompt file, with everything that it shows to be wrong by itself.

    Its front matter comes from the ``cache`` where it is known there, and is kept in it. Of a
    ``trusted`` file, as those that ship are, whose patterns the tests check, they are not here.
    """
    cache = cache or DocumentCache()
    split = _split(text)
    if split is None:
        hint = "begin the file with a line '---', the YAML, and another line '---'"
        return PromptDraft((Problem(f"{path}:1", "has no front matter", hint),))
    yaml_text, body, body_line = split
    front = cache.parse(yaml_text, path=str(path), first_line=2)
    checked = validate(front, _FrontMatter)
    problems = [*checked] if isinstance(checked, tuple) else []
    doubtful: frozenset[str] = frozenset()
    found: _FrontMatter | None
    if isinstance(checked, tuple):
        found, doubtful = _stand_in(front, path)
    else:
        found = checked
    body_problems = _body_problems(body, f"{path}:{body_line}")
    if found is None:
        return PromptDraft((*problems, *body_problems), None, body, body_line)
    problems += _own_problems(found, front, path)
    sound = trusted or cache.is_sound(yaml_text)
    patterns, excludes, needs = _patterns(found, front, ref, problems, checked=sound)
    if not problems:
        cache.keep(yaml_text, front)
    prompt = PromptFile(
        name=found.name,
        description=found.description,
        intent=found.intent if found.intent != NAMELESS else None,
        priority=found.priority,
        patterns=patterns,
        excludes=excludes,
        examples=tuple(found.examples),
        counter_examples=tuple(found.counter_examples),
        inputs=tuple(found.inputs),
        confirm=found.confirm,
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
    )
    whole = (*problems, *body_problems)
    return PromptDraft(whole, prompt, body, body_line, inputs_read="inputs" not in doubtful)


def _stand_in(front: Document, path: Path) -> tuple["_FrontMatter | None", frozenset[str]]:
    """A front matter to go on checking with, and the keys of which it says nothing."""
    if not isinstance(front.data, dict):
        return None, frozenset()
    places = misfits(front, _FrontMatter)
    doubtful = doubtful_keys(front.data, places, FRONT_MATTER_KEYS)
    given = {"name": path.stem, "description": "none", "intent": NAMELESS}
    try:
        found = _FrontMatter.model_validate(mended(front.data, places, given, doubtful))
    except ValidationError:
        return None, doubtful
    return found, doubtful


_Text = Annotated[str, Field(min_length=1, max_length=2000)]
_Intent = Annotated[str, Field(pattern=INTENT_NAME)]
_STRICT: Final = ConfigDict(extra="forbid", strict=True, str_strip_whitespace=True)


class _NotEntry(BaseModel):
    model_config = _STRICT
    regex: _Text | None = None
    literal: _Text | None = None
    exact: bool = False


class _PatternEntry(_NotEntry):
    weight: Annotated[float, Field(gt=0, le=1)]


class _FrontMatter(BaseModel):
    model_config = _STRICT
    name: Annotated[str, Field(pattern=PROMPT_NAME, max_length=64)]
    description: Annotated[str, Field(min_length=1, max_length=1024)]
    intent: _Intent | None = None
    priority: Annotated[int, Field(ge=0, le=999)] = DEFAULT_PRIORITY
    patterns: list[_PatternEntry] = []
    not_: Annotated[list[_NotEntry], Field(alias="not")] = []
    needs: list[_NotEntry] = []
    examples: list[_Text] = []
    counter_examples: list[_Text] = []
    inputs: list[_Text] = []
    confirm: bool = False
    handoffs: list[_Intent] = []
    ask: _Text | None = None
    tools: list[Annotated[str, Field(pattern=TOOL_NAME)]] = []
    output: dict[str, Any] | None = None


FRONT_MATTER_KEYS: Final = frozenset(
    info.alias or name for name, info in _FrontMatter.model_fields.items()
)
"""Every key that a prompt file may have. docs/prompt-files.md says what they mean."""


def _split(text: str) -> tuple[str, str, int] | None:
    """Front matter, body, and the line on which the body begins."""
    lines = text.split("\n")
    if lines[0].rstrip() != FENCE:
        return None
    for number, line in enumerate(lines[1:], start=1):
        if line.rstrip() == FENCE:
            return "\n".join(lines[1:number]), "\n".join(lines[number + 1 :]), number + 2
    return None


def _body_problems(body: str, where: str) -> tuple[Problem, ...]:
    if body.strip():
        return ()
    return (Problem(where, "has an empty body", "write the prompt below the front matter"),)


def _own_problems(found: _FrontMatter, front: Document, path: Path) -> list[Problem]:
    problems = []
    if found.name != path.stem:
        message = f"name '{found.name}' is not the file name '{path.stem}'"
        hint = f"write 'name: {path.stem}', or rename the file"
        problems.append(Problem(front.where(("name",)), message, hint))
    if found.intent is None:
        for key in ("patterns", "not", "needs"):
            if getattr(found, "not_" if key == "not" else key):
                message = f"has '{key}' and no intent"
                hint = f"add 'intent: NAME', or remove '{key}'"
                problems.append(Problem(front.where((key,)), message, hint))
    for key in ("inputs", "handoffs", "tools"):
        problems += _repeats(getattr(found, key), key, front)
    if found.output is not None:
        problems += schema_problems(found.output, front, at=("output",))
    return problems


def _repeats(names: list[str], key: str, front: Document) -> list[Problem]:
    return [
        Problem(front.where((key, index)), f"{key} names '{name}' twice", f"keep one '{name}'")
        for index, name in enumerate(names)
        if name in names[:index]
    ]


_Patterns = tuple[IntentPattern, ...]


def _patterns(
    found: _FrontMatter, front: Document, ref: str, problems: list[Problem], *, checked: bool
) -> tuple[_Patterns, _Patterns, _Patterns]:
    """The patterns, the excludes and the needs; what is wrong with them goes to ``problems``."""

    def compiled(key: str, entries: list[_PatternEntry] | list[_NotEntry]) -> _Patterns:
        made = []
        for index, entry in enumerate(entries):
            at: NodePath = (key, index)
            weight = entry.weight if isinstance(entry, _PatternEntry) else 1.0
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


def _compile(entry: _NotEntry, shown: str, where: str, *, checked: bool) -> Pattern | Problem:
    """``shown`` is where a problem is reported, ``where`` the name the pattern goes by."""
    if (entry.regex is None) == (entry.literal is None):
        which = "neither 'regex' nor 'literal'" if entry.regex is None else "both"
        message = f"a pattern has {which}" + (" 'regex' and 'literal'" if which == "both" else "")
        return Problem(shown, message, "give each pattern exactly one of the two")
    if entry.literal is not None:
        return Pattern.literal(entry.literal, where=where, exact=entry.exact)
    made = Pattern.compile(entry.regex or "", where=where, exact=entry.exact, checked=checked)
    return Problem(shown, made.message, made.hint) if isinstance(made, Problem) else made
