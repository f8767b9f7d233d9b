"""What is wrong in the files of a workspace: for `kds prompts check`, and for an editor.

An editor sends the texts that it has not saved yet: they count in place of the files. It is told
the very words that are wrong, a code, and what to write instead where the fix names that.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Final, Literal

from kds.api.parts import load_resolver
from kds.api.rehearsal import RuleOutcome, run_rule_tests
from kds.api.routing import rewriting
from kds.brain.clock import utc_now
from kds.brain.errors import (
    ConfigError,
    DispatchError,
    Problem,
    PromptFileError,
    line_of,
    place_of,
)
from kds.brain.settings import LiveConfig, load_settings
from kds.brain.turn import Turn
from kds.brain.workspace import Workspace
from kds.brain.yaml_files import UNSAVED, read_text
from kds.learning.teaching import known_in
from kds.router.classify import make_classify
from kds.router.english import load_english
from kds.router.intents.model_cache import open_model
from kds.router.intents.turn_model import turn_model_for
from kds.router.prompts.library import PromptLibrary, stray_files
from kds.router.prompts.promptfile import PromptFile
from kds.router.references.ruleset import load_rules
from kds.testing.dialogues import Dialogue, is_dialogue_file, parse_dialogues

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
        dialogues = [path for path in texts if is_dialogue_file(path, workspace.root)]
        return _Check(workspace, texts, full).run(dialogues)
    finally:
        UNSAVED.reset(token)


@dataclass
class _Check:
    workspace: Workspace
    texts: Mapping[Path, str]
    full: bool
    found: list[tuple[Severity, Problem]] = field(default_factory=list)
    dialogues: list[tuple[str, str, int]] = field(default_factory=list)

    def run(self, dialogues: Sequence[Path]) -> Checked:
        library = self._prompts()
        self._rules()
        try:
            load_settings(self.workspace)
        except ConfigError as error:
            own = self.workspace.settings_path
            self._add(one for one in error.problems if place_of(one.where) == own)
        if dialogues:
            known = library or PromptLibrary.sound(self.workspace.prompts_dir)[0]
            for path in dialogues:
                self._dialogue(path, known)
        texts = _Texts(self.workspace.root)
        unique = dict.fromkeys(self.found)
        problems = tuple(texts.finding(severity, one) for severity, one in unique)
        return Checked(problems, tuple(self.dialogues))

    def _add(self, problems: Iterable[Problem], severity: Severity = "error") -> None:
        self.found += ((severity, one) for one in problems)

    def _prompts(self) -> PromptLibrary | None:
        """The prompts, None where they do not load."""
        folder = self.workspace.prompts_dir
        self._add(stray_files(self.workspace), "warning")
        try:
            library = PromptLibrary.load(folder)
        except PromptFileError as error:
            self._add(error.problems)
            return None
        self._add(library.passed_over, "warning")
        partials = any(folder.glob("*/_*"))  # they may be of packaged prompts, too
        own = (one for one in library.prompts() if partials or one.path.is_relative_to(folder))
        self._add(rendering_problems(library, own))
        if self.full:
            astray = (one for each in astray_examples(library, self.workspace) for one in each)
            self._add(map(_astray, astray), "warning")
        return library

    def _rules(self) -> None:
        place, before = self.workspace, len(self.found)
        for load in (lambda: load_rules(place.rules_dir), lambda: load_english(place.english_dir)):
            try:
                load()
            except ConfigError as error:
                self._add(error.problems)
        if len(self.found) > before:
            return
        resolver = load_resolver(place)
        wanted = [one for one in resolver.rules if self.full or place_of(one.where) in self.texts]
        outcomes = run_rule_tests(
            wanted, rewriting(resolver), lambda rule: rewriting(load_resolver(place, without=rule))
        )
        self._add(map(_failed, (one for one in outcomes if not one.passed)))

    def _dialogue(self, path: Path, library: PromptLibrary) -> None:
        try:
            dialogues = parse_dialogues(self.texts[path], path)
        except ConfigError as error:
            self._add(error.problems)
            return
        self._add(unknown_intents(dialogues, library))
        name = shown(path, self.workspace.root)
        self.dialogues += ((name, one.id, line_of(one.where) - 1) for one in dialogues)


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
    shipped = open_model(library.prompts(), workspace.cache_dir, may_write=False).model
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


def _astray(one: Mapping[str, str]) -> Problem:
    message = f"the example '{one['text']}' reaches {one['intent']}"
    return Problem(one["where"], message, "leave it to one of the two")


def _failed(one: RuleOutcome) -> Problem:
    expected = "' or '".join(one.test.expected or (one.test.message,))
    told = f"'{one.test.message}' came out as '{one.turn.expanded}', not '{expected}'"
    return Problem(one.test.where, f"the test of rule '{one.rule}' fails: {told}", "")


# The words that a problem is about

_QUOTED: Final = re.compile(r"'([^'\n]{1,200})'")
_REPLACEMENT: Final = re.compile(r"(?:did you mean|write) '?([^'?\n]{1,200}?)['?]")
"""How hints name what to write instead."""
_NAMED: Final = re.compile(r"^(?:rule|the test of rule) (?:'[^'\n]*'|\d+):? ")
_LEFT_OUT: Final = re.compile(r"'[^'\n]*'|\([^()\n]*\)|\d+")
_BLOCK: Final = 200
"""Lines of one entry that are looked through."""


class _Texts:
    """Finds in the text of a file what a problem is about."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._lines: dict[Path, list[str]] = {}

    def finding(self, severity: Severity, problem: Problem) -> Finding:
        path, line = problem.path, max(0, line_of(problem.where) - 1)
        if path not in self._lines:
            text = read_text(path)
            self._lines[path] = text.split("\n") if isinstance(text, str) else []
        lines = self._lines[path]
        found = _span(lines, line, problem.message)
        at, *ends = found or (line, *_whole(lines, line))
        start, end = (_utf16(lines, at, one) for one in ends)
        instead = _REPLACEMENT.match(problem.hint) if found else None
        replacement = instead[1].rpartition(": ")[2] if instead else None
        return Finding(
            shown(path, self._root), at, start, end,
            problem.message, problem.hint, code_of(problem.message), severity, replacement,
        )  # fmt: skip


