"""What is wrong in the files of a workspace: for `kds prompts check`, and for an editor.

An editor sends the texts that it has not saved yet: they count in place of the files. It is told
the very words that are wrong, a code, and what to write instead where the fix names that.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import Final, Literal

from kds.api.parts import load_resolver
from kds.api.rehearsal import run_rule_tests
from kds.api.routing import rewriting
from kds.brain.clock import utc_now
from kds.brain.errors import ConfigError, DispatchError, Problem, PromptFileError, line_of, place_of
from kds.brain.settings import LiveConfig, load_settings
from kds.brain.turn import Turn
from kds.brain.workspace import Workspace
from kds.brain.yaml_files import UNSAVED, read_text
from kds.learning.teaching import known_in
from kds.router.classify import make_classify
from kds.router.english import load_english
from kds.router.intents.fitted import open_model
from kds.router.intents.turn_model import turn_model_for
from kds.router.prompts.library import PromptLibrary, stray_files
from kds.router.prompts.promptfile import PromptFile
from kds.router.references.ruleset import load_rules
from kds.testing.dialogues import Dialogue, is_dialogue_file
from kds.testing.examples import parse_examples

Severity = Literal["error", "warning"]


@dataclass(frozen=True, slots=True)
class Finding:
    """Something to look at: columns count from 0, as UTF-16 has them; lines from 0."""

    path: str
    line: int
    start: int
    end: int
    message: str
    hint: str
    code: str
    severity: Severity
    replacement: str | None = None
    """What to write in place of the text from ``start`` to ``end``."""


@dataclass(frozen=True, slots=True)
class Checked:
    """All findings, and the dialogues of the dialogue files: path, id and line of each."""

    problems: tuple[Finding, ...]
    dialogues: tuple[tuple[str, str, int], ...]


def check(workspace: Workspace, texts: Mapping[Path, str], *, full: bool = False) -> Checked:
    """Check prompts, rules, words and settings, with ``texts`` in place of those files.

    Texts of dialogue files are read, too. The tests of rules run for the files among ``texts``; all
    of them when it is ``full``, and then every example is routed: that takes seconds.
    """
    token = UNSAVED.set(texts)
    try:
        warnings = list(stray_files(workspace))
        of_settings = _raised(partial(load_settings, workspace))
        errors = [*_of_rules(workspace, texts, full)]
        errors += (one for one in of_settings if place_of(one.where) == workspace.settings_path)
        try:
            library = PromptLibrary.load(workspace.prompts_dir)
        except PromptFileError as error:
            errors += error.problems
            library = PromptLibrary.sound(workspace.prompts_dir)[0]
        else:
            warnings += library.passed_over
            # the workspace's; all of them where it has partials, which may be of any
            own, prompts = workspace.prompts_dir, library.prompts()
            if not any(own.glob("*/_*")):
                prompts = tuple(one for one in prompts if one.path.is_relative_to(own))
            errors += rendering_problems(library, prompts)
            strays = astray_examples(library, workspace) if full else []
            for one in (one for some in strays for one in some):
                message = f"the example '{one['text']}' reaches {one['intent']}"
                warnings.append(Problem(one["where"], message, "leave it to one of the two"))
        played = list[tuple[str, str, int]]()
        for path in (one for one in texts if is_dialogue_file(one, workspace.root)):
            try:
                dialogues = parse_examples(texts[path], path, Dialogue)
            except ConfigError as error:
                errors += error.problems
                continue
            errors += unknown_intents(dialogues, library)
            name = shown(path, workspace.root)
            played += ((name, one.id, line_of(one.where) - 1) for one in dialogues)
        lines: dict[Path, list[str]] = {}
        found = [
            *(_finding(one, "error", workspace.root, lines) for one in dict.fromkeys(errors)),
            *(_finding(one, "warning", workspace.root, lines) for one in dict.fromkeys(warnings)),
        ]
        return Checked(tuple(found), tuple(played))
    finally:
        UNSAVED.reset(token)


def _raised(load: Callable[[], object]) -> tuple[Problem, ...]:
    try:
        load()
    except ConfigError as error:
        return error.problems
    return ()


def _of_rules(workspace: Workspace, texts: Mapping[Path, str], full: bool) -> list[Problem]:
    loads = partial(load_rules, workspace.rules_dir), partial(load_english, workspace.english_dir)
    if problems := [one for load in loads for one in _raised(load)]:
        return problems
    resolver = load_resolver(workspace)
    wanted = [one for one in resolver.rules if full or place_of(one.where) in texts]
    for one in run_rule_tests(wanted, rewriting(resolver)):
        if not one.passed:
            expected = "' or '".join(one.test.expected or (one.test.message,))
            told = f"'{one.test.message}' came out as '{one.turn.expanded}', not '{expected}'"
            fault = f"the test of rule '{one.rule}' fails: {told}"
            problems.append(Problem(one.test.where, fault, ""))
    return problems


# What the commands check, too


def sample_inputs(library: PromptLibrary, prompt: PromptFile) -> dict[str, object]:
    """The inputs of a small, complete turn, as the dispatcher supplies them."""
    turn = json.loads(files("kds.testing").joinpath("sample_turn.json").read_text("utf-8"))
    names = ("name", "intent", "description")
    agents = [{name: getattr(one, name) for name in names} for one in library.agents()]
    return {**turn, "intent": prompt.intent or turn["intent"], "agents": agents}


def rendering_problems(library: PromptLibrary, prompts: Iterable[PromptFile]) -> Iterator[Problem]:
    """What keeps prompts from being rendered."""
    for prompt in prompts:
        try:
            library.render(prompt, sample_inputs(library, prompt))
        except DispatchError as error:
            where = error.where or f"{prompt.path}:{prompt.body_line}"
            yield Problem(where, error.message, error.hint or "correct the template")


def astray_examples(library: PromptLibrary, workspace: Workspace) -> list[list[dict[str, str]]]:
    """By agent, the examples that reach another one, each typed as a first message.

    The model is the one that the workspace routes with, learned examples included.
    """
    shipped = open_model(library.prompts())
    model = shipped.with_own(known_in(LiveConfig(workspace).current(), library).pairs)
    step = make_classify(model, turn_model_for(model.learned.labels))
    return [
        [
            {"where": agent.example_place(number), "text": text, "intent": intent}
            for number, text in enumerate(agent.examples)
            if (intent := step.run(Turn(text, utc_now(), expanded=text)).intent) != agent.intent
        ]
        for agent in library.agents()
    ]


def unknown_intents(dialogues: Iterable[Dialogue], library: PromptLibrary) -> Iterator[Problem]:
    """The turns that expect an intent that no prompt has."""
    for turn in (turn for dialogue in dialogues for turn in dialogue.turns):
        for intent in dict.fromkeys((*turn.intents, *(turn.secondary or ()))):
            try:
                library.intent_named(intent)
            except DispatchError as error:
                yield Problem(turn.where, error.message, error.hint or "correct the intent")


# The words that a problem is about

_QUOTED: Final = re.compile(r"'([^'\n]{1,200})'")
_REPLACEMENT: Final = re.compile(r"(?:did you mean|write) '?([^'?\n]{1,200}?)['?]")
"""How hints name what to write instead."""
_NAMED: Final = re.compile(r"^(?:rule|the test of rule) (?:'[^'\n]*'|\d+):? ")
_LEFT_OUT: Final = re.compile(r"'[^'\n]*'|\([^()\n]*\)|\d+")
_BLOCK: Final = 200
"""Lines that are looked through for a name that is unknown."""


def shown(path: Path, root: Path) -> str:
    """A path as an editor names it: within the workspace where it is in there."""
    return str(path.relative_to(root) if path.is_relative_to(root) else path)


def _finding(
    problem: Problem, severity: Severity, root: Path, read: dict[Path, list[str]]
) -> Finding:
    """Find in the text of a file what a problem is about: a word that it quotes, or the line."""
    path, at = problem.path, max(0, line_of(problem.where) - 1)
    if path not in read:
        text = read_text(path)
        read[path] = text.split("\n") if isinstance(text, str) else []
    lines = read[path]
    found = _span(lines, at, problem.message)
    line = lines[at] if at < len(lines) else ""
    at, start, end = found or (at, len(line) - len(line.lstrip()), len(line.rstrip()))
    instead = _REPLACEMENT.match(problem.hint) if found else None
    before = (lines[at][:one] if at < len(lines) else "" for one in (start, end))
    start, end = (len(one.encode("utf-16-le", "surrogatepass")) // 2 for one in before)
    return Finding(
        shown(path, root), at, start, end, problem.message, problem.hint,
        code_of(problem.message), severity, instead[1].rpartition(": ")[2] if instead else None,
    )  # fmt: skip


def _span(lines: Sequence[str], line: int, message: str) -> tuple[int, int, int] | None:
    """Line and columns of a word that ``message`` quotes; an unknown name may stand further on."""
    count = _BLOCK if message.startswith("unknown") else 1
    for word in _QUOTED.findall(message)[::-1]:
        there = re.compile(rf"(?<![\w-]){re.escape(word)}(?![\w-])", re.IGNORECASE)
        for number, text in enumerate(lines[line : line + count], start=line):
            if match := there.search(text):
                return number, *match.span()
    return None


def code_of(message: str) -> str:
    """What kind of problem it is, in words that stay: for filters.

    >>> code_of("rule 'my.rule': unknown key 'descripton'"), code_of("key 'name' stands twice")
    ('unknown-key', 'key-stands-twice')
    """
    kind = re.split(r"[:,;]", _LEFT_OUT.sub("", _NAMED.sub("", message)).strip(" :"))[0]
    return "-".join(kind.lower().split()[:5])
