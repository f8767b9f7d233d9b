"""Fits the weights by which `kds.router.references.decision` tells right edits from wrong ones.

    python tools/fit_decision.py DATA_FOLDER TESTS_FOLDER OUT.json         (`make decision`)

Reads chats/dev.jsonl (labelled chats of public repositories, the form of docs/evaluation.md) and
dialogues/dev.json (dialogue files) of DATA_FOLDER, which are not in this repository, and its own
dialogues and talks in tests/ (decision 0022). Every proposed edit is an example: was it right?
Cross-validated by repository, dialogue and talk. Needs scikit-learn.
"""

import json
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
from fitting import Floats, drawn_folds, paths, played_dialogues, scaled_logistic, tell

from kds.api.parts import Parts
from kds.api.rehearsal import matches
from kds.api.routing import rehearsed
from kds.brain.turn import Edit, Turn, Utterance
from kds.brain.workspace import Workspace
from kds.router.references.decision import PRECISION, Signs, bar, edit_signs
from kds.testing.chats import Chat, judge_edits
from kds.testing.dialogues import find_dialogue_files
from kds.testing.examples import converse, read_examples

SEED: Final = 7
FOLDS: Final = 10
COST: Final = 0.1
"""C of the fit; .03 to .3 are within noise of each other."""
AGAIN_WEIGHT: Final = 0.2
"""What a proposal counts that is shown once more: one of a chat without the assistant's replies,
one of a dialogue with such replies as assistants give. Cross-validated, at .5 five edits are
written in the chats and two of them wrongly; at .1 a third of the dialogues' edits is lost where
replies are known, at .2 a quarter."""
TALK_WEIGHT: Final = 0.04
"""What a proposal counts in the project's own talks, where only one side is known. The tidy
dialogues alone, in which all are right, would have the model believe what is short. Cross-validated
(written, and right of them; before the bounds of `decision.floor` and `ceiling`): at .04 11 and 11
of the chats, 431 and 430 of the dialogues, 59 and 26 of the talks; at .06 10, 419 and 46 with 23
right; at .15 9, 375 and 27 with 14 right."""

REPLIES: Final = (
    "Done.",
    "I'll look into that: {said}. Here is the plan.\n\n1. Look at what is there\n"
    "2. Make the change\n3. Test it\n\nShall I go on?",
    "Done! I have changed {last} as you asked. The tests pass.",
    "Let me look at the code.\n[...]\nI've updated {last}. It now works as expected.",
)
"""Replies of a dialogue that has none; ``last`` are the last two words of the message."""

SHOWN: Final = {
    ("chats", False): "chats",
    ("chats", True): "chats without replies",
    ("dialogues", False): "dialogues",
    ("dialogues", True): "dialogues with replies",
    ("talks", False): "own talks",
}


class Proposal(NamedTuple):
    """An edit's signs, the probability that it must reach, and whether it is right.

    The second signs are those where replies are known that were not, or the other way round.
    """

    source: str
    group: str
    signs: tuple[Signs, Signs]
    bar: float
    right: bool


def main() -> None:
    """Fit, write the weights with the figures they were chosen by, and tell the figures."""
    data, tests, out = paths(__doc__, "data", "tests", "out")
    with tempfile.TemporaryDirectory() as empty:
        # what is fitted must not depend on what was
        parts = replace(Parts.load(Workspace.at(empty)), decider=None)
    found = list(_from_chats(data / "chats/dev.jsonl", parts))
    for path in (data / "dialogues/dev.json", *find_dialogue_files([tests / "dialogues"])):
        found += _from_dialogues(path, parts)
    for path in sorted((tests / "chats").glob("*.jsonl")):
        # where no reply is known: of that the published chats know nothing
        talks = (one for one in _from_chats(path, parts) if not one.signs[0]["reply known"])
        found += (one._replace(source="talks") for one in talks)
    names = sorted({name for one in found for signs in one.signs for name in signs})
    centre, scale, weights, bias = _fit(found, names)
    signs = {
        name: {"weight": round(float(w / s), 5), "mean": round(float(m), 5)}
        for name, w, s, m in zip(names, weights, scale, centre, strict=True)
    }
    fitted = {"figures": _figures(found, names), "bias": round(bias, 5), "signs": signs}
    out.write_text(json.dumps(fitted, indent=1) + "\n")
    tell(fitted["figures"])


