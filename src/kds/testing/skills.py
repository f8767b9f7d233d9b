"""`kds skills test` and `kds eval skills`: prompts, and the entry that each should activate."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final

from pydantic import Field, RootModel

from kds.activation import Activator, Suggestion
from kds.activation.discovery import EntryError, entries_from
from kds.api.measures import calibration_error, rounded, share
from kds.brain.errors import ExampleFileError, Problem
from kds.brain.turn import Utterance
from kds.testing.example_files import Loose, Row, Said, Strict, Text, Texts, read_rows, read_yaml


class _Said(Strict):
    user: Text
    assistant: Text = ""


class _Case(Strict):
    prompt: Said
    expect: Texts
    history: list[_Said] = Field([])


_Cases = RootModel[Annotated[list[_Case], Field(min_length=1)]]

LIBRARY_FORM: Final = (
    '{"id": "a", "entries": [{"name": "notes", "description": "Write release notes."}], '
    '"prompts": [{"text": "write the notes for 2.4", "expect": ["notes"]}]}'
)


@dataclass(frozen=True, slots=True)
class Case:
    """A prompt, the conversation before it, and the names that are right; none: say nothing."""

    prompt: str
    expected: tuple[str, ...]
    history: tuple[Utterance, ...]
    where: str
    kind: str = ""


@dataclass(frozen=True, slots=True)
class Judged:
    """A case with what was suggested."""

    case: Case
    told: Suggestion

    @property
    def passed(self) -> bool:
        """Whether an expected entry was said, or nothing where nothing is expected."""
        return self.told.choice in (self.case.expected or (None,))

    @property
    def best(self) -> tuple[float, bool]:
        """The probability of the best entry, and whether it is right."""
        name, chance = self.told.ranked[0]
        return chance, name in self.case.expected


def read_cases(path: Path, names: Iterable[str]) -> tuple[Case, ...]:
    """Read a YAML list of cases: `prompt`, `expect` (a name, several, or null), `history`.

    Raises ExampleFileError with every problem, of names that are not among ``names`` as well.
    """
    found, document = read_yaml(path, _Cases)
    known, cases, problems = set(names), [], []
    for row, case in enumerate(found.root):
        for name in set(case.expect) - known:
            where, hint = document.where((row, "expect")), "kds skills list shows what there is"
            problems.append(Problem(where, f"no skill, agent or command '{name}'", hint))
        said = _utterances((one.user, one.assistant) for one in case.history)
        cases.append(Case(case.prompt, case.expect, said, document.where((row,))))
    if problems:
        raise ExampleFileError(problems)
    return tuple(cases)


def _utterances(turns: Iterable[tuple[str, str | None]]) -> tuple[Utterance, ...]:
    said = ((Utterance(user), Utterance(reply or "", "assistant")) for user, reply in turns)
    return tuple(one for pair in said for one in pair if one.text or one.role == "user")


def judge(case: Case, activator: Activator) -> Judged:
    """Ask for a case."""
    return Judged(case, activator.suggest(case.prompt, case.history))


class _Entry(Loose):
    name: Text
    kind: Text = "skill"
    description: str | None = ""
    body_head: str | None = ""


class _Prompt(Loose):
    text: str
    expect: tuple[str, ...]
    type: str = ""
    history: list[Mapping[str, str | None]] | None = None


class _Library(Loose):
    id: Text
    entries: list[_Entry] = Field(min_length=1)
    prompts: list[_Prompt]


def read_libraries(path: Path) -> tuple[tuple[Case, Activator], ...]:
    """Read libraries with labelled prompts, JSON lines. Raises ExampleFileError."""
    cases = []
    for library in read_rows(path, _Library, form=LIBRARY_FORM):
        entries = ({**one.model_dump(), "body": one.body_head} for one in library.entries)
        try:
            activator = Activator(entries_from(entries))
        except EntryError as error:
            raise ExampleFileError(
                [Problem(f"{library.where}: {error.where}", error.message, error.hint or "")]
            ) from error
        for row, one in enumerate(library.prompts):
            said = _utterances((t["user"] or "", t.get("assistant")) for t in one.history or ())
            case = Case(one.text, one.expect, said, f"{library.id}:{row}", one.type)
            cases.append((case, activator))
    return tuple(cases)


def score_skills(judged: Sequence[Judged]) -> Mapping[str, object]:
    """Return the figures of `kds eval skills`, of all prompts and of those really typed."""
    real = [one for one in judged if one.case.kind.startswith("real")]
    typed = {f"{key}_real": value for key, value in _figures(real).items()} if real else {}
    ece = round(calibration_error([one.best for one in judged]), 4)
    return {"prompts": len(judged), **_figures(judged), **typed, "ece": ece}


def _figures(judged: Sequence[Judged]) -> Mapping[str, object]:
    wanted = [one for one in judged if one.case.expected]
    found = {
        "top1": (one.best[1] for one in wanted),
        "top3": (bool({*one.case.expected} & {*dict(one.told.ranked[:3])}) for one in wanted),
        "precision": (one.passed for one in judged if one.told.choice),
        "recall": (one.passed for one in wanted),
        "false_activation": (not one.passed for one in judged if not one.case.expected),
    }
    return rounded({key: share(outcomes) or 0.0 for key, outcomes in found.items()})


def failure(one: Judged) -> Row | None:
    """What went wrong, for JSON; None when nothing did."""
    if one.passed:
        return None
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
