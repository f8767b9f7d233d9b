"""Every rewrite of the dialogues has good form, whatever the case, the full stop or a typo."""

import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from kds.api.parts import Parts
from kds.api.rehearsal import MinuteClock
from kds.api.routing import rehearsed
from kds.brain.turn import Turn, Utterance
from kds.router.language.misspelling import is_known
from kds.testing.dialogues import ExpectedTurn, find_dialogue_files, read_dialogues

from .replay import FAULTS, expanded

FILES = find_dialogue_files([Path(__file__).parents[2] / "dialogues"])
WORD = re.compile(r"(?<![\w./@'’_-])[a-z]{4,}(?![\w./@'’_-])")

Expand = Callable[[str], str]


def _turns(parts: Parts, path: Path) -> Iterator[tuple[ExpectedTurn, Turn, Expand]]:
    """Each turn of a file but the first of a dialogue, as it was routed, and what expands a
    message in its place."""
    for dialogue in read_dialogues(path):
        clock = MinuteClock()
        router, said = rehearsed(parts, clock), list[Utterance]()
        for number, turn in enumerate(dialogue.turns):
            told = tuple(said) if said and said[-1].role == "assistant" else ()
            before = Turn("", clock(), history=told, context=router.context.load().entries)
            routed = router.route(turn.user, history=told)
            if number:
                yield turn, routed, partial(expanded, parts, before)
            clock.tick()
            said.append(Utterance(turn.user))
            said += [Utterance(turn.reply, "assistant")] if turn.reply else []


def _same(one: str, other: str) -> bool:
    return one.lower().rstrip(". ") == other.lower().rstrip(". ")


def _swapped(word: str) -> str:
    """Two letters in the middle the wrong way round; "" where they are the same."""
    at = (len(word) - 1) // 2
    return "" if word[at] == word[at + 1] else word[:at] + word[at + 1] + word[at] + word[at + 2 :]


def _doubled(word: str) -> str:
    at = len(word) // 2
    return word[:at] + word[at] + word[at:]


def _dropped(word: str) -> str:
    at = len(word) // 2
    return word[:at] + word[at + 1 :]


SLIPS = (_swapped, _doubled, _dropped)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_rewrite_is_well_formed_and_neither_case_nor_a_full_stop_nor_a_slip_changes_it(
    parts: Parts, path: Path
) -> None:
    wrong = []
    for number, (turn, routed, expand) in enumerate(_turns(parts, path)):
        usual = routed.expanded
        if len(FAULTS.findall(usual)) > len(FAULTS.findall(turn.user)):
            wrong.append((turn.user, usual))
        for variant in _variants(turn.user):
            if not _same(text := expand(variant), usual):
                wrong.append((variant, text))
        wrong += _changed_by_a_slip(turn, usual, expand, SLIPS[number % len(SLIPS)])
    assert wrong == []


def _variants(message: str) -> Iterator[str]:
    if message.split()[0].rstrip("?!.,").isalpha():  # "V4" is a name
        yield message[0].swapcase() + message[1:]
    if message[-1].isalnum():
        yield f"{message}."


def _changed_by_a_slip(
    turn: ExpectedTurn, usual: str, expand: Expand, slip: Callable[[str], str]
) -> list[tuple[str, str]]:
    longest = max(WORD.finditer(turn.user), key=lambda word: len(word[0]), default=None)
    typo = slip(longest[0]) if longest else ""
    if longest is None or not typo or is_known(typo):
        return []  # a slip that makes another word is not a slip to a reader
    message = turn.user[: longest.start()] + typo + turn.user[longest.end() :]
    mended = (usual, *turn.expanded)
    kept = (re.sub(rf"\b{longest[0]}\b", typo, text, flags=re.I) for text in mended)
    got = expand(message)
    same = any(_same(got, text) for text in (message, turn.user, *mended, *kept))
    return [] if same else [(message, got)]
