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
from kds.brain.errors import DispatchError, Problem, PromptFileError
from kds.brain.workspace import Workspace
from kds.brain.yaml_files import NOTHING, NodePath, files_in, loading, nearest, read_text
from kds.router.prompts.promptfile import (
    FENCE,
    SUFFIX,
    ExamplesText,
    PromptDraft,
    PromptFile,
    examples_path,
    read_prompt,
)
from kds.router.prompts.rendering import TemplateSet, TemplateSource

FOLDERS: Final = ("user", "internal", "shared")

MOST_INTENTS: Final = 50
MOST_EXAMPLES: Final = 2_500
"""What the prompts of a workspace may add: the model of intents is fitted before the first answer,
in three seconds for so many."""

_FRONT_MATTER: Final = f"begin it with a line '{FENCE}', the YAML, and another line '{FENCE}'"


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
        cls, overlay: Path | None = None, *, without: frozenset[Path] = NOTHING
    ) -> "PromptLibrary":
        """The packaged prompts, and those of the workspace's `prompts/` folder over them.

        ``without`` are files to leave out, each with the other file of the same prompt. Raises
        PromptFileError with the problems of all others.
        """
        roots = [packaged_root(), *([] if overlay is None else [overlay])]
        return cls.from_roots(roots, without=without)

    @classmethod
    def sound(cls, overlay: Path) -> tuple["PromptLibrary", tuple[Problem, ...]]:
        """The same without the files that do not load, and what is wrong with them."""
        return loading(lambda without: cls.load(overlay, without=without), overlay)

    @classmethod
    def from_roots(
        cls, roots: Iterable[Path], *, without: frozenset[Path] = NOTHING
    ) -> "PromptLibrary":
        """Prompts from several folders; later ones win. The first must be prompts throughout.

        Raises PromptFileError.
        """
        return _library(*_gathered(roots, without))

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

    def agent_of(self, intent: str) -> PromptFile:
        """The agent of an intent, however that is cased; see `intent_named`."""
        return self._by_intent[self.intent_named(intent)]

    def intent_named(self, given: str) -> str:
        """An intent as its agent spells it.

        Raises DispatchError, which names the nearest one: a typing error is not acted on.
        """
        intent = given.strip().upper()
        if intent in self._by_intent:
            return intent
        near = nearest(intent, self._by_intent)
        hint = f"did you mean {near}?" if near else f"use one of: {', '.join(self._by_intent)}"
        raise DispatchError(f"unknown intent '{given}'", hint=hint)

    def get(self, name: str) -> PromptFile:
        """The prompt of that name, or at that place ("prompts/user/kds.md").

        Raises DispatchError, which names the nearest one.
        """
        known = {prompt.ref: prompt for prompt in self._prompts.values()} | self._prompts
        if (prompt := known.get(name)) is not None:
            return prompt
        near = nearest(name, known)
        hint = f"did you mean '{near}'?" if near else "see `kds prompts list`"
        raise DispatchError(f"no prompt file '{name}'", hint=hint)

    def render(self, prompt: PromptFile, values: Mapping[str, object]) -> str:
        """Fill in a prompt; ``values`` may hold more than its inputs. Raises DispatchError."""
        if missing := [name for name in prompt.inputs if name not in values]:
            message = f"prompt '{prompt.name}' got no value for: {', '.join(missing)}"
            near = nearest(missing[0], values)
            hint = f"did you mean '{near}'?" if near else "remove the input, or supply it"
            raise DispatchError(message, where=prompt.front.where(("inputs",)), hint=hint)
        inputs = {name: values[name] for name in prompt.inputs}
        return self._templates.render(_template_name(prompt), inputs)


# What lies in the folders


class _File(NamedTuple):
    """A file by its name within its root ("internal/work-planner.md")."""

    name: str
    path: Path
    text: str | Problem
    examples: ExamplesText | None


_Problems = tuple[Problem, ...]


def _gathered(
    roots: Iterable[Path], without: frozenset[Path]
) -> tuple[tuple[_File, ...], _Problems, _Problems]:
    """The prompt files of several folders, what keeps others from being one, and mere notes.

    A file is not a note when "---" comes first, even if the rest of its front matter is wrong.
    """
    first, *overlays = roots
    own, problems = _files([first], NOTHING)
    names = {path: f"{path.name.removesuffix(SUFFIX)}.md" for path in without}
    laid_over, links = _files(overlays, without | {path.with_name(names[path]) for path in names})
    packaged = {path.name for path in own.values()}
    files, problems, notes = dict(own), [*problems, *links], []
    for name, path in laid_over.items():
        text = FENCE if path.name.startswith("_") else read_text(path)  # partials have none
        if isinstance(text, Problem) or text.lstrip().startswith(FENCE):
            files[name] = path
        elif not text.strip():  # as the shell makes it before `kds prompts show NAME > FILE` runs
            notes.append(Problem(f"{path}:1", "is empty and passed over", "write the prompt"))
        elif path.name in packaged:
            message = "has no front matter, and the name of a prompt that comes with KDS"
            problems.append(Problem(f"{path}:1", message, f"{_FRONT_MATTER}, or rename the file"))
        else:
            message = "has no front matter, so it is not a prompt of KDS and is passed over"
            notes.append(Problem(f"{path}:1", message, f"if it is to be one, {_FRONT_MATTER}"))
    found = (
        _File(name, path, read_text(path), _examples(path, own.get(name, path)))
        for name, path in files.items()
    )
    return tuple(found), tuple(problems), tuple(notes)


