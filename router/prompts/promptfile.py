"""One prompt file: YAML front matter between `---` lines, then a Jinja body (DESIGN 4).

The front matter is the only place where an intent is defined. `read_prompt` reports every
problem that one file shows by itself; what needs the other files is checked by the library.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pydantic import ValidationError

from kds.brain.errors import Problem
from kds.brain.yaml_files import Document, DocumentCache, NodePath, misfits, validate
from kds.router.pattern import Pattern, control_problem
from kds.router.prompts.examplefile import ExampleFile, ExamplesText, read_examples
from kds.router.prompts.frontmatter import (
    FRONT_MATTER_KEYS,
    ContextShift,
    FrontMatter,
    NotEntry,
    PatternEntry,
    own_problems,
)
from kds.router.prompts.promptmend import NAMELESS, doubtful_keys, mended

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
    """The file of its examples, where it has one; see `kds.router.prompts.examplefile`."""

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

    Its ``prompt`` is in order when there are no problems. Else it is for further checks only,
    and stand-ins take the place of what does not fit; it is None when nothing can be read of
    the front matter. ``inputs_read`` is False when its inputs are not those of the file.
    """

    problems: tuple[Problem, ...]
    prompt: PromptFile | None = None
    body: str = ""
    body_line: int = 1
    inputs_read: bool = False


def read_prompt(
    text: str,
    *,
    path: Path,
    ref: str,
    cache: DocumentCache | None = None,
    trusted: bool = False,
    examples: ExamplesText | None = None,
) -> PromptDraft:
    """Read one prompt file, with everything that it shows to be wrong by itself.

    ``examples`` is the file of its examples, where there is one. Its front matter comes from the
    ``cache`` where it is known there, and is kept in it. Of a ``trusted`` file, as those that ship
    are, whose patterns the tests check, they are not here.
    """
    cache = cache or DocumentCache()
    split = _split(text)
    if split is None:
        hint = "begin the file with a line '---', the YAML, and another line '---'"
        unread = read_examples(examples, cache).problems
        return PromptDraft((Problem(f"{path}:1", "has no front matter", hint), *unread))
    yaml_text, body, body_line = split
    front = cache.parse(yaml_text, path=str(path), first_line=2)
    more = _more_examples(front, examples, cache)
    checked = validate(front, FrontMatter)
    problems = [*checked] if isinstance(checked, tuple) else []
    doubtful: frozenset[str] = frozenset()
    found: FrontMatter | None
    if isinstance(checked, tuple):
        found, doubtful = _stand_in(front, path)
    else:
        found = checked
    body_problems = _body_problems(body, f"{path}:{body_line}")
    if found is None:
        return PromptDraft((*problems, *body_problems, *more.problems), None, body, body_line)
    problems += own_problems(found, front, path)
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
    return PromptDraft(whole, prompt, body, body_line, inputs_read="inputs" not in doubtful)


def _stand_in(front: Document, path: Path) -> tuple["FrontMatter | None", frozenset[str]]:
    """A front matter to go on checking with, and the keys of which it says nothing."""
    if not isinstance(front.data, dict):
        return None, frozenset()
    places = misfits(front, FrontMatter)
    doubtful = doubtful_keys(front.data, places, FRONT_MATTER_KEYS)
    given = {"name": path.stem, "description": "none", "intent": NAMELESS}
    try:
        found = FrontMatter.model_validate(mended(front.data, places, given, doubtful))
    except ValidationError:
        return None, doubtful
    return found, doubtful


def _split(text: str) -> tuple[str, str, int] | None:
    """Front matter, body, and the line on which the body begins."""
    lines = text.split("\n")
    if lines[0].rstrip() != FENCE:
        return None
    for number, line in enumerate(lines[1:], start=1):
        if line.rstrip() == FENCE:
            return "\n".join(lines[1:number]), "\n".join(lines[number + 1 :]), number + 2
    return None


def _more_examples(
    front: Document, given: ExamplesText | None, cache: DocumentCache
) -> ExampleFile:
    """The file of its examples; an inherited one only where the prompt names none, not even []."""
    own = isinstance(front.data, dict) and not front.data.keys().isdisjoint(_EXAMPLE_KEYS)
    return read_examples(None if own and given and given.inherited else given, cache)


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
