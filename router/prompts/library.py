"""All prompt files of a workspace, checked: the packaged ones and its own laid over them.

A root holds `user/`, `internal/` and `shared/`, each with Markdown files; names that begin with
"_" are partials. A file of the workspace replaces the packaged one at the same place; one without
front matter is a note of the project and passed over, unless it has the name of a packaged prompt.
Everything is read once, when the library loads.
"""

from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Final

import kds.prompts
from kds.brain.errors import DispatchError, Problem, PromptFileError
from kds.brain.yaml_files import NodePath, files_in, nearest, read_text
from kds.router.prompts.promptfile import (
    FENCE,
    ExamplesText,
    PromptDraft,
    PromptFile,
    examples_path,
    read_prompt,
)
from kds.router.prompts.rendering import TemplateSet, TemplateSource

FOLDERS: Final = ("user", "internal", "shared")


@cache
def packaged_root() -> Path:
    """The folder of the prompts that come with KDS."""
    return Path(kds.prompts.__file__).resolve().parent


@dataclass(frozen=True, slots=True)
class PromptTexts:
    """What lies in the folders of prompts: each file by its name within its root, with its text.

    ``problems`` are those of files that cannot be prompts, ``passed_over`` those of mere notes;
    ``examples`` are the files beside prompts, by the names of these.
    """

    texts: tuple[tuple[str, Path, str | Problem], ...]
    passed_over: tuple[Problem, ...]
    problems: tuple[Problem, ...]
    examples: tuple[tuple[str, ExamplesText], ...] = ()


def gathered(roots: Iterable[Path]) -> PromptTexts:
    """What lies in several folders; later ones win. The first must be prompts throughout."""
    first, *overlays = roots
    own, problems = _files([first])
    laid_over, links = _files(overlays)
    packaged = {path.name for path in own.values()}
    notes, unfenced = _without_front_matter(laid_over, packaged)
    left_out = notes.keys() | unfenced.keys()
    files = own | {name: path for name, path in laid_over.items() if name not in left_out}
    return PromptTexts(
        texts=tuple((name, path, read_text(path)) for name, path in files.items()),
        passed_over=tuple(notes.values()),
        problems=(*problems, *links, *unfenced.values()),
        examples=tuple(_examples(files, own)),
    )


def _examples(
    files: Mapping[str, Path], own: Mapping[str, Path]
) -> Iterator[tuple[str, ExamplesText]]:
    """The files of examples beside prompts; a copy without one has that of the packaged prompt."""
    for name, path in files.items():
        if path.name.startswith("_"):
            continue
        beside, packaged = examples_path(path), examples_path(own.get(name, path))
        if beside.is_file():
            text = read_text(beside) if _is_inside(beside) else _leaves(beside)
            yield name, ExamplesText(beside, text)
        elif packaged.is_file():
            yield name, ExamplesText(packaged, read_text(packaged), inherited=True)


def _files(roots: Iterable[Path]) -> tuple[dict[str, Path], list[Problem]]:
    """Every Markdown file by its name within its root ("internal/work-planner.md")."""
    files: dict[str, Path] = {}
    problems: list[Problem] = []
    for root in roots:
        for path in _markdown(root):
            if _is_inside(path):
                files[f"{path.parent.name}/{path.name}"] = path
            else:
                problems.append(_leaves(path))
    return files, problems


def _is_inside(path: Path) -> bool:
    """Whether a file in a folder of a root is in that root, and not behind a link out of it."""
    if not (path.is_symlink() or path.parent.is_symlink()):
        return True
    return path.resolve().is_relative_to(path.parent.parent.resolve())


def _leaves(path: Path) -> Problem:
    message = "is a link that leaves the prompts folder"
    return Problem(f"{path}:1", message, "copy the file into the folder")