def _examples(path: Path, packaged: Path) -> ExamplesText | None:
    """The file of examples beside a prompt; a copy without one has that of the packaged prompt."""
    if path.name.startswith("_"):
        return None
    beside, inherited = examples_path(path), examples_path(packaged)
    if beside.is_file():
        return ExamplesText(beside, read_text(beside) if _is_inside(beside) else _leaves(beside))
    return ExamplesText(inherited, read_text(inherited), True) if inherited.is_file() else None


def _files(
    roots: Iterable[Path], without: frozenset[Path]
) -> tuple[dict[str, Path], list[Problem]]:
    """Every Markdown file by its name within its root, and the links that lead out of it."""
    files: dict[str, Path] = {}
    problems: list[Problem] = []
    for folder in (root / name for root in roots for name in FOLDERS):
        found = files_in(folder, "*.md", without)
        if isinstance(found, Problem):
            raise PromptFileError([found])
        problems += [_leaves(path) for path in found if not _is_inside(path)]
        files |= {f"{folder.name}/{path.name}": path for path in found if _is_inside(path)}
    return files, problems


def _is_inside(path: Path) -> bool:
    """Whether a file in a folder of a root is in that root, and not behind a link out of it."""
    if not (path.is_symlink() or path.parent.is_symlink()):
        return True
    return path.resolve().is_relative_to(path.parent.parent.resolve())


def _leaves(path: Path) -> Problem:
    message = "is a link that leaves the prompts folder"
    return Problem(f"{path}:1", message, "copy the file into the folder")


@lru_cache(maxsize=16)
def _library(files: tuple[_File, ...], problems: _Problems, notes: _Problems) -> PromptLibrary:
    """The library of these files. Raises PromptFileError with the problems of all of them.

    The same files with the same texts are one library for the whole process.
    """
    sources: dict[str, TemplateSource] = {}
    drafts: list[PromptDraft] = []
    for name, path, text, examples in files:
        ships = path.is_relative_to(packaged_root())
        if isinstance(text, Problem):
            drafts.append(PromptDraft((text,)))
        elif path.name.startswith("_"):
            sources[name] = TemplateSource(text, str(path), trusted=ships)
        else:
            ref = f"prompts/{name}"
            draft = read_prompt(text, path=path, ref=ref, trusted=ships, examples=examples)
            drafts.append(draft)
            if draft.body:
                sources[name] = TemplateSource(draft.body, str(path), draft.body_line, ships)
    templates = TemplateSet(sources)
    alone = [*problems, *(problem for draft in drafts for problem in draft.problems)]
    alone += [problem for name in sources for problem in templates.problems(name)]
    together = _problems_together(drafts, templates, complete=not alone)
    if faults := sorted([*alone, *together], key=_place):
        raise PromptFileError(faults)
    prompts = [draft.prompt for draft in drafts if draft.prompt]
    return PromptLibrary(prompts, templates, notes)


def _problems_together(
    drafts: Iterable[PromptDraft], templates: TemplateSet, *, complete: bool
) -> Iterator[Problem]:
    """What is wrong between files, and between a file and its template.

    Unless they are ``complete`` an intent may be unknown because its own file is wrong.
    """
    readable = [draft.prompt for draft in drafts if draft.prompt]
    sound = [draft.prompt for draft in drafts if draft.prompt and not draft.problems]
    yield from _too_many(readable)
    names: dict[str, PromptFile] = {}
    for prompt in sound:
        if (first := names.setdefault(prompt.name, prompt)) is not prompt:
            message = f"name '{prompt.name}' is taken by {first.path}"
            yield Problem(prompt.front.where(("name",)), message, "rename one of the two files")
    intents: dict[str, PromptFile] = {}
    for prompt in readable:
        if prompt.intent and (first := intents.setdefault(prompt.intent, prompt)) is not prompt:
            message = f"intent {prompt.intent} is already that of {first.path}"
            hint = f"to replace it, name this file {Path(first.ref).name}; else rename the intent"
            yield Problem(prompt.front.where(("intent",)), message, hint)
    for prompt in sound if complete else ():
        for at, told, intent in _named_intents(prompt):
            if intent not in intents:
                near = nearest(intent, intents)
                hint = f"did you mean {near}?" if near else f"use one of: {', '.join(intents)}"
                yield Problem(prompt.front.where(at), f"{told} unknown intent '{intent}'", hint)
    for prompt in readable:
        if templates.is_sound(_template_name(prompt)):
            yield from _input_problems(prompt, templates.variables(_template_name(prompt)))


