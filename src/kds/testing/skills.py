"""`kds skills test` and `kds eval skills`: prompts, and the entry that each should activate."""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from pydantic import Field

from kds.activation import Activator
from kds.activation.discovery import EntryError, entries_from
from kds.api.measures import calibration_error, share
from kds.brain.errors import ExampleFileError, Problem
from kds.brain.turn import Utterance
from kds.testing.examples import Bench, Example, Row, Text, Texts, read_examples


class _Said(Example):
    user: str | None = None
    assistant: str | None = None


class Case(Example):
    """A prompt, the conversation before it, and the names that are right; none: say nothing."""

    prompt: Text
    expect: Texts
    history: list[_Said] | None = None


class _LabelledPrompt(Case):
    prompt: Text = Field(alias="text")
    type: str = ""


class Library(Example):
    """The entries of a project, as `Activator` takes them, and prompts for them."""

    id: Text
    entries: list[dict[str, Any]] = Field(min_length=1)
    prompts: list[_LabelledPrompt]


def read_cases(path: Path, names: Iterable[str]) -> tuple[Case, ...]:
    """Read the cases of `kds skills test`.

    Raises ExampleFileError with every problem, of names that are not among ``names`` as well.
    """
    cases, known = read_examples(path, Case), set(names)
    hint = "kds skills shows what there is"
    if problems := [
        Problem(case.where, f"no skill, agent or command '{name}'", hint)
        for case in cases
        for name in case.expect
        if name not in known
    ]:
        raise ExampleFileError(problems)
    return cases


def judge(case: Case, activator: Activator) -> Row:
    """Ask for a case: right is an expected entry, or nothing where nothing is expected."""
    said = list[Utterance]()
    for one in case.history or ():
        said.append(Utterance(one.user or ""))
        said += [Utterance(one.assistant, "assistant")] if one.assistant else []
    told = activator.suggest(case.prompt, tuple(said))
    return {
        "where": case.where,
        "prompt": case.prompt,
        "expected": list(case.expect),
        "choice": told.choice,
        "ranked": told.ranked[:3],
        "right": told.choice in (case.expect or (None,)),
    }


def describe(rows: Iterable[Row]) -> str:
    """Each case that failed, in two lines."""
    texts = []
    for row in (row for row in rows if not row["right"]):
        wanted = " or ".join(row["expected"]) or "nothing"
        ranked = ", ".join(f"{name} {chance:.2f}" for name, chance in row["ranked"])
        texts.append(f"{row['where']}: {json.dumps(row['prompt'])[:100]}")
        texts.append(f"  expected {wanted}, said {row['choice'] or 'nothing'} ({ranked})")
    return "\n".join(texts)


# kds eval skills


def run(libraries: Sequence[Library], bench: Bench) -> list[Row]:
    """Ask for each prompt of each library."""
    rows = []
    for library in bench.each(libraries, "asking for each prompt"):
        try:
            entries = entries_from(one | {"body": one.get("body_head")} for one in library.entries)
        except EntryError as error:
            where = f"{library.where}: {error.where}"
            problem = Problem(where, error.message, error.hint or "")
            raise ExampleFileError([problem]) from error
        activator = Activator(entries)
        rows += [
            judge(case, activator) | {"where": f"{library.id}:{number}", "type": case.type}
            for number, case in enumerate(library.prompts)
        ]
    return rows


def score(rows: Sequence[Row]) -> Row:
    """Return the figures of `kds eval skills`, of all prompts and of those really typed."""
    real = [row for row in rows if row["type"].startswith("real")]
    typed = {f"{key}_real": value for key, value in _figures(real).items()} if real else {}
    best = [(row["ranked"][0], row["expected"]) for row in rows]
    ece = calibration_error([(chance, name in expected) for (name, chance), expected in best])
    return {"prompts": len(rows), **_figures(rows), **typed, "ece": ece}


def _figures(rows: Sequence[Row]) -> Row:
    wanted = [row for row in rows if row["expected"]]
    ranks = [[name in row["expected"] for name, _ in row["ranked"]] for row in wanted]
    found = {
        "top1": share(rank[0] for rank in ranks),
        "top3": share(map(any, ranks)),
        "precision": share(row["right"] for row in rows if row["choice"]),
        "recall": share(row["right"] for row in wanted),
        "false_activation": share(not row["right"] for row in rows if not row["expected"]),
    }
    return {key: value or 0.0 for key, value in found.items()}
