"""Says in plain text what went wrong in a dialogue: for `kds test`, `kds eval` and pytest."""

from collections.abc import Iterator
from typing import Final

from kds.evaluation.playback import PlayedDialogue, PlayedTurn

_WIDTH: Final = len("context_ref")


def describe(played: PlayedDialogue) -> str:
    """Describe every wrong turn of ``played``: expected, actual, and the router's reasons."""
    return "\n\n".join("\n".join(lines) for lines in _wrong_turns(played))


def _wrong_turns(played: PlayedDialogue) -> Iterator[list[str]]:
    total = len(played.turns)
    for number, turn in enumerate(played.turns, start=1):
        if not turn.verdict.passed:
            head = f"{turn.expected.where}: {played.dialogue.id}, turn {number} of {total}"
            yield [head, f"  user         {turn.expected.user}", *_fields(turn), *_why(turn)]


def _fields(played: PlayedTurn) -> Iterator[str]:
    for mismatch in played.verdict.mismatches:
        yield f"  {mismatch.field:<{_WIDTH}}  - {mismatch.expected}"
        yield f"  {'':<{_WIDTH}}  + {mismatch.actual}"


def _why(played: PlayedTurn) -> Iterator[str]:
    for index, note in enumerate(played.turn.why):
        yield f"  {'why' if index == 0 else '':<{_WIDTH}}  {note}"
