"""Where one thing is in play, its reference is written out in every form (one_thing*.yaml).

Each thing is brought up by one opening and changed by every form, with and without a plain reply.
"""

import re
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import yaml

from kds.api.parts import Parts
from kds.api.rehearsal import MinuteClock
from kds.api.routing import rehearsed
from kds.brain.turn import Turn, Utterance

from .replay import expanded

TABLES: dict[str, dict[str, Any]] = {
    path.stem: yaml.safe_load(path.read_text(encoding="utf-8"))
    for path in sorted(Path(__file__).parent.glob("one_thing*.yaml"))
}
POINTING = re.compile(r"\[([^\]]*)\]|\b(?:it|them|this|that)\b")


def _names(thing: dict[str, Any]) -> list[str]:
    """What may be written for it: with the article, where it can do without also without."""
    if known := thing.get("known"):
        return [f"the {known}"]
    said = str(thing["said"])
    article, _, rest = said.partition(" ")
    return [f"the {rest}"] if article in {"a", "an"} else [said, f"the {said}"]


def _accepted(form: str, name: str) -> set[str]:
    spots = list(POINTING.finditer(form))
    found = set()
    for chosen in product((False, True), repeat=len(spots)):
        if any(chosen):
            pieces, at = [], 0
            for written, spot in zip(chosen, spots, strict=True):
                pieces += [form[at : spot.start()], name if written else spot[1] or spot[0]]
                at = spot.end()
            found.add(_plain("".join([*pieces, form[at:]])))
    return found


def _plain(text: str) -> str:
    return text.rstrip(".?!").lower().replace(",", "")


def _expected(
    entry: dict[str, Any], form: str, words: dict[str, Any], names: list[str]
) -> set[str]:
    if "is" not in entry:
        return {text for name in names for text in _accepted(form, name)}
    said = entry["is"] if isinstance(entry["is"], list) else [entry["is"]]
    return {_plain(one.format(**{**words, "the": name})) for name in names for one in said}


def _words(thing: dict[str, Any], names: list[str]) -> dict[str, Any]:
    """What the placeholders of forms and replies stand for."""
    the, quality = names[-1] if thing.get("plural") else names[0], thing["quality"]
    agreeing = ("are", "work") if thing.get("plural") else ("is", "works")
    return {
        **thing,
        "the": the,
        "The": the[0].upper() + the[1:],
        "Quality": quality[0].upper() + quality[1:],
        "is": agreeing[0],
        "works": agreeing[1],
    }


@pytest.mark.parametrize("number", range(20))
@pytest.mark.parametrize("table", TABLES)
def test_the_only_thing_in_play_is_written_out(parts: Parts, table: str, number: int) -> None:
    grid = TABLES[table]
    thing = grid["things"][number]
    names = _names(thing)
    words = _words(thing, names)
    openings = [one.format(**words) for one in grid["openings"]]
    opened = [_opened(parts, opening) for opening in openings]
    missed: dict[bool, list[tuple[str, ...]]] = {False: [], True: []}
    for at, entry in enumerate(grid["many" if thing.get("plural") else "one"]):
        if thing["quality"] not in entry.get("only", [thing["quality"]]):
            continue
        form = entry[next(iter(entry))].format(**words)
        message = _cased(POINTING.sub(lambda spot: spot[1] or spot[0], form), number + at)
        opening = openings[(number + at) % len(openings)]
        before = opened[(number + at) % len(openings)]
        told = grid["replies"][(number * 5 + at) % len(grid["replies"])].format(**words)
        right = _expected(entry, form, words, names)
        for reply in (False, True):
            said = (Utterance(opening), Utterance(told, "assistant")) if reply else ()
            text = expanded(parts, replace(before, history=said), message)
            if _plain(text) not in right:
                assert _plain(text) == _plain(message), (opening, reply and told, message, text)
                missed[reply].append((opening, message))
    assert all(len(one) <= 2 for one in missed.values()), missed


def _opened(parts: Parts, opening: str) -> Turn:
    """The turn behind an opening, without a message."""
    clock = MinuteClock()
    router = rehearsed(parts, clock)
    router.route(opening)
    clock.tick()
    return Turn("", clock(), context=router.context.load().entries)


def _cased(message: str, turn: int) -> str:
    """In small letters every third time, with a full stop every second time."""
    cased = message[0].lower() + message[1:] if turn % 3 == 1 else message
    return f"{cased}." if turn % 2 and not cased.endswith("?") else cased
