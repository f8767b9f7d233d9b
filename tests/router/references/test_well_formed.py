"""Nothing that is written has a fault of form: every rewrite of every set is looked at."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from kds.api.parts import Parts
from kds.api.rehearsal import MinuteClock
from kds.api.routing import rehearsed
from kds.brain.turn import Utterance
from kds.brain.workspace import Workspace
from kds.router.references.resolver import Resolver, apply_edits

ROOT = Path(__file__).parents[3]
SHARED = ROOT.parent / "shared/data"
FAULTS = re.compile(
    r"\b(?:a|an|the) (?:a|an|the)\b|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\u200b-\u200f\u2060\ufeff]"
    r"|\b(to|of|for|in|on|with) \1\b| {2,}(?=\S)",
    re.IGNORECASE,
)

Talk = list[tuple[str, str]]
"""What the user said, and the reply."""


def _own() -> Iterator[Talk]:
    from kds.testing.dialogues import find_dialogue_files, read_dialogues

    for path in find_dialogue_files([ROOT / "tests/dialogues"]):
        for dialogue in read_dialogues(path):
            yield [(turn.user, turn.reply) for turn in dialogue.turns]


def _shared() -> Iterator[Talk]:
    """Of these every fourth is played, of our own every other: `kds eval` plays them all."""
    for name in ("dev", "expansions_dev"):
        for dialogue in json.loads((SHARED / f"dialogues/{name}.json").read_text()):
            yield [(turn["user"], "") for turn in dialogue["turns"]]
    for line in (SHARED / "chats/dev.jsonl").read_text().splitlines():
        turns = json.loads(line)["turns"]
        yield [(turn["user"], turn.get("assistant") or "") for turn in turns]


def _faults(talk: Talk, parts: Parts) -> Iterator[tuple[str, str]]:
    router = rehearsed(parts, MinuteClock())
    said: list[Utterance] = []
    for user, reply in talk:
        told = said and said[-1].role == "assistant"
        turn = router.route(user, history=tuple(said) if told else ())
        if len(FAULTS.findall(turn.expanded)) > len(FAULTS.findall(turn.message)):
            yield turn.message, turn.expanded
        said += [Utterance(user), *([Utterance(reply, "assistant")] if reply else [])]


@pytest.mark.parametrize("of", [_own, _shared])
def test_no_rewrite_has_a_fault_of_form(of: object, tmp_path: Path) -> None:
    if of is _shared and not SHARED.is_dir():
        pytest.skip("the development data is absent: ../shared/data")
    parts = Parts.load(Workspace.at(tmp_path), may_write=False)
    talks = list(of())[:: 4 if of is _shared else 2]  # type: ignore[operator]
    found = [fault for talk in talks for fault in _faults(talk, parts)]
    assert found == []


@pytest.mark.parametrize(
    ("before", "message"),
    [
        ("Make the the sidebar wide", "Same for the menu"),
        ("Run '\ufeffid'", "Run it again"),
        ("Add a \u200bmap", "Make it wide"),
    ],
)
def test_a_fault_of_an_earlier_message_is_not_written_into_the_next(
    resolver: Resolver, before: str, message: str
) -> None:
    written = apply_edits(message, resolver.resolve(message, resolver.replay([before])).edits)
    assert FAULTS.search(written) is None