def _without_front_matter(
    files: Mapping[str, Path], packaged: Container[str]
) -> tuple[dict[str, Problem], dict[str, Problem]]:
    """What only happens to lie in our folders, by name; and what was to replace one of ours.

    A file is not a note when "---" comes first, even if the rest of its front matter is wrong.
    """
    notes: dict[str, Problem] = {}
    problems: dict[str, Problem] = {}
    for name, path in files.items():
        text = FENCE if path.name.startswith("_") else read_text(path)  # partials have none
        if isinstance(text, Problem) or text.lstrip().startswith(FENCE):
            continue
        if not text.strip():  # as the shell makes it before `kds prompts show NAME > FILE` runs
            notes[name] = Problem(f"{path}:1", "is empty and passed over", "write the prompt")
        elif path.name in packaged:
            message = "has no front matter, and the name of a prompt that comes with KDS"
            problems[name] = Problem(f"{path}:1", message, f"{_FRONT_MATTER}, or rename the file")
        else:
            message = "has no front matter, so it is not a prompt of KDS and is passed over"
            notes[name] = Problem(f"{path}:1", message, f"if it is to be one, {_FRONT_MATTER}")
    return notes, problems


_FRONT_MATTER: Final = f"begin it with a line '{FENCE}', the YAML, and another line '{FENCE}'"


def _markdown(root: Path) -> Iterator[Path]:
    for folder in FOLDERS:
        found = files_in(root / folder, "*.md")
        if isinstance(found, Problem):
            raise PromptFileError([found])
        yield from found


MOST_INTENTS: Final = 50
MOST_EXAMPLES: Final = 5_000
"""What the prompts of a workspace may add: the model of intents is fitted before the first answer,
in three seconds for so many."""


class PromptLibrary:
    """The checked prompt files. Values are frozen; rendering is the only thing it does."""

    passed_over: tuple[Problem, ...]
    """The Markdown files of the workspace that are not prompts of KDS, each with what to do."""

    def __init__(
        self,
        prompts: Iterable[PromptFile],
        templates: TemplateSet,
        passed_over: tuple[Problem, ...] = (),
    ) -> None:
        self.passed_over = passed_over
        self._prompts = {prompt.name: prompt for prompt in prompts}
        self._templates = templates
        agents = (prompt for prompt in self._prompts.values() if prompt.intent is not None)
        self._agents = tuple(sorted(agents, key=lambda prompt: (prompt.priority, prompt.name)))
        self._by_intent = {prompt.intent: prompt for prompt in self._agents}

    @classmethod
    def load(cls, overlay: Path | None = None) -> "PromptLibrary":
        """The packaged prompts, and those of the workspace's `prompts/` folder over them.

        Raises PromptFileError with the problems of all files.
        """
        roots = [packaged_root(), *([overlay] if overlay is not None else [])]
        return cls.from_roots(roots)

    @classmethod
    def from_roots(cls, roots: Iterable[Path]) -> "PromptLibrary":
        """Prompts from several folders; later ones win. The first must be prompts throughout.

        Raises PromptFileError.
        """
        return _library(gathered(roots))

    @classmethod
    def checked(cls, found: PromptTexts) -> "PromptLibrary":
        """The library of these texts. Raises PromptFileError with the problems of all files."""
        sources: dict[str, TemplateSource] = {}
        drafts: list[PromptDraft] = []
        examples = dict(found.examples)
        for name, path, text in found.texts:
            source, draft = _read(name, path, text, examples.get(name))
            sources |= {name: source} if source else {}
            drafts.append(draft)
        templates = TemplateSet(sources)
        alone = [*found.problems, *(problem for draft in drafts for problem in draft.problems)]
        alone += [problem for name in sources for problem in templates.problems(name)]
        together = _problems_together(drafts, templates, complete=not alone)
        if problems := sorted([*alone, *together], key=_place):
            raise PromptFileError(problems)
        prompts = [draft.prompt for draft in drafts if draft.prompt]
        return cls(prompts, templates, found.passed_over)

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
        return frozenset(agent.intent for agent in self._agents if agent.intent and agent.corrects)

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
        near = nearest(intent, [name for name in self._by_intent if name])
        known = ", ".join(agent.intent for agent in self.agents() if agent.intent)
        hint = f"did you mean {near}?" if near else f"use one of: {known}"
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
        missing = [name for name in prompt.inputs if name not in values]
        if missing:
            message = f"prompt '{prompt.name}' got no value for: {', '.join(missing)}"
            where = prompt.front.where(("inputs",))
            near = nearest(missing[0], values)
            hint = f"did you mean '{near}'?" if near else "remove the input, or supply it"
            raise DispatchError(message, where=where, hint=hint)
        return self._templates.render(
            _template_name(prompt), {name: values[name] for name in prompt.inputs}
        )


