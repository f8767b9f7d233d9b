"""Neither the shift key nor a full stop nor one slip of a finger changes what is written."""

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from itertools import product
from pathlib import Path

import pytest

from kds.api.parts import Parts
from kds.api.rehearsal import MinuteClock
from kds.api.routing import rehearsed
from kds.brain.turn import Turn, Utterance
from kds.brain.workspace import Workspace
from kds.router.decide import make_decide
from kds.router.expand import make_expand
from kds.router.language.misspelling import is_known
from kds.router.resolve import make_resolve
from kds.testing.dialogues import ExpectedTurn, find_dialogue_files, read_dialogues

FILES = find_dialogue_files([Path(__file__).parents[2] / "dialogues"])
WORD = re.compile(r"(?<![\w./@'’_-])[a-z]{4,}(?![\w./@'’_-])")

Expand = Callable[[str], str]


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> Parts:
    return Parts.load(Workspace.at(tmp_path_factory.mktemp("invariance")), may_write=False)


def _turns(parts: Parts, path: Path) -> Iterator[tuple[ExpectedTurn, Expand]]:
    """Each turn of a file but the first of a dialogue, and what expands a message in its place."""
    for dialogue in read_dialogues(path):
        clock = MinuteClock()
        router, said = rehearsed(parts, clock), list[Utterance]()
        for number, turn in enumerate(dialogue.turns):
            told = tuple(said) if said and said[-1].role == "assistant" else ()
            if number:
                before = Turn("", clock(), history=told, context=router.context.load().entries)
                yield turn, partial(_expanded, parts, before)
            router.route(turn.user, history=told)
            clock.tick()
            said.append(Utterance(turn.user))
            said += [Utterance(turn.reply, "assistant")] if turn.reply else []


def _expanded(parts: Parts, before: Turn, message: str) -> str:
    resolver, turn = parts.resolver, replace(before, message=message)
    for step in (make_resolve(resolver), make_decide(parts.decider), make_expand(resolver)):
        turn = step.run(turn)
    return turn.expanded


def _same(one: str, other: str) -> bool:
    return one.lower().rstrip(". ") == other.lower().rstrip(". ")


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_case_and_a_full_stop_change_no_rewrite(parts: Parts, path: Path) -> None:
    wrong = []
    for turn, expand in _turns(parts, path):
        message = turn.user
        first = message.split()[0].rstrip("?!.,")
        other = [message[0].swapcase() + message[1:]] if first.isalpha() else []  # "V4" is a name
        stop = [message + "."] if message[-1].isalnum() else []
        usual = expand(message)
        got = [(variant, expand(variant)) for variant in (*other, *stop)]
        wrong += [(variant, text, usual) for variant, text in got if not _same(text, usual)]
    assert wrong == []


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


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_one_slip_leads_to_the_same_rewrite_or_to_none(parts: Parts, path: Path) -> None:
    wrong = []
    slips = (_swapped, _doubled, _dropped)
    for (turn, expand), slip in product(_turns(parts, path), slips):
        longest = max(WORD.finditer(turn.user), key=lambda word: len(word[0]), default=None)
        typo = slip(longest[0]) if longest else ""
        if longest is None or not typo or is_known(typo):
            continue  # a slip that makes another word is not a slip to a reader
        message = turn.user[: longest.start()] + typo + turn.user[longest.end() :]
        mended = (expand(turn.user), *turn.expanded)
        kept = (re.sub(rf"\b{longest[0]}\b", typo, text, flags=re.I) for text in mended)
        got = expand(message)
        if not any(_same(got, text) for text in (message, turn.user, *mended, *kept)):
            wrong.append((message, got, mended))
    assert wrong == []
