"""All prompt files of a workspace: the packaged ones, and the workspace's own laid over them.

A root holds `user/`, `internal/` and `shared/`, each with Markdown files; names that begin
with "_" are partials. A file of the workspace replaces the packaged one at the same place.
Everything is read once, when the library loads; nothing is read from disk afterwards.
"""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

import kds.prompts
from kds.brain.document import nearest, read_text
from kds.brain.errors import DispatchError, Problem, PromptFileError
from kds.router.promptfile import PromptFile, parse_prompt
from kds.router.template import TemplateSet, TemplateSource

FOLDERS: Final = ("user", "internal", "shared")


def packaged_root() -> Path:
    """The folder of the prompts that come with KDS."""
    return Path(kds.prompts.__file__).resolve().parent


class PromptLibrary:
    """The checked prompt files. Values are frozen; rendering is the only thing it does."""

    def __init__(self, prompts: Iterable[PromptFile], templates: TemplateSet) -> None:
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
        return cls.from_roots([packaged_root(), *([overlay] if overlay is not None else [])])

    @classmethod
    def from_roots(cls, roots: Iterable[Path]) -> "PromptLibrary":
        """Prompts from several folders; later ones win. Raises PromptFileError."""
        files, problems = _files(roots)
        prompts: list[PromptFile] = []
        sources: dict[str, TemplateSource] = {}
        for name, path in files.items():
            source, prompt, found = _read(name, path)
            problems += found
            sources |= {name: source} if source else {}
            prompts += [prompt] if prompt else []
        templates = TemplateSet(sources)
        problems += [problem for name in sources for problem in templates.problems(name)]
        complete = not problems  # else an intent may be unknown because its own file is wrong
        for check in (_same_names, _same_intents, *([_unknown_handoffs] if complete else [])):
            problems += check(prompts)
        for prompt in prompts:
            if templates.is_sound(name := _template_name(prompt)):
                problems += _input_problems(prompt, templates.variables(name))
        if problems:
            raise PromptFileError(sorted(problems, key=_place))
        return cls(prompts, templates)

    def prompts(self) -> tuple[PromptFile, ...]:
        """Every prompt file, by its place."""
        return tuple(sorted(self._prompts.values(), key=lambda prompt: prompt.ref))

    def agents(self) -> tuple[PromptFile, ...]:
        """The prompts with an intent, by priority."""
        return self._agents

    def for_intent(self, intent: str) -> PromptFile | None:
        """The agent of an intent, or None."""
        return self._by_intent.get(intent)

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
        near = nearest(intent, list(self._by_intent))
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
            raise DispatchError(message, where=where, hint="remove the input, or supply it")
        return self._templates.render(
            _template_name(prompt), {name: values[name] for name in prompt.inputs}
        )


def _files(roots: Iterable[Path]) -> tuple[dict[str, Path], list[Problem]]:
    """Every Markdown file by its name within its root ("internal/work-planner.md")."""
    files: dict[str, Path] = {}
    problems: list[Problem] = []
    for root in roots:
        home = root.resolve()
        for path in _markdown(root):
            if path.resolve().is_relative_to(home):
                files[f"{path.parent.name}/{path.name}"] = path
            else:
                message = "is a link that leaves the prompts folder"
                problems.append(Problem(f"{path}:1", message, "copy the file into the folder"))
    return files, problems


def _markdown(root: Path) -> Iterator[Path]:
    for folder in FOLDERS:
        yield from sorted((root / folder).glob("*.md"))


def _read(
    name: str, path: Path
) -> tuple[TemplateSource | None, PromptFile | None, tuple[Problem, ...]]:
    text = read_text(path)
    if isinstance(text, Problem):
        return None, None, (text,)
    if path.name.startswith("_"):
        return TemplateSource(text, str(path)), None, ()
    prompt = parse_prompt(text, path=path, ref=f"prompts/{name}")
    if isinstance(prompt, tuple):
        return None, None, prompt
    return TemplateSource(prompt.body, str(path), prompt.body_line), prompt, ()


def _template_name(prompt: PromptFile) -> str:
    return prompt.ref.removeprefix("prompts/")


def _place(problem: Problem) -> tuple[str, int]:
    path, _, line = problem.where.rpartition(":")
    return path, int(line)


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


def _unknown_handoffs(prompts: list[PromptFile]) -> Iterator[Problem]:
    intents = [prompt.intent for prompt in prompts if prompt.intent]
    for prompt in prompts:
        for index, intent in enumerate(prompt.handoffs):
            if intent not in intents:
                near = nearest(intent, intents)
                hint = f"did you mean {near}?" if near else f"use one of: {', '.join(intents)}"
                where = prompt.front.where(("handoffs", index))
                yield Problem(where, f"hands off to unknown intent {intent}", hint)


def _input_problems(prompt: PromptFile, wanted: Mapping[str, str]) -> Iterator[Problem]:
    for name, where in wanted.items():
        if name not in prompt.inputs:
            message = f"uses '{name}', which the inputs of {prompt.name} do not list"
            yield Problem(where, message, f"add '{name}' to the inputs in {prompt.path}")
    for index, name in enumerate(prompt.inputs):
        if name not in wanted:
            message = f"lists the input '{name}', which the template does not use"
            yield Problem(prompt.front.where(("inputs", index)), message, f"remove '{name}'")