@lru_cache(maxsize=16)
def _library(found: PromptTexts) -> PromptLibrary:
    """The same files with the same texts are one library for the whole process."""
    return PromptLibrary.checked(found)


def _read(
    name: str,
    path: Path,
    text: str | Problem,
    examples: ExamplesText | None,
) -> tuple[TemplateSource | None, PromptDraft]:
    """The template of a file, unless there is none to read, and what else the file holds."""
    if isinstance(text, Problem):
        return None, PromptDraft((text,))
    ships = path.is_relative_to(packaged_root())
    if path.name.startswith("_"):
        return TemplateSource(text, str(path), trusted=ships), PromptDraft(())
    draft = read_prompt(
        text,
        path=path,
        ref=f"prompts/{name}",
        trusted=ships,
        examples=examples,
    )
    if not draft.body:
        return None, draft
    source = TemplateSource(draft.body, str(path), draft.body_line, trusted=ships)
    return source, draft


def _problems_together(
    drafts: Iterable[PromptDraft], templates: TemplateSet, *, complete: bool
) -> Iterator[Problem]:
    """What is wrong between files, and between a file and its template.

    Unless they are ``complete`` an intent may be unknown because its own file is wrong.
    """
    prompts = [draft.prompt for draft in drafts if draft.prompt and not draft.problems]
    yield from _too_many([draft.prompt for draft in drafts if draft.prompt])
    yield from _same_names(prompts)
    yield from _same_intents([draft.prompt for draft in drafts if draft.prompt])
    if complete:
        yield from _unknown_intents(prompts)
    for draft in drafts:
        if draft.prompt:
            yield from _input_problems(draft.prompt, templates)


def _template_name(prompt: PromptFile) -> str:
    return prompt.ref.removeprefix("prompts/")


def _place(problem: Problem) -> tuple[str, int]:
    path, _, line = problem.where.rpartition(":")
    return path, int(line)


def _too_many(prompts: list[PromptFile]) -> Iterator[Problem]:
    """The first prompt of the workspace with which there are too many intents or examples."""
    intents = examples = 0
    for prompt in prompts:
        if prompt.intent is None or Path(prompt.path).is_relative_to(packaged_root()):
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


def _same_names(prompts: list[PromptFile]) -> Iterator[Problem]:
    seen: dict[str, PromptFile] = {}
    for prompt in prompts:
        if (first := seen.setdefault(prompt.name, prompt)) is not prompt:
            message = f"name '{prompt.name}' is taken by {first.path}"
            yield Problem(prompt.front.where(("name",)), message, "rename one of the two files")


def _same_intents(prompts: list[PromptFile]) -> Iterator[Problem]:
    seen: dict[str, PromptFile] = {}
    for prompt in prompts:
        if prompt.intent and (first := seen.setdefault(prompt.intent, prompt)) is not prompt:
            message = f"intent {prompt.intent} is already that of {first.path}"
            hint = f"to replace it, name this file {Path(first.ref).name}; else rename the intent"
            yield Problem(prompt.front.where(("intent",)), message, hint)


def _unknown_intents(prompts: list[PromptFile]) -> Iterator[Problem]:
    """What prompts say of intents that no prompt has."""
    intents = [prompt.intent for prompt in prompts if prompt.intent]
    for prompt in prompts:
        for at, told, intent in _named_intents(prompt):
            if intent not in intents:
                near = nearest(intent, intents)
                hint = f"did you mean {near}?" if near else f"use one of: {', '.join(intents)}"
                yield Problem(prompt.front.where(at), f"{told} unknown intent {intent}", hint)


def _named_intents(prompt: PromptFile) -> Iterator[tuple[NodePath, str, str]]:
    """The other intents that a prompt names: where, how to say it, and which."""
    for index, intent in enumerate(prompt.handoffs):
        yield ("handoffs", index), "hands off to", intent
    for index, intent in enumerate(prompt.absorbs):
        yield ("absorbs", index), "absorbs", intent
    for index, intent in enumerate(prompt.symptoms):
        yield ("symptoms", index), "takes 'symptoms' from", intent
    for index, shift in enumerate(prompt.context):
        for intent in sorted(shift.after):
            yield ("context", index), "has a 'context' after", intent


def _input_problems(prompt: PromptFile, templates: TemplateSet) -> Iterator[Problem]:
    if not templates.is_sound(name := _template_name(prompt)):
        return
    wanted = templates.variables(name)
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