def shown(path: Path, root: Path) -> str:
    """A path as an editor names it: within the workspace where it is in there."""
    return str(path.relative_to(root) if path.is_relative_to(root) else path)


def _span(lines: Sequence[str], line: int, message: str) -> tuple[int, int, int] | None:
    """Line and columns of a word that ``message`` quotes; an unknown name may stand further on."""
    words = _QUOTED.findall(message)[::-1]
    block = _block(lines, line) if message.startswith("unknown") else lines[line : line + 1]
    for word in words:
        there = re.compile(rf"(?<![\w-]){re.escape(word)}(?![\w-])", re.IGNORECASE)
        for number, text in enumerate(block):
            if match := there.search(text):
                return line + number, *match.span()
    return None


def _block(lines: Sequence[str], line: int) -> Sequence[str]:
    """The line and those below it that are indented further."""
    first = lines[line : line + 1]
    depth = len(first[0]) - len(first[0].lstrip()) if first else 0
    rest = lines[line + 1 : line + _BLOCK]
    inside = (
        number for number, text in enumerate(rest)
        if text.strip() and len(text) - len(text.lstrip()) <= depth
    )  # fmt: skip
    return [*first, *rest[: next(inside, len(rest))]]


def _whole(lines: Sequence[str], line: int) -> tuple[int, int]:
    text = lines[line] if line < len(lines) else ""
    return len(text) - len(text.lstrip()), len(text.rstrip())


def _utf16(lines: Sequence[str], line: int, column: int) -> int:
    text = lines[line] if line < len(lines) else ""
    return len(text[:column].encode("utf-16-le", "surrogatepass")) // 2


def code_of(message: str) -> str:
    """What kind of problem it is, in words that stay: for filters.

    >>> code_of("rule 'my.rule': unknown key 'descripton'"), code_of("key 'name' stands twice")
    ('unknown-key', 'key-stands-twice')
    """
    kind = re.split(r"[:,;]", _LEFT_OUT.sub("", _NAMED.sub("", message)).strip(" :"))[0]
    return "-".join(kind.lower().split()[:5])
