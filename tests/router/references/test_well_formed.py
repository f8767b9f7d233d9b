"""No rewrite of the development data has a fault of form (test_invariance has those of tests/)."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from kds.api.parts import Parts
from kds.api.rehearsal import MinuteClock
from kds.api.routing import rehearsed
from kds.brain.turn import Utterance
from kds.brain.workspace import Workspace
from kds.router.references.resolver import Resolver, apply_edits

from .replay import FAULTS

SHARED = Path(__file__).parents[4] / "shared/data"
Talk = list[tuple[str, str]]
"""What the user said, and the reply."""


def _shared() -> Iterator[Talk]:
    """Every eighth is played: `kds eval` plays them all."""
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


@pytest.mark.skipif(not SHARED.is_dir(), reason="the development data is absent: ../shared/data")
def test_no_rewrite_of_the_development_data_has_a_fault_of_form(tmp_path: Path) -> None:
    parts = Parts.load(Workspace.at(tmp_path))
    found = [fault for talk in list(_shared())[::8] for fault in _faults(talk, parts)]
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
