"""Files of examples: read, checked against a model, and refused with every problem at once."""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PrivateAttr, RootModel
from pydantic import StringConstraints as Constraints

from kds.api.measures import percentile, timed
from kds.api.rehearsal import MinuteClock
from kds.brain.errors import ExampleFileError, Problem
from kds.brain.message import well_formed_json
from kds.brain.settings import LiveConfig
from kds.brain.turn import Turn, Utterance
from kds.brain.workspace import Workspace
from kds.brain.yaml_files import MAX_BYTES, Document, NodePath, parse_yaml, validate

if TYPE_CHECKING:  # pytest reads examples in projects that route nothing
    from kds.api.parts import Parts
    from kds.api.routing import Router

SHOWN_PROBLEMS: Final = 50
"""Problems that an error names: a table given by mistake would fill the screen."""

LISTS: Final = (".yaml", ".yml", ".json")
"""Suffixes of files that hold a list of examples, or a single one; others hold one a line."""

Row = dict[str, Any]
"""An object of JSON."""

T = TypeVar("T")


class Example(BaseModel):
    """A part of a file. Unknown keys are ignored, but for models that say `extra="forbid"`."""

    model_config = ConfigDict(frozen=True)
    _where: str = PrivateAttr(default="")

    @property
    def where(self) -> str:
        """Its place, "path:line"."""
        return self._where


ExampleT = TypeVar("ExampleT", bound=Example)


def listed(value: Any) -> Any:
    """Make a list of a single value; of None an empty one."""
    return value if isinstance(value, list | tuple) else [] if value is None else [value]


Text = Annotated[str, Constraints(strip_whitespace=True, min_length=1)]
Texts = Annotated[tuple[Text, ...], BeforeValidator(listed)]
"""Texts; in the file a single one may stand for a list of one."""
AnyOf = Annotated[Texts, Field(min_length=1)]
"""The same, one at least."""


def read_examples(path: Path, model: type[ExampleT]) -> tuple[ExampleT, ...]:
    """Read the examples of a file. Raises ExampleFileError with every problem."""
    try:
        return parse_examples(path.read_text("utf-8-sig"), path, model)
    except UnicodeDecodeError:
        problem = Problem(str(path), "is not UTF-8 text", "save the file as UTF-8")
    except OSError as wrong:
        message = f"cannot be read: {wrong.strerror or wrong}"
        problem = Problem(str(path), message, "check the path and its permissions")
    raise ExampleFileError([problem])


def parse_examples(text: str, path: Path, model: type[ExampleT]) -> tuple[ExampleT, ...]:
    """Read the examples of a text, as if it were in the file ``path``."""
    read = _read_list if path.suffix.lower() in LISTS else _read_lines
    document = read(text, path)
    several: type[RootModel[list[ExampleT]]] = RootModel[list[model]]  # type: ignore[valid-type]
    found = validate(document, several)
    if isinstance(found, tuple):
        raise ExampleFileError(found[:SHOWN_PROBLEMS])
    if not found.root:
        hint = "for the form see kds help evaluation, or kds help testing-your-rules"
        raise ExampleFileError([Problem(document.where(), "holds no examples", hint)])
    _place(found.root, document, ())
    first: dict[str, ExampleT] = {}
    if repeated := [
        Problem(one.where, f"id '{name}' is already used at {earlier.where}", "give it its own")
        for one in found.root
        if (name := getattr(one, "id", "")) and (earlier := first.setdefault(name, one)) is not one
    ]:
        raise ExampleFileError(repeated)
    return tuple(found.root)


def _read_list(text: str, path: Path) -> Document:
    """The list of a YAML or JSON file."""
    is_json = path.suffix.lower() == ".json"
    document = parse_yaml("" if is_json and len(text) > MAX_BYTES else text, path=str(path))
    data, lines, problems = document.data, document.lines, document.problems
    if is_json:  # of its reading as YAML only the lines are kept
        data, problems = _json(text, path)
    if isinstance(data, dict):  # a single one
        lines = {(): 1} | {(0, *at): line for at, line in lines.items()}
    return Document(str(path), listed(data), lines, problems=problems)


