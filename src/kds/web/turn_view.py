"""What KDS made of a message, as the page shows it: the words that point back, the intent, why."""

from collections.abc import Iterator
from dataclasses import dataclass

from kds.brain.turn import Reference, Turn
from kds.router.prompts.library import PromptLibrary


@dataclass(frozen=True, slots=True)
class Span:
    """A piece of a message; one that points back has a reference."""

    text: str
    reference: Reference | None = None


@dataclass(frozen=True, slots=True)
class Choice:
    """An intent that a message may have, in words."""

    intent: str
    says: str


@dataclass(frozen=True, slots=True)
class TurnView:
    """A turn beside its message."""

    turn: Turn
    spans: tuple[Span, ...]
    implied: tuple[Reference, ...]
    """What the message refers to without a word for it."""

    @property
    def rewritten(self) -> bool:
        """Whether the message is read otherwise than it was written."""
        return bool(self.turn.expanded) and self.turn.expanded != self.turn.message


def view_of(turn: Turn) -> TurnView:
    """A turn as the page shows it."""
    return TurnView(
        turn,
        tuple(spans_of(turn)),
        tuple(one for one in turn.references if not one.text and one.target),
    )


def spans_of(turn: Turn) -> Iterator[Span]:
    """The message in pieces; a reference within another one is left to that."""
    place = 0
    for one in sorted(turn.references, key=lambda found: (found.start, -found.end)):
        if not one.text or one.start < place or turn.message[one.start : one.end] != one.text:
            continue
        if one.start > place:
            yield Span(turn.message[place : one.start])
        yield Span(one.text, one)
        place = one.end
    if place < len(turn.message):
        yield Span(turn.message[place:])


def choices_of(library: PromptLibrary, intents: tuple[str, ...] | None = None) -> list[Choice]:
    """Intents in words: those of a question, or all that a message may have."""
    agents = [one for one in library.agents() if one.intent]
    names = [one.intent for one in agents] if intents is None else intents
    says = {one.intent: one.ask or one.description for one in agents}
    return [Choice(name, says.get(name) or name) for name in names if name]
