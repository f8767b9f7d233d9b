"""All prompt files of a workspace, checked; see `kds.router.prompts.texts` for where they lie.

Everything is read once, when the library loads; nothing is read from disk afterwards.
"""

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Final

from kds.brain.errors import DispatchError, Problem, PromptFileError
from kds.brain.yaml_files import DocumentCache, NodePath, nearest
from kds.router.prompts.examplefile import ExamplesText
from kds.router.prompts.promptfile import PromptDraft, PromptFile, read_prompt
from kds.router.prompts.template import TemplateSet, TemplateSource
from kds.router.prompts.texts import PromptTexts, gathered, packaged_root

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
    def load(
        cls, overlay: Path | None = None, *, cache: DocumentCache | None = None
    ) -> "PromptLibrary":
        """The packaged prompts, and those of the workspace's `prompts/` folder over them.

        What the ``cache`` of the workspace knows is not checked anew. Raises PromptFileError with
        the problems of all files.
        """
        roots = [packaged_root(), *([overlay] if overlay is not None else [])]
        return cls.from_roots(roots, cache=cache)

    @classmethod
    def from_roots(
        cls, roots: Iterable[Path], *, cache: DocumentCache | None = None
    ) -> "PromptLibrary":
        """Prompts from several folders; later ones win. The first must be prompts throughout.

        Raises PromptFileError.
        """
        return _library(gathered(roots, cache))

    @classmethod
    def checked(cls, found: PromptTexts) -> "PromptLibrary":
        """The library of these texts. Raises PromptFileError with the problems of all files."""
        sources: dict[str, TemplateSource] = {}
        drafts: list[PromptDraft] = []
        examples = dict(found.examples)
        for name, path, text in found.texts:
            source, draft = _read(name, path, text, found.cache, examples.get(name))
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
    cache: DocumentCache | None,
    examples: ExamplesText | None,
) -> tuple[TemplateSource | None, PromptDraft]:
    """The template of a file, unless there is none to read, and what else the file holds."""
    if isinstance(text, Problem):
        return None, PromptDraft((text,))
    if path.name.startswith("_"):
        return TemplateSource(text, str(path)), PromptDraft(())
    ships = path.is_relative_to(packaged_root())
    draft = read_prompt(
        text,
        path=path,
        ref=f"prompts/{name}",
        cache=cache,
        trusted=ships,
        examples=examples,
    )
    source = TemplateSource(draft.body, str(path), draft.body_line) if draft.body else None
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
        if draft.inputs_read and draft.prompt:
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
