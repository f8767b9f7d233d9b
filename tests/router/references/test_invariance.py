"""The shift key and a full stop decide nothing: the same message means the same."""

from pathlib import Path

import pytest

from kds.api.rehearsal import MinuteClock
from kds.api.routing import rehearsed, workspace_at
from kds.api.workspace_parts import Parts
from kds.brain.turn import Utterance
from kds.testing.dialogues import Dialogue, find_dialogue_files, read_dialogues

FOLDER = Path(__file__).parents[2] / "dialogues"
KNOWN = {"by when.", "No blue.", "by whom."}
"""Without a verb, a full stop is read as the end of another sentence: left as typed."""


def _expanded(parts: Parts, dialogue: Dialogue, at: int, message: str) -> str:
    router, said = rehearsed(parts, MinuteClock()), list[Utterance]()
    for turn in dialogue.turns[:at]:
        router.route(turn.user, history=_told(said))
        said.append(Utterance(turn.user))
        said += [Utterance(turn.reply, "assistant")] if turn.reply else []
    return router.route(message, history=_told(said)).expanded


def _told(said: list[Utterance]) -> tuple[Utterance, ...]:
    return tuple(said) if said and said[-1].role == "assistant" else ()


def _variants(message: str) -> list[str]:
    stop = [message + "."] if message[-1].isalnum() else []
    word = message.split()[0].rstrip("?!.,")
    other = message[0].swapcase() + message[1:] if word.isalpha() else message  # "V4" is a name
    return [v for v in (other, *stop) if v not in KNOWN | {message}]


@pytest.mark.parametrize("path", find_dialogue_files([FOLDER]), ids=lambda path: path.stem)
def test_case_and_a_full_stop_change_no_rewrite(path: Path, tmp_path: Path) -> None:
    parts = Parts.load(workspace_at(tmp_path), may_write=False)
    wrong = []
    for dialogue in read_dialogues(path):
        for at, turn in enumerate(dialogue.turns[1:], start=1):
            usual = _expanded(parts, dialogue, at, turn.user)
            for message in _variants(turn.user):
                got = _expanded(parts, dialogue, at, message)
                if got.lower().rstrip(". ") != usual.lower().rstrip(". "):
                    wrong.append((message, got, usual))
    assert wrong == []
