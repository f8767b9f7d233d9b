"""What of a conversation goes along with the next question (docs/history-transit.md).

The rules are few and exact, so that every client sends the same. Sizes are in Unicode code
points, tokens are counted by bytes, white space is that of ASCII: `history.mjs` computes the same.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Literal

TURNS: Final = 10  # that are sent unless told otherwise: a user's message with the replies to it
REPLY_CHARS: Final = 500  # code points of a reply that are sent, the sign of the cut included
BUDGET_TOKENS: Final = 2000  # of the whole, by `tokens`
MESSAGE_TOKENS: Final = 4  # what a message costs besides its text: its role, and where it ends
BYTES_A_TOKEN: Final = 4  # UTF-8: right to 10 % for English chat, too many for most other scripts
CUT: Final = " …"

_BLANKS: Final = " \t\r\n"


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a conversation, as it goes over the wire."""

    role: Literal["user", "assistant"]
    content: str

    def as_dict(self) -> dict[str, str]:
        """The JSON form."""
        return {"role": self.role, "content": self.content}


def transit(
    messages: Iterable[Message | Mapping[str, object]], *, turns: int = TURNS
) -> list[Message]:
    """Return the part of a conversation, oldest first, that goes along with the next question.

    Messages of other roles and empty ones are left out, and so are replies before the first
    message of the user.

    >>> said = [Message("user", "What is the fee?"), Message("assistant", "word " * 200)]
    >>> [(message.role, len(message.content)) for message in transit(said)]
    [('user', 16), ('assistant', 496)]
    """
    sent: list[list[Message]] = []
    for message in messages:
        data = message.as_dict() if isinstance(message, Message) else message
        role, content = data.get("role"), data.get("content")
        text = _whole(content).strip(_BLANKS) if isinstance(content, str) else ""
        if text and role == "user":
            sent.append([Message("user", text)])
        elif text and role == "assistant" and sent:
            long = len(text) > REPLY_CHARS
            short = shorten(text, REPLY_CHARS - len(CUT)) if long else text
            sent[-1].append(Message("assistant", short))
    sent = sent[-turns:] if turns > 0 else []
    while len(sent) > 1 and sum(map(_cost, sent)) > BUDGET_TOKENS:
        del sent[0]
    return _squeezed(*sent[0]) if len(sent) == 1 else [one for turn in sent for one in turn]


def tokens(content: str) -> int:
    """Return what a message with this content costs.

    >>> tokens("What is it?"), tokens("")
    (7, 4)
    """
    return MESSAGE_TOKENS - len(content.encode("utf-8")) // -BYTES_A_TOKEN


def shorten(text: str, keep: int) -> str:
    """Cut ``text`` behind at most ``keep`` code points, at a blank when one is near; add the sign.

    >>> shorten("one two three", 9), shorten("Kraftfahrzeug", 5)
    ('one two …', 'Kraft …')
    """
    end = keep
    if text[end] not in _BLANKS:
        border = max(text.rfind(blank, 0, end) for blank in _BLANKS)
        if border > end // 2:
            end = border
    return text[:end].rstrip(_BLANKS) + CUT


def _whole(text: str) -> str:
    """``text`` without halves of surrogate pairs, which UTF-8 cannot carry."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _cost(turn: Iterable[Message]) -> int:
    return sum(tokens(message.content) for message in turn)


def _squeezed(user: Message, *replies: Message) -> list[Message]:
    """The one turn that is left: its newest replies as far as they fit, the question cut last."""
    while replies and _cost([user, *replies]) > BUDGET_TOKENS:
        replies = replies[1:]
    if tokens(user.content) <= BUDGET_TOKENS:
        return [user, *replies]
    room = (BUDGET_TOKENS - MESSAGE_TOKENS) * BYTES_A_TOKEN - len(CUT.encode())
    keep = len(user.content.encode()[:room].decode("utf-8", "ignore"))
    return [Message("user", shorten(user.content, keep))]