def _read_lines(text: str, path: Path) -> Document:
    """The objects of a JSON-lines file, one a line."""
    numbered = [(at, line) for at, line in enumerate(text.split("\n"), start=1) if line.strip()]
    found = [(at, *_json(line, path, at)) for at, line in numbered]
    good = [(at, row) for at, row, wrong in found if not wrong]
    lines: dict[NodePath, int] = {(number,): at for number, (at, _) in enumerate(good)}
    problems = tuple(one for _, _, wrong in found for one in wrong)
    return Document(str(path), [row for _, row in good], lines, problems=problems)


def _json(text: str, path: Path, line: int = 0) -> tuple[object, tuple[Problem, ...]]:
    """Read JSON: that of a file, or of one ``line``."""
    try:
        return json.loads(well_formed_json(text)), ()
    except json.JSONDecodeError as wrong:
        line, message = line or wrong.lineno, f"{wrong.msg}, column {wrong.colno}"
    except RecursionError:
        line, message = line or 1, "nested too deeply"
    hint = f"only {', '.join(LISTS)} hold a list; write one object a line, or rename the file"
    return None, (Problem(f"{path}:{line}", f"is not JSON: {message}", hint),)


def _place(value: object, document: Document, at: NodePath) -> None:
    """Tell an example, and the examples within it, where they are."""
    if isinstance(value, Example):
        value._where = document.where(at)
        for name, field in type(value).model_fields.items():
            _place(getattr(value, name), document, (*at, field.alias or name))
    elif isinstance(value, list | tuple):
        for index, one in enumerate(value):
            _place(one, document, (*at, index))


# Trying them

WARM_UP: Final = "I want to add a warm-up lap"
"""The first message of a process also loads the language model: that is not the cost of a turn."""


@dataclass(frozen=True, slots=True)
class Bench:
    """The workspace that is measured; ``tell`` hears of progress, ``warn`` of files left out."""

    workspace: Workspace
    tell: Callable[[str, int, int], None]
    warn: Callable[[Iterable[str]], None]

    def router(self) -> "Router":
        """A router that has loaded everything."""
        from kds.api.routing import Router

        router = Router.open(self.workspace, log=False)
        self.warn(router.warnings)
        router.rehearse(MinuteClock()).route(WARM_UP)
        return router

    def parts(self) -> "Parts":
        """The parts of a router, with what was learned."""
        from kds.api.parts import LearnedParts, Parts

        loaded = Parts.load(self.workspace)
        parts = LearnedParts(loaded, LiveConfig(self.workspace)).now
        self.warn(parts.warnings)
        return parts

    def each(self, items: Sequence[T], what: str) -> Iterator[T]:
        """The items, with progress."""
        for number, item in enumerate(items):
            self.tell(what, number, len(items))
            yield item


class Spoken(Example):
    """A turn of a conversation: a message, and what was replied, if that is known."""

    user: str
    reply: str | None = None


SpokenT = TypeVar("SpokenT", bound=Spoken)


def converse(
    turns: Iterable[SpokenT], open_route: Callable[[MinuteClock], Callable[..., Turn]]
) -> Iterator[tuple[SpokenT, Turn, float]]:
    """Send messages through a fresh conversation; yield each with its turn and CPU milliseconds.

    ``open_route`` opens it (a `Router`, or what routes like one), under a clock that moves a minute
    a turn. What was said is passed along where the last reply is known.
    """
    clock = MinuteClock()
    route = open_route(clock)
    said: list[Utterance] = []
    for one in turns:
        told = tuple(said) if said and said[-1].role == "assistant" else ()
        turn, cpu_ms = timed(partial(route, one.user, history=told))
        yield one, turn, cpu_ms
        said.append(Utterance(one.user))
        said += [Utterance(one.reply, "assistant")] if one.reply else []
        clock.tick()


def times(rows: Iterable[Row], *percents: int) -> Row:
    """What shares of the rows do not exceed, in milliseconds."""
    found = [row["ms"] for row in rows]
    return {f"ms_p{percent}": percentile(found, percent) for percent in percents}
