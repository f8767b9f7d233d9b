"""What is written out in the dialogues of others (tests/tidy), and how much of it wrongly."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from kds.api.parts import Parts
from kds.api.rehearsal import MinuteClock, matches
from kds.api.routing import rehearsed
from kds.testing.dialogues import read_dialogues

FOLDER = Path(__file__).parents[2] / "tidy"
FLOORS = [
    ("a", 104, 14), ("b", 46, 11), ("c", 90, 8), ("d", 92, 10), ("e", 70, 15),
    ("f", 23, 26), ("g", 59, 9),
]  # fmt: skip


@pytest.mark.parametrize(("name", "right", "wrong"), FLOORS)
def test_follow_ups_of_other_writers_are_written_out_as_often_as_the_readme_tells(
    parts: Parts, name: str, right: int, wrong: int
) -> None:
    rewrites = list(_rewrites(parts, FOLDER / f"{name}.json"))
    assert rewrites.count(True) >= right
    assert rewrites.count(False) <= wrong
    told = "at least {} of the 908 that need it, and at most {} wrongly"
    sums = (sum(row[at] for row in FLOORS) for at in (1, 2))
    assert told.format(*sums) in " ".join((FOLDER.parents[1] / "README.md").read_text().split())


def _rewrites(parts: Parts, path: Path) -> Iterator[bool]:
    """For each message that is written anew, whether it is what was meant."""
    for dialogue in read_dialogues(path):
        clock = MinuteClock()
        router = rehearsed(parts, clock)
        for expected in dialogue.turns:
            turn = router.route(expected.user)
            if turn.expanded != turn.message:
                yield matches(turn.expanded or "", expected.expanded or [expected.user])
            clock.tick()
