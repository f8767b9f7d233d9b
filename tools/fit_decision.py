"""Fits the weights by which `kds.router.references.decision` tells right edits from wrong ones.

    python tools/fit_decision.py DATA_FOLDER TESTS_FOLDER OUT.json         (`make decision`)

Reads chats/dev.jsonl (labelled chats of public repositories, the form of docs/evaluation.md) and
dialogues/dev.json (dialogue files) of DATA_FOLDER, which are not in this repository, and its own
dialogues and talks in tests/ (decision 0022). Every proposed edit is an example: was it right?
Cross-validated by repository, dialogue and talk. Needs scikit-learn.
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from kds.api.parts import Parts
from kds.api.rehearsal import MinuteClock, matches
from kds.api.routing import rehearsed
from kds.brain.turn import Edit, Turn, Utterance
from kds.brain.workspace import Workspace
from kds.router.references.decision import PRECISION, Signs, bar, digest, edit_signs
from kds.testing.chats import play_with, read_chats
from kds.testing.dialogues import find_dialogue_files, read_dialogues

Floats = NDArray[np.float64]

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


@dataclass(frozen=True, slots=True)
class Proposal:
    """An edit's signs, what it must reach, and whether it is right.

    ``again`` and ``again_bar`` are those where replies are known that were not, and the other way
    round.
    """

    source: str
    group: str
    signs: Signs
    again: Signs
    right: bool
    bar: float
    again_bar: float


_COUNTED: Final = ("proposed", "right", "written", "written and right")
_SHOWN: Final = {
    ("chats", False): "chats",
    ("chats", True): "chats without replies",
    ("dialogues", False): "dialogues",
    ("dialogues", True): "dialogues with replies",
    ("talks", False): "own talks",
}


def main() -> None:
    """Fit, write the weights with the figures they were chosen by, and tell the figures."""
    usage = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for name in ("data", "tests", "out"):
        usage.add_argument(name, type=Path)
    asked = usage.parse_args()
    data, tests, out = asked.data, asked.tests, asked.out
    with tempfile.TemporaryDirectory() as empty:
        # what is fitted must not depend on what was
        parts = replace(Parts.load(Workspace.at(empty), may_write=False), decider=None)
    found = list(_from_chats(data / "chats/dev.jsonl", parts))
    for path in (data / "dialogues/dev.json", *find_dialogue_files([tests / "dialogues"])):
        found += _from_dialogues(path, parts)
    for path in sorted((tests / "chats").glob("*.jsonl")):
        found += _from_talks(path, parts)
    figures = write(found, out)
    sys.stdout.write(json.dumps(figures, indent=2) + "\n")


def write(found: Sequence[Proposal], out: Path) -> dict[str, dict[str, int]]:
    """Write the weights with their figures and a digest, by which an edit by hand is seen."""
    names = sorted({name for one in found for name in (*one.signs, *one.again)})
    centre, scale, weights, bias = _fit(found, names)
    signs = {
        name: {"weight": round(float(w / s), 5), "mean": round(float(m), 5)}
        for name, w, s, m in zip(names, weights, scale, centre, strict=True)
    }
    figures = _figures(found, names)
    fitted = {"figures": figures, "bias": round(bias, 5), "signs": signs}
    out.write_text(json.dumps({"digest": digest(fitted), **fitted}, indent=1) + "\n")
    return figures


def _from_chats(path: Path, parts: Parts) -> Iterator[Proposal]:
    for chat in read_chats(path):
        for played in play_with(chat, partial(rehearsed, parts)):
            turn, judged = played.turn, played.edits
            if len(judged) == len(turn.edits):
                for edit, verdict in zip(turn.edits, judged, strict=True):
                    right = verdict.outcome == "right"
                    alone = replace(turn, history=())
                    yield _proposal("chats", chat.repo or "", turn, alone, edit, right)


def _from_talks(path: Path, parts: Parts) -> Iterator[Proposal]:
    """What is proposed where no reply is known: of that the published chats know nothing."""
    for one in _from_chats(path, parts):
        if not one.signs["reply known"]:
            yield replace(one, source="talks")


def _from_dialogues(path: Path, parts: Parts) -> Iterator[Proposal]:
    for dialogue in read_dialogues(path):
        clock = MinuteClock()
        router = rehearsed(parts, clock)
        said: list[Utterance] = []
        told = False
        for expected in dialogue.turns:
            turn = router.route(expected.user, history=tuple(said) if told else ())
            right = bool(expected.expanded) and matches(turn.expanded, expected.expanded)
            for edit in turn.edits:
                replied = replace(turn, history=tuple(said))
                yield _proposal("dialogues", dialogue.id, turn, replied, edit, right)
            told = bool(expected.reply)
            reply = Utterance(expected.reply, "assistant")
            said.append(Utterance(expected.user))
            said.append(reply if told else _made_up(expected.user, len(said) // 2))
            clock.tick()


def _proposal(
    source: str, group: str, turn: Turn, again: Turn, edit: Edit, right: bool
) -> Proposal:
    return Proposal(
        source,
        group,
        edit_signs(turn, edit),
        edit_signs(again, edit),
        right,
        _bar(turn),
        _bar(again),
    )


def _bar(turn: Turn) -> float:
    return bar(turn.message, PRECISION)


def _made_up(message: str, number: int) -> Utterance:
    last = " ".join(message.split()[-2:]).strip(".?!")
    text = REPLIES[number % len(REPLIES)].format(said=message, last=last)
    return Utterance(text, "assistant")


def _fit(found: Sequence[Proposal], names: Sequence[str]) -> tuple[Floats, Floats, Floats, float]:
    """Centre and scale of the signs, their weights and the bias."""
    from sklearn.linear_model import LogisticRegression

    rows = np.array([*_rows(found, names), *_rows(found, names, again=True)])
    right = np.array([one.right for one in (*found, *found)])
    once = np.array([TALK_WEIGHT if one.source == "talks" else 1.0 for one in found])
    counts = np.concatenate([once, once * AGAIN_WEIGHT])
    centre, scale = rows.mean(axis=0), np.maximum(rows.std(axis=0), 1e-6)
    head: Any = LogisticRegression(C=COST, max_iter=1000)
    head.fit((rows - centre) / scale, right, sample_weight=counts)
    return centre, scale, head.coef_[0], float(head.intercept_[0])


def _rows(found: Sequence[Proposal], names: Sequence[str], *, again: bool = False) -> Floats:
    signs = [one.again if again else one.signs for one in found]
    return np.array([[one.get(name, 0.0) for name in names] for one in signs])


def _figures(found: Sequence[Proposal], names: Sequence[str]) -> dict[str, dict[str, int]]:
    """Proposals, right ones, and those written at the promised precision, each held out."""
    told: dict[str, dict[str, int]] = {}
    fold = _folds(found)
    for held in range(FOLDS):
        seen = [one for one, at in zip(found, fold, strict=True) if at != held]
        unseen = [one for one, at in zip(found, fold, strict=True) if at == held]
        fitted = _fit(seen, names)
        for again in (False, True):
            shown = [one for one in unseen if (one.source, again) in _SHOWN]
            _add(told, shown, _likely(_rows(shown, names, again=again), *fitted), again=again)
    return told


def _add(
    told: dict[str, dict[str, int]], shown: Sequence[Proposal], likely: Floats, *, again: bool
) -> None:
    for one, probability in zip(shown, likely.tolist(), strict=True):
        count = told.setdefault(_SHOWN[one.source, again], dict.fromkeys(_COUNTED, 0))
        _count(count, one.right, probability >= (one.again_bar if again else one.bar))


def _folds(found: Sequence[Proposal]) -> list[int]:
    """A fold for each proposal; all of a repository, or of a dialogue, are in the same one."""
    groups = sorted({(one.source, one.group) for one in found})
    random = np.random.default_rng(SEED)
    folds = dict(zip(groups, (random.permutation(len(groups)) % FOLDS).tolist(), strict=True))
    return [folds[one.source, one.group] for one in found]


def _likely(rows: Floats, centre: Floats, scale: Floats, weights: Floats, bias: float) -> Floats:
    odds = (rows - centre) / scale @ weights + bias
    return np.asarray(1.0 / (1.0 + np.exp(-odds)))


def _count(told: dict[str, int], right: bool, written: bool) -> None:
    told["proposed"] += 1
    told["right"] += right
    told["written"] += written
    told["written and right"] += right and written


if __name__ == "__main__":
    main()