def _from_chats(path: Path, parts: Parts) -> Iterator[Proposal]:
    for chat in read_examples(path, Chat):
        for expected, turn, _ in converse(chat.turns, partial(rehearsed, parts)):
            judged = judge_edits(turn, expected) if expected.labelled else []
            if len(judged) == len(turn.edits):
                for edit, verdict in zip(turn.edits, judged, strict=True):
                    again = replace(turn, history=())
                    right = verdict["outcome"] == "right"
                    yield _proposal("chats", chat.repo or "", turn, again, edit, right)


def _from_dialogues(path: Path, parts: Parts) -> Iterator[Proposal]:
    played = played_dialogues(path, partial(rehearsed, parts), replies=True)
    for dialogue, expected, turn, said in played:
        right = bool(expected.expanded) and matches(turn.expanded, expected.expanded)
        if said and said[-1].role == "user":
            said.append(_made_up(said[-1].text, len(said) // 2))
        again = replace(turn, history=tuple(said))
        for edit in turn.edits:
            yield _proposal("dialogues", dialogue.id, turn, again, edit, right)


def _proposal(
    source: str, group: str, turn: Turn, again: Turn, edit: Edit, right: bool
) -> Proposal:
    signs = edit_signs(turn, edit), edit_signs(again, edit)
    return Proposal(source, group, signs, bar(turn.message, PRECISION), right)


def _made_up(message: str, number: int) -> Utterance:
    last = " ".join(message.split()[-2:]).strip(".?!")
    text = REPLIES[number % len(REPLIES)].format(said=message, last=last)
    return Utterance(text, "assistant")


def _fit(found: Sequence[Proposal], names: Sequence[str]) -> tuple[Floats, Floats, Floats, float]:
    rows = np.concatenate([_rows(found, names, again) for again in (False, True)])
    once = np.array([TALK_WEIGHT if one.source == "talks" else 1.0 for one in found])
    counts = np.concatenate([once, once * AGAIN_WEIGHT])
    return scaled_logistic(rows, np.array([one.right for one in found] * 2), counts, COST)


def _rows(found: Sequence[Proposal], names: Sequence[str], again: bool) -> Floats:
    return np.array([[one.signs[again].get(name, 0.0) for name in names] for one in found])


def _figures(found: Sequence[Proposal], names: Sequence[str]) -> dict[str, dict[str, int]]:
    """Proposals, right ones, and those written at the promised precision, each held out."""
    told: dict[str, dict[str, int]] = {}
    of = drawn_folds([one[:2] for one in found], FOLDS, np.random.default_rng(SEED))
    for held in range(FOLDS):
        centre, scale, weights, bias = _fit([one for one in found if of[one[:2]] != held], names)
        for again in (False, True):
            shown = [one for one in found
                     if of[one[:2]] == held and (one.source, again) in SHOWN]  # fmt: skip
            odds = (_rows(shown, names, again) - centre) / scale @ weights + bias
            for one, likely in zip(shown, (1.0 / (1.0 + np.exp(-odds))).tolist(), strict=True):
                counts = ("proposed", "right", "written", "written and right")
                count = told.setdefault(SHOWN[one.source, again], dict.fromkeys(counts, 0))
                written = likely >= one.bar
                for name, more in zip(counts, (1, one.right, written, one.right and written),
                                      strict=True):  # fmt: skip
                    count[name] += more
    return told


if __name__ == "__main__":
    main()
