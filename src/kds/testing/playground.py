"""Behind the playground page: a typed conversation as a dialogue test, and a change tried unsaved.

For a trial the workspace's files are copied to a temporary folder, the change is made there, and
read as the service would read it. Problems and tests name the files as if it were saved.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic
from typing import Final

import yaml

from kds.api.beginning import checked_name, write_new
from kds.api.own_files import OwnFile, OwnFiles
from kds.api.routing import rehearsed, rewriting_steps
from kds.api.rule_tests import describe_outcome, run_rule_tests
from kds.api.same_text import matches
from kds.api.workspace_parts import LearnedParts, Parts, load_resolver
from kds.brain.document_cache import DocumentCache
from kds.brain.errors import ConfigError, DialogueFileError, MessageError, Problem
from kds.brain.turn import UNKNOWN
from kds.brain.whereabouts import BRAIN
from kds.brain.workspace import Workspace
from kds.router.intents.model_cache import open_model
from kds.router.intents.turn_model import turn_model_for
from kds.router.prompts.library import PromptLibrary
from kds.router.references.rule import Rule
from kds.testing.dialogues import (
    Dialogue,
    ExpectedTurn,
    find_dialogue_files,
    is_dialogue_file,
    parse_dialogues,
    read_dialogues,
)
from kds.testing.playing import PlayedTurn, describe, play

DIALOGUES: Final = ("tests/dialogues", "dialogues")
"""Where a project keeps its dialogues."""
MOST_TURNS: Final = 50
MOST_CHARACTERS: Final = 100_000
"""Limit of a conversation that is typed; a person waits for the result."""

_YAML: Final = re.compile(r"\s*(?:#.*\n\s*)*(?:-\s+)?\{?\s*(?:id|turns)\s*:")
_SAID: Final = re.compile(r"\s*(user|assistant):[ \t]*(.*)", re.IGNORECASE)

Test = Callable[[], Sequence[str | None]]
"""Runs some tests; of each: None, or how it failed."""


def typed_dialogue(text: str) -> Dialogue:
    """Read a conversation: a message a line, lines that begin with the speaker, or a dialogue test.

    Where lines begin with the speaker, other lines continue the message before. Raises
    MessageError, or DialogueFileError for an invalid test.

    >>> [turn.reply for turn in typed_dialogue("user: Hi\\nassistant: Hello.\\nuser: Bye").turns]
    ['Hello.', '']
    """
    if len(text) > MOST_CHARACTERS:
        raise MessageError(
            f"the conversation has more than {MOST_CHARACTERS:,} characters", hint="take a part"
        )
    if _YAML.match(text):
        dialogue, *more = parse_dialogues(text, Path("conversation.yaml"))
        if more:
            raise MessageError("there are several dialogues", hint="leave one of them")
    else:
        dialogue = Dialogue("typed", tuple(_turns(text.splitlines())), "conversation:1")
    if not 0 < len(dialogue.turns) <= MOST_TURNS:
        raise MessageError(
            f"a conversation has 1 to {MOST_TURNS} messages, this one {len(dialogue.turns)}",
            hint="write one message a line",
        )
    return dialogue


def _turns(lines: Sequence[str]) -> list[ExpectedTurn]:
    attributed = any(_SAID.fullmatch(line) for line in lines)
    said: list[tuple[str, str]] = []
    for line in lines:
        found = _SAID.fullmatch(line)
        if found is not None:
            said.append((found[1].lower(), found[2]))
        elif attributed and said:
            said[-1] = (said[-1][0], f"{said[-1][1]}\n{line}")
        elif attributed and line.strip():
            raise MessageError("the first line has no speaker", hint="write user: before it")
        elif line.strip():
            said.append(("user", line))
    turns: list[ExpectedTurn] = []
    for number, (role, text) in enumerate(said, start=1):
        if role == "user":
            turns.append(ExpectedTurn(text.strip(), f"conversation:{number}"))
        elif turns:
            turns[-1] = replace(turns[-1], reply=f"{turns[-1].reply}\n{text.strip()}".strip())
        else:
            raise MessageError("the assistant speaks first", hint="begin with a line user: ...")
    return turns


def test_name(played: Sequence[PlayedTurn]) -> str:
    """Suggest a name for a test of this conversation, from its first words."""
    found = re.findall(r"[a-z0-9]+", played[0].expected.user.lower())[:5]
    return "-".join(["on", *found])[:60].rstrip("-")


def as_test(name: str, played: Sequence[PlayedTurn]) -> str:
    """Return the YAML of a dialogue test that expects the actual outcome."""
    dialogue = {"id": name, "turns": [_expected(one) for one in played]}
    return yaml.safe_dump([dialogue], sort_keys=False, allow_unicode=True, width=90)


def _expected(one: PlayedTurn) -> dict[str, object]:
    turn, said = one.turn, one.expected
    known = {
        "context_ref": turn.context_ref,
        "expanded": None if matches(turn.expanded, [said.user]) else turn.expanded,
        "secondary": list(turn.secondary_intents),
        "switch": turn.context_switch,
        "reply": said.reply,
    }
    intent = turn.intent if turn.action == "route" else UNKNOWN
    return {"user": said.user, "intent": intent} | {
        key: value for key, value in known.items() if value
    }


def save_test(workspace: Workspace, name: str, text: str) -> tuple[Path, tuple[Dialogue, ...]]:
    """Write a dialogue test where `kds test` and pytest find it. Raises KdsError."""
    path = workspace.root / DIALOGUES[0] / f"{checked_name(name)}.yaml"
    if not path.parent.resolve().is_relative_to(workspace.root.resolve()):
        raise MessageError(f"{path.parent} leads out of the workspace", hint="replace the link")
    dialogues = parse_dialogues(text, path)
    return write_new(path, text), dialogues


@dataclass(frozen=True, slots=True)
class Trial:
    """The outcome of a change: the ``parts`` that would route, and the tests that were run.

    ``failed`` says how, in words; ``left`` groups of tests (a rule's, a file's) ran out of time.
    """

    parts: Parts
    passed: int
    failed: tuple[str, ...]
    left: int


def check_change(parts: Parts, file: OwnFile) -> None:
    """Raise ConfigError with all problems that the workspace would have with this file."""
    with _changed(parts, file):
        pass


def try_change(parts: Parts, file: OwnFile, *, limit_s: float) -> Trial:
    """Load the workspace with this file, and run tests until the time is up.

    They are the workspace's dialogues, and those of the rules in the file; of all rules for a
    file without any, of words or knowledge. Raises as `check_change`, and MessageError for a name.
    """
    until = monotonic() + limit_s
    with _changed(parts, file) as (changed, copy):
        tests = [*_dialogues(changed), *_rule_tests(changed, copy, file)]
        told: list[str | None] = []
        left = len(tests)
        while left and monotonic() < until:
            told += tests[-left]()
            left -= 1
    failed = tuple(
        one.replace(str(copy.root), str(parts.workspace.root)) for one in told if one is not None
    )
    return Trial(changed, len(told) - len(failed), failed, left)


@contextmanager
def _changed(parts: Parts, file: OwnFile) -> Iterator[tuple[Parts, Workspace]]:
    with TemporaryDirectory(prefix="kds-trial-") as folder:
        root = Path(folder).resolve()
        copy = Workspace(root, root / BRAIN)
        own = OwnFiles(parts.workspace)
        contents = own.contents()
        contents |= {path: text.encode() for path, text in own.with_companions(file)}
        for path, content in contents.items():
            place = root / path.relative_to(parts.workspace.root)
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(content)
        try:
            changed = _loaded(parts, copy, file)
        except ConfigError as error:
            here = str(parts.workspace.root)
            raise ConfigError(
                Problem(
                    *(text.replace(str(root), here) for text in (one.where, one.message, one.hint))
                )
                for one in error.problems
            ) from error
        yield changed, copy


def _loaded(parts: Parts, copy: Workspace, file: OwnFile) -> Parts:
    cache = DocumentCache.open(parts.workspace.cache_dir)
    if not file.name.startswith("prompts/"):
        return replace(parts, resolver=load_resolver(copy, cache=cache))
    library = PromptLibrary.load(copy.prompts_dir, cache=cache)
    model = open_model(library.prompts(), parts.workspace.cache_dir, may_write=False).model
    turns = turn_model_for(model.learned.labels)
    return LearnedParts(replace(parts, library=library, model=model, turns=turns)).now


def _rule_tests(changed: Parts, copy: Workspace, file: OwnFile) -> Iterator[Test]:
    if file.name.startswith("prompts/"):
        return
    place, rules = str(OwnFiles(copy).path(file.name)), changed.resolver.rules
    inside = [rule for rule in rules if rule.where.rpartition(":")[0] == place]
    for rule in inside or reversed(rules):  # the workspace's own are the last ones
        yield partial(_tested, rule, changed, copy)


def _tested(rule: Rule, changed: Parts, copy: Workspace) -> list[str | None]:
    outcomes = run_rule_tests(
        [rule],
        rewriting_steps(changed.resolver),
        lambda left_out: rewriting_steps(load_resolver(copy, without=left_out)),
    )
    return [None if one.passed else describe_outcome(one) for one in outcomes]


def _dialogues(changed: Parts) -> Iterator[Test]:
    root = changed.workspace.root
    for folder in DIALOGUES:
        found = (root / folder).rglob("*")
        if any(one.is_file() and is_dialogue_file(one, root) for one in found):
            for path in find_dialogue_files([root / folder]):
                yield partial(_played, path, changed)


def _played(path: Path, changed: Parts) -> list[str | None]:
    try:
        played = [play(one, partial(rehearsed, changed)) for one in read_dialogues(path)]
    except DialogueFileError as error:
        return [str(error)]
    return [None if one.passed else describe(one) for one in played]
