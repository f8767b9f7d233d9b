"""All prompt files of a workspace, checked: the packaged ones and its own laid over them.

A root holds `user/`, `internal/` and `shared/`, each with Markdown files; names that begin with
"_" are partials. A file of the workspace replaces the packaged one at the same place; one without
front matter is a note of the project and passed over, unless it has the name of a packaged prompt.
Everything is read once, when the library loads.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache, lru_cache
from pathlib import Path
from typing import Final, NamedTuple

import kds.prompts
from kds.brain.errors import DispatchError, Problem, PromptFileError, line_of
from kds.brain.workspace import Workspace
from kds.brain.yaml_files import (
    NOTHING,
    NodePath,
    did_you_mean,
    files_in,
    loading,
    nearest,
    read_text,
)
from kds.router.prompts.promptfile import (
    BEGIN,
    FENCE,
    SUFFIX,
    ExamplesText,
    PromptFile,
    examples_path,
    read_prompt,
)
from kds.router.prompts.rendering import TemplateSet, TemplateSource

FOLDERS: Final = ("user", "internal", "shared")

MOST_INTENTS: Final = 50
MOST_EXAMPLES: Final = 4_000
"""What the prompts of a workspace may add: the model of intents is fitted before the first answer,
in five seconds for so many. A copy of the packaged ones has 2,650."""


@cache
def packaged_root() -> Path:
    """The folder of the prompts that come with KDS."""
    return Path(kds.prompts.__file__).resolve().parent


class PromptLibrary:
    """The checked prompt files. Values are frozen; rendering is the only thing it does."""

    def __init__(
        self,
        prompts: Iterable[PromptFile],
        templates: TemplateSet,
        passed_over: tuple[Problem, ...] = (),
    ) -> None:
        self.passed_over = passed_over
        """The Markdown files of the workspace that are not prompts of KDS, each with what to do."""
        self._prompts = {prompt.name: prompt for prompt in prompts}
        self._templates = templates
        agents = (prompt for prompt in self._prompts.values() if prompt.intent is not None)
        self._agents = tuple(sorted(agents, key=lambda prompt: (prompt.priority, prompt.name)))
        self._by_intent = {prompt.intent or "": prompt for prompt in self._agents}

    @classmethod
    def load(
        cls,
        overlay: Path | None = None,
        *,
        packaged: Path | None = None,
        without: frozenset[Path] = NOTHING,
    ) -> "PromptLibrary":
        """The ``packaged`` prompts (None: those of KDS), and a workspace's `prompts/` over them.

        ``without`` are files to leave out, each with the other file of the same prompt. Raises
        PromptFileError with the problems of all others.
        """
        return _library(*_gathered(packaged or packaged_root(), overlay, without))

    @classmethod
    def sound(cls, overlay: Path) -> tuple["PromptLibrary", tuple[Problem, ...]]:
        """The same without the files that do not load, and what is wrong with them."""
        return loading(lambda without: cls.load(overlay, without=without), overlay)

    def prompts(self) -> tuple[PromptFile, ...]:
        """Every prompt file, by its place."""
        return tuple(sorted(self._prompts.values(), key=lambda prompt: prompt.ref))

    def agents(self) -> tuple[PromptFile, ...]:
        """The prompts with an intent, by priority."""
        return self._agents

    def for_intent(self, intent: str) -> PromptFile | None:
        """The agent of an intent, or None."""
        return self._by_intent.get(intent)

    def corrections(self) -> frozenset[str]:
        """The intents of messages that say the one before was misread, or badly done."""
        return frozenset(intent for intent, agent in self._by_intent.items() if agent.corrects)

    def intent_named(self, given: str) -> str:
        """An intent as its agent spells it.

        Raises DispatchError, which names the nearest one: a typing error is not acted on.
        """
        intent = given.strip().upper()
        if intent in self._by_intent:
            return intent
        raise DispatchError(
            f"unknown intent '{given}'", hint=_intents_hint(intent, self._by_intent)
        )

    def get(self, name: str) -> PromptFile:
        """The prompt of that name, or at that place ("prompts/user/kds.md").

        Raises DispatchError, which names the nearest one.
        """
        known = {prompt.ref: prompt for prompt in self._prompts.values()} | self._prompts
        if (prompt := known.get(name)) is not None:
            return prompt
        hint = did_you_mean(name, known, "see `kds prompts list`")
        raise DispatchError(f"no prompt file '{name}'", hint=hint)

    def render(self, prompt: PromptFile, values: Mapping[str, object]) -> str:
        """Fill in a prompt; ``values`` may hold more than its inputs. Raises DispatchError."""
        if missing := [name for name in prompt.inputs if name not in values]:
            message = f"prompt '{prompt.name}' got no value for: {', '.join(missing)}"
            hint = did_you_mean(missing[0], values, "remove the input, or supply it")
            raise DispatchError(message, where=prompt.front.where(("inputs",)), hint=hint)
        inputs = {name: values[name] for name in prompt.inputs}
        return self._templates.render(_template_name(prompt), inputs)


def _template_name(prompt: PromptFile) -> str:
    return prompt.ref.removeprefix("prompts/")


def _intents_hint(intent: str, known: Mapping[str, object]) -> str:
    near = nearest(intent, known)
    return f"did you mean {near}?" if near else f"use one of: {', '.join(known)}"


# What lies in the folders


class _File(NamedTuple):
    """A file by its name within its root ("internal/work-planner.md")."""

    name: str
    path: Path
    text: str | Problem
    examples: ExamplesText | None


_Problems = tuple[Problem, ...]


def _gathered(
    packaged: Path, overlay: Path | None, without: frozenset[Path]
) -> tuple[tuple[_File, ...], _Problems, _Problems]:
    """The prompt files of both folders, what keeps others from being one, and mere notes.

    A file is not a note when "---" comes first, even if the rest of its front matter is wrong.
    """
    own, problems = _files(packaged, NOTHING)
    prompts = {path.with_name(f"{path.name.removesuffix(SUFFIX)}.md") for path in without}
    laid_over, links = _files(overlay, without | prompts) if overlay else ({}, [])
    files, problems, notes = dict(own), problems + links, []
    for name, path in laid_over.items():
        text = FENCE if path.name.startswith("_") else read_text(path)  # partials have none
        if isinstance(text, Problem) or text.lstrip().startswith(FENCE):
            files[name] = path
        elif not text.strip():  # as the shell makes it before `kds prompts show NAME > FILE` runs
            notes.append(Problem(f"{path}:1", "is empty and passed over", "write the prompt"))
        elif path.name in {one.name for one in own.values()}:
            message = "has no front matter, and the name of a prompt that comes with KDS"
            problems.append(Problem(f"{path}:1", message, f"{BEGIN}, or rename the file"))
        else:
            message = "has no front matter, so it is not a prompt of KDS and is passed over"
            notes.append(Problem(f"{path}:1", message, f"if it is to be one, {BEGIN}"))
    found = (
        _File(name, path, read_text(path), _examples(path, own.get(name, path)))
        for name, path in files.items()
    )
    return tuple(found), tuple(problems), tuple(notes)


def _examples(path: Path, packaged: Path) -> ExamplesText | None:
    """The file of examples beside a prompt; a copy without one has that of the packaged prompt."""
    beside, inherited = examples_path(path), examples_path(packaged)
    if beside.is_file():
        return ExamplesText(beside, _leaves(beside) or read_text(beside))
    return ExamplesText(inherited, read_text(inherited), True) if inherited.is_file() else None


def _files(root: Path, without: frozenset[Path]) -> tuple[dict[str, Path], list[Problem]]:
    """Every Markdown file by its name within its root, and the links that lead out of it."""
    files: dict[str, Path] = {}
    problems: list[Problem] = []
    for folder in (root / name for name in FOLDERS):
        found = files_in(folder, "*.md", without)
        if isinstance(found, Problem):
            raise PromptFileError([found])
        for path in found:
            if (problem := _leaves(path)) is not None:
                problems.append(problem)
            else:
                files[f"{folder.name}/{path.name}"] = path
    return files, problems


def _leaves(path: Path) -> Problem | None:
    """The Problem that a file in a folder of a root is behind a link out of it."""
    linked = path.is_symlink() or path.parent.is_symlink()
    if not linked or path.resolve().is_relative_to(path.parent.parent.resolve()):
        return None
    message = "is a link that leaves the prompts folder"
    return Problem(f"{path}:1", message, "copy the file into the folder")


@lru_cache(maxsize=16)
def _library(files: tuple[_File, ...], problems: _Problems, notes: _Problems) -> PromptLibrary:
    """The library of these files. Raises PromptFileError with the problems of all of them.

    The same files with the same texts are one library for the whole process.
    """
    sources: dict[str, TemplateSource] = {}
    prompts: dict[str, PromptFile] = {}
    faults = [*problems]
    for name, path, text, examples in files:
        ships = path.is_relative_to(packaged_root())
        if isinstance(text, Problem):
            faults.append(text)
        elif path.name.startswith("_"):
            sources[name] = TemplateSource(text, str(path), trusted=ships)
        else:
            ref = f"prompts/{name}"
            prompt, wrong = read_prompt(text, path=path, ref=ref, trusted=ships, examples=examples)
            faults += wrong
            if prompt is not None:
                prompts[name] = prompt
                sources[name] = TemplateSource(prompt.body, str(path), prompt.body_line, ships)
    templates = TemplateSet(sources)
    faults += templates.problems()
    faults += _between([*prompts.values()], complete=not faults)
    for name, prompt in prompts.items():
        faults += _input_problems(prompt, templates.variables(name))
    if faults:
        faults.sort(key=lambda one: (str(one.path), line_of(one.where)))
        raise PromptFileError(faults)
    return PromptLibrary(prompts.values(), templates, notes)


# What is wrong between files, and between a file and its template


def _between(prompts: list[PromptFile], *, complete: bool) -> Iterator[Problem]:
    """Unless the prompts are ``complete`` an intent may be unknown because its file is wrong."""
    own = [one for one in prompts if one.intent and not one.path.is_relative_to(packaged_root())]
    examples = sum(len(one.examples) + len(one.counter_examples) for one in own)
    if len(own) > MOST_INTENTS or examples > MOST_EXAMPLES:
        message = (
            f"with it there are more than {MOST_INTENTS} prompts with an intent, or more than"
            f" {MOST_EXAMPLES:,} examples in all of them"
        )
        yield Problem(own[-1].front.where(), message, "join some prompts, or remove examples")
    names: dict[str, PromptFile] = {}
    intents: dict[str, PromptFile] = {}
    for prompt in prompts:
        if (first := names.setdefault(prompt.name, prompt)) is not prompt:
            message = f"name '{prompt.name}' is taken by {first.path}"
            yield Problem(prompt.front.where(("name",)), message, "rename one of the two files")
        if prompt.intent and (first := intents.setdefault(prompt.intent, prompt)) is not prompt:
            message = f"intent {prompt.intent} is already that of {first.path}"
            hint = f"to replace it, name this file {Path(first.ref).name}; else rename the intent"
            yield Problem(prompt.front.where(("intent",)), message, hint)
    for prompt in prompts if complete else ():
        for at, told, intent in _named_intents(prompt):
            if intent not in intents:
                message = f"{told} unknown intent '{intent}'"
                yield Problem(prompt.front.where(at), message, _intents_hint(intent, intents))


def _named_intents(prompt: PromptFile) -> Iterator[tuple[NodePath, str, str]]:
    """The other intents that a prompt names: where, how to say it, and which."""
    for key, told, intents in (
        ("handoffs", "hands off to", prompt.handoffs),
        ("absorbs", "absorbs", prompt.absorbs),
        ("symptoms", "takes 'symptoms' from", prompt.symptoms),
    ):
        for index, intent in enumerate(intents):
            yield (key, index), told, intent
    for index, shift in enumerate(prompt.context):
        for intent in sorted(shift.after):
            yield ("context", index), "has a 'context' after", intent


def _input_problems(prompt: PromptFile, wanted: Mapping[str, str] | None) -> Iterator[Problem]:
    """``wanted`` is what the template uses, None where that cannot be told."""
    for name, where in (wanted or {}).items():
        if name not in prompt.inputs:
            message = f"uses '{name}', which the inputs of {prompt.name} do not list"
            near = nearest(name, list(prompt.inputs))
            hint = f"did you mean '{near}'? Else add '{name}'" if near else f"add '{name}'"
            yield Problem(where, message, f"{hint} to the inputs in {prompt.path}")
    for index, name in enumerate(prompt.inputs):
        if wanted is not None and name not in wanted:
            message = f"lists the input '{name}', which the template does not use"
            yield Problem(prompt.front.where(("inputs", index)), message, f"remove '{name}'")


# Files that look like those of KDS and are never read

_RULES: Final = re.compile(r"^(?:rules|entities|knowledge):|^\s*-?\s*signal:", re.MULTILINE)
"""How a rule file of KDS gives itself away, among those of linters and other tools."""


def stray_files(workspace: Workspace) -> tuple[Problem, ...]:
    """Prompts at the wrong level, examples that stand alone, rules where none are read.

    What `kds prompts check` warns of, each with what to do. Reads only YAML and Markdown.
    """
    prompts, rules = workspace.prompts_dir, workspace.rules_dir

    def found(folder: Path, *patterns: str) -> list[Path]:
        return sorted(one for each in patterns for one in folder.glob(each) if one.is_file())

    level = f"move it to {' or '.join(f'{prompts}/{name}' for name in FOLDERS)}"
    strays = [
        (path, level)
        for path in found(prompts, "*.md", *(f"{name}/*/**/*.md" for name in FOLDERS))
        if str(read_text(path)).lstrip().startswith(FENCE)
    ]
    for path in found(prompts, f"*{SUFFIX}", *(f"{name}/*.y*ml" for name in FOLDERS)):
        prompt = path.with_name(f"{path.name.partition('.')[0]}.md")
        own = examples_path(prompt)
        if path.parent == prompts or path != own or not prompt.is_file():
            hint = f"examples are read from {own.name} beside {prompt.name}, rules from {rules}"
            strays.append((path, hint))
    strays += [
        (path, f"move it to {rules}/{path.stem}.yaml")
        for path in [*found(rules, "*.yml"), *found(workspace.root / "rules", "*.y*ml")]
        if path.parent == rules or _RULES.search(str(read_text(path)))
    ]
    message = "looks like a file of KDS, and is not read here"
    return tuple(Problem(f"{path}:1", message, hint) for path, hint in strays)
