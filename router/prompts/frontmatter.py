"""What may stand in the front matter of a prompt file, and what is wrong with it by itself."""

from pathlib import Path
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from kds.brain.errors import Problem
from kds.brain.yaml_files import Document
from kds.router.prompts.outputschema import schema_problems

INTENT_NAME: Final = r"^[A-Z][A-Z0-9_]*$"
PROMPT_NAME: Final = r"^[a-z0-9]+(-[a-z0-9]+)*$"
"""Also the rule for skill names (DESIGN 7), so that skills can be made from prompt files."""

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


FRONT_MATTER_KEYS: Final = frozenset(
    info.alias or name for name, info in FrontMatter.model_fields.items()
)
"""Every key that a prompt file may have."""

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