def _template_name(prompt: PromptFile) -> str:
    return prompt.ref.removeprefix("prompts/")


def _place(problem: Problem) -> tuple[str, int]:
    path, _, line = problem.where.rpartition(":")
    return path, int(line)


def _too_many(prompts: list[PromptFile]) -> Iterator[Problem]:
    """The first prompt of the workspace with which there are too many intents or examples."""
    intents = examples = 0
    for prompt in prompts:
        if prompt.intent is None or prompt.path.is_relative_to(packaged_root()):
            continue
        intents += 1
        examples += len(prompt.examples) + len(prompt.counter_examples)
        if intents > MOST_INTENTS:
            message = f"there are more than {MOST_INTENTS} prompts with an intent"
            yield Problem(prompt.front.where(("intent",)), message, "join some, or move them away")
            return
        if examples > MOST_EXAMPLES:
            message = f"there are more than {MOST_EXAMPLES:,} examples in all prompts together"
            yield Problem(prompt.front.where(("examples",)), message, "remove some")
            return


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


def _input_problems(prompt: PromptFile, wanted: Mapping[str, str]) -> Iterator[Problem]:
    for name, where in wanted.items():
        if name not in prompt.inputs:
            message = f"uses '{name}', which the inputs of {prompt.name} do not list"
            near = nearest(name, list(prompt.inputs))
            hint = f"did you mean '{near}'? Else add '{name}'" if near else f"add '{name}'"
            yield Problem(where, message, f"{hint} to the inputs in {prompt.path}")
    for index, name in enumerate(prompt.inputs):
        if name not in wanted:
            message = f"lists the input '{name}', which the template does not use"
            yield Problem(prompt.front.where(("inputs", index)), message, f"remove '{name}'")


# Files that look like those of KDS and are never read

_PLACES: Final = "move it to prompts/user, prompts/internal or prompts/shared"
_RULES: Final = re.compile(r"^(?:rules|entities|knowledge):|^\s*-?\s*signal:", re.MULTILINE)
"""How a rule file of KDS gives itself away, among those of linters and other tools."""


def stray_files(workspace: Workspace) -> tuple[Problem, ...]:
    """What `kds prompts check` warns of, each with what to do. Reads only YAML and Markdown."""
    message = "looks like a file of KDS, and is not read here"
    found = _strays(workspace.prompts_dir, workspace.root / "rules", workspace.rules_dir)
    return tuple(Problem(f"{path}:1", message, hint) for path, hint in found)


def _strays(prompts: Path, wrong: Path, right: Path) -> Iterator[tuple[Path, str]]:
    """Prompts at the wrong level, examples that stand alone, rules where none are read."""
    for path in _found(prompts, "**/*.md"):
        *inner, _ = path.relative_to(prompts).parts
        near = nearest(inner[0].lower(), list(FOLDERS)) if inner else None
        is_read = len(inner) == 1 and inner[0] in FOLDERS
        if not is_read and (near or not inner) and _says(path).lstrip().startswith(FENCE):
            yield path, f"move it to prompts/{near}" if near else _PLACES
    for path in _found(prompts, f"*{SUFFIX}"):
        yield path, "move it beside its prompt file"
    for path in (one for name in FOLDERS for one in _found(prompts / name, "*.y*ml")):
        prompt = path.with_name(f"{path.name.partition('.')[0]}.md")
        if examples_path(prompt) != path:
            hint = f"examples are read from {examples_path(prompt).name}"
            yield path, f"{hint}, rules from kds-brain/rules/"
        elif not prompt.is_file():
            yield path, f"its prompt file {prompt.name} must lie beside it: add it, or remove this"
    for path in _found(right, "*.yml"):
        yield path, f"name it {path.stem}.yaml"
    for path in _found(wrong, "*.y*ml"):
        if _RULES.search(_says(path)):
            yield path, f"move it to {right}/{path.stem}.yaml"


def _found(folder: Path, pattern: str) -> list[Path]:
    return [path for path in sorted(folder.glob(pattern)) if path.is_file()]


def _says(path: Path) -> str:
    text = read_text(path)
    return text if isinstance(text, str) else ""
