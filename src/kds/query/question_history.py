"""The conversation before a question, as the router's rules read it.

It comes from the client, within the contract of `kds.transit` (enforced here once more, whoever
sent it), or out of the stored session. Nothing here touches the disk.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from kds.brain.turn import Utterance
from kds.router.references.resolver import naming
from kds.transit.history import TURNS, Message, transit

REPLIES_READ: Final = 3
"""Turns back that replies are read for things to refer to. What only an older reply named has
next to no salience left (0.72 a turn, DESIGN 5), and reading a reply takes 1-3 ms of CPU."""


def within_contract(messages: Iterable[Message], *, turns: int = TURNS) -> tuple[Message, ...]:
    """Return what counts of a conversation: the last turns, replies cut, 2,000 tokens."""
    return tuple(transit(messages, turns=turns))


def said_before(messages: Sequence[Message]) -> tuple[Utterance, ...]:
    """Return what the rules replay of a conversation: old replies are left out."""
    asked = [place for place, message in enumerate(messages) if message.role == "user"]
    recent = asked[-REPLIES_READ] if len(asked) >= REPLIES_READ else 0
    return tuple(
        Utterance(message.content, message.role)
        for place, message in enumerate(messages)
        if message.role == "user" or place >= recent
    )


def known_before(terms: Iterable[str], messages: Sequence[Message]) -> tuple[Utterance, ...]:
    """Return what brings up ``terms`` (oldest first) that no message of the user names any more.

    >>> [said.text for said in known_before(["login form"], [Message("user", "What is the fee?")])]
    ['Use the login form']
    """
    told = {
        word
        for message in messages
        if message.role == "user"
        for word in message.content.lower().split()
    }
    gone = [term for term in terms if told.isdisjoint(term.lower().split())]
    return tuple(Utterance(naming(term)) for term in gone)
