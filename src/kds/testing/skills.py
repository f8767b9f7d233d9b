"""`kds skills test` and `kds eval skills`: prompts, and the entry that each should activate."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import Field, RootModel

from kds.activation import Activator, Suggestion
from kds.activation.entries import entries_from
from kds.api.measures import calibration_error, rounded, share
from kds.brain.errors import ExampleFileError, Problem
from kds.brain.turn import Utterance
from kds.brain.yaml_files import parse_yaml, validate
from kds.testing.example_files import Loose, Said, Strict, Text, read_file


class _Said(Strict):
    user: Text
    assistant: Text = ""


class _Case(Strict):
    prompt: Said
    expect: Text | list[Text] | None
    history: Annotated[list[_Said], Field(default_factory=list)]


_Cases = RootModel[Annotated[list[_Case], Field(min_length=1)]]


@dataclass(frozen=True, slots=True)
class Case:
    """A prompt, the conversation before it, and the names that are right; none: say nothing."""

    prompt: str
    expected: tuple[str, ...]
    history: tuple[Utterance, ...]
    where: str


@dataclass(frozen=True, slots=True)
class Judged:
    """A case with what was suggested."""

    case: Case
    told: Suggestion
    kind: str = ""

    @property
    def passed(self) -> bool:
        """Whether an expected entry was said, or nothing where nothing is expected."""
        if not self.case.expected:
            return self.told.choice is None
        return self.told.choice in self.case.expected

    @property
    def ranked(self) -> tuple[str, ...]:
        """Names, best first."""
        return tuple(name for name, _ in self.told.ranked)


def read_cases(path: Path, names: Iterable[str]) -> tuple[Case, ...]:
    """Read a YAML list of cases: `prompt`, `expect` (a name, several, or null), `history`.

    Raises ExampleFileError with every problem, of names that are not among ``names`` as well.
    """
    text = read_file(path)
    if isinstance(text, Problem):
        raise ExampleFileError([text])
    document = parse_yaml(text, path=str(path))
    found = document.problems or validate(document, _Cases)
    if isinstance(found, tuple):
        raise ExampleFileError(found)
    known, cases, problems = set(names), [], []
    for row, case in enumerate(found.root):
        expected = [case.expect] if isinstance(case.expect, str) else case.expect or []
        for name in expected:
            if name not in known:
                where, hint = document.where((row, "expect")), "kds skills list shows what there is"
                problems.append(Problem(where, f"no skill, agent or command '{name}'", hint))
        said = (turn for one in case.history for turn in _utterances(one.user, one.assistant))
        cases.append(Case(case.prompt, tuple(expected), tuple(said), document.where((row,))))
    if problems:
        raise ExampleFileError(problems)
    return tuple(cases)


def _utterances(user: str, assistant: str | None) -> Iterable[Utterance]:
    yield Utterance(user)
    if assistant:
        yield Utterance(assistant, "assistant")


def judge(cases: Iterable[Case], activator: Activator) -> tuple[Judged, ...]:
    """Ask for each case."""
    return tuple(Judged(case, activator.suggest(case.prompt, case.history)) for case in cases)


class _Entry(Loose):
    name: Text
    kind: Text = "skill"
    description: str | None = ""
    body_head: str | None = ""


class _Prompt(Loose):
    text: str
    expect: list[str]
    type: str = ""
    history: list[Mapping[str, str | None]] | None = None


class _Library(Loose):
    id: Text
    entries: Annotated[list[_Entry], Field(min_length=1)]
    prompts: list[_Prompt]


def read_libraries(path: Path) -> tuple[Judged, ...]:
    """Read libraries with labelled prompts, a JSON object a line, and ask for each prompt.

    Raises ExampleFileError with the line that is wrong.
    """
    text = read_file(path)
    if isinstance(text, Problem):
        raise ExampleFileError([text])
    judged = []
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        try:
            library = _Library.model_validate_json(line)
        except ValueError as error:
            reason = str(error).splitlines()
            hint = 'a line is {"id": ..., "entries": [...], "prompts": [...]}'
            problem = Problem(f"{path}:{number}", f"not a library: {' '.join(reason[1:3])}", hint)
            raise ExampleFileError([problem]) from error
        activator = Activator(
            entries_from({**one.model_dump(), "body": one.body_head} for one in library.entries)
        )
        for row, prompt in enumerate(library.prompts):
            turns = prompt.history or ()
            said = (one for t in turns for one in _utterances(t["user"] or "", t.get("assistant")))
            case = Case(prompt.text, tuple(prompt.expect), tuple(said), f"{library.id}:{row}")
            judged.append(Judged(case, activator.suggest(case.prompt, case.history), prompt.type))
    return tuple(judged)


def score_skills(judged: Sequence[Judged]) -> Mapping[str, object]:
    """Return the figures of `kds eval skills`, of all prompts and of those really typed."""
    real = [one for one in judged if one.kind.startswith("real")]
    return {
        "prompts": len(judged),
        **_figures(judged),
        **({f"{key}_real": value for key, value in _figures(real).items()} if real else {}),
        "ece": round(calibration_error([_best(one) for one in judged]), 4),
    }


def _best(one: Judged) -> tuple[float, bool]:
    """The probability of the best entry, and whether it is right."""
    name, chance = one.told.ranked[0]
    return chance, name in one.case.expected


def _figures(judged: Sequence[Judged]) -> Mapping[str, object]:
    wanted = [one for one in judged if one.case.expected]
    said = [one for one in judged if one.told.choice]
    unwanted = [one for one in judged if not one.case.expected]

    return rounded(
        {
            "top1": share(_best(one)[1] for one in wanted) or 0.0,
            "top3": share(bool({*one.case.expected} & {*one.ranked[:3]}) for one in wanted) or 0.0,
            "precision": share(one.passed for one in said) or 0.0,
            "recall": share(one.passed for one in wanted) or 0.0,
            "false_activation": share(not one.passed for one in unwanted) or 0.0,
        }
    )


def failure(one: Judged) -> Mapping[str, object]:
    """What went wrong, for JSON."""
    return {
        "where": one.case.where,
        "prompt": one.case.prompt,
        "expected": list(one.case.expected),
        "choice": one.told.choice,
        "ranked": [[name, round(chance, 4)] for name, chance in one.told.ranked[:3]],
    }


def describe(one: Judged) -> str:
    """A failed case in two lines."""
    wanted = " or ".join(one.case.expected) or "nothing"
    ranked = ", ".join(f"{name} {chance:.2f}" for name, chance in one.told.ranked[:3])
    said = one.told.choice or "nothing"
    prompt = json.dumps(one.case.prompt)[:100]
    return f"{one.case.where}: {prompt}\n  expected {wanted}, said {said} ({ranked})"
