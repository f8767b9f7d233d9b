"""What the assistant's last reply leaves open: its closing sentence and the options it lists.

Half of what refers back in real chats points to the reply, and to its end: the question it closes
with, the numbered things to choose from. Read without a model, and never kept.
"""

import re
from typing import Final

from kds.router.language.lexicon import readings

TAIL_CHARS: Final = 3_000
"""How much of the end of a reply is read."""


_FENCE: Final = "```"
_MARKS: Final = re.compile(r"\*\*|__|(?<!\w)[*_]+|[*_]+(?!\w)|^\s*#+\s+", re.MULTILINE)
_RULER: Final = re.compile(r"^\W*$")
_SENTENCE_END: Final = re.compile(r"(?<=[.?!])[\"')]*\s+(?=[\"'(]*[A-Z])")
_LATER: Final = re.compile(
    r"[,\s]+(?:(?:now|next|first|as well|instead|for you)(?=[,\s]+(?:to|so|before|and)\b|\W*$)"
    r"|so that\b|now that\b|by \w+ing\b).*$",
    re.IGNORECASE | re.DOTALL,
)
_OFFER: Final = re.compile(
    r"\bif you(?:['’]d like| would like| like| want| wish| prefer)\b", re.IGNORECASE
)
_PROPOSAL: Final = re.compile(
    r"\b(?:would you like(?: me to)?|want me to|(?:shall|should|may|can|could) (?:i|we)"
    r"|ready (?:for me )?to)\b\s*(?P<action>[^?]*)\?$",
    re.IGNORECASE,
)
_PREAMBLE: Final = re.compile(
    r"^(?:(?:also|now|next|then|just|go (?:ahead|on) and|proceed to|help you(?: to)?)\s+)+",
    re.IGNORECASE,
)
_VAGUE: Final = re.compile(r"\b(?:or|anything|something|else|what|which|help)\b", re.IGNORECASE)
_PURPOSE: Final = re.compile(r"\s+to\s+(?P<verb>[a-z]+)\s+\S")


def closing_sentence(reply: str) -> str:
    """The last sentence of a reply, without its code and markdown; "" when there is none.

    >>> closing_sentence("Done. **Shall I** push it?\\n\\n---")
    'Shall I push it?'
    """
    plain = prose(reply)
    lines = [line.strip() for line in plain.splitlines() if not _RULER.match(line)]
    return _SENTENCE_END.split(lines[-1])[-1].strip() if lines else ""


def closing_question(reply: str) -> str:
    """What a reply asks or offers in its last sentence; "" when it ends otherwise.

    >>> closing_question("It is cold. If you like, I can warm it."), closing_question("Done.")
    ('If you like, I can warm it.', '')
    """
    closing = closing_sentence(reply)
    return closing if closing.endswith("?") or _OFFER.search(closing) else ""


def proposes(closing: str) -> bool:
    """Whether the last sentence of a reply offers to do something, rather than asks how it is.

    >>> proposes("Shall I push it?"), proposes("Does it work now?")
    (True, False)
    """
    return bool(_OFFER.search(closing) or _PROPOSAL.search(closing))


def proposed(reply: str) -> str:
    """What the last sentence of a reply asks leave to do, as an order; "" when that is vague.

    >>> proposed("Done. Shall I commit this?"), proposed("Done. Can I do anything else?")
    ('commit this', '')
    """
    match = _PROPOSAL.search(closing_sentence(reply))
    action = _PREAMBLE.sub("", match["action"]) if match else ""
    return "" if _VAGUE.search(action) else as_command(action)


def prose(reply: str) -> str:
    """The end of a reply without its code and markdown, line by line."""
    return _MARKS.sub("", _prose(reply))


def _prose(reply: str) -> str:
    """The end of a reply without its code, told from the end: the cut may fall into code."""
    return "\n".join(reply[-TAIL_CHARS:].split(_FENCE)[::-1][::2][::-1])


def without_purpose(action: str) -> str:
    """What is to be done, without when and what for.

    >>> without_purpose("run the update command now to fetch the list")
    'run the update command'
    >>> without_purpose("add a hook to log in with"), without_purpose("move it to staging")
    ('add a hook', 'move it to staging')
    """
    kept = _LATER.sub("", action)
    for match in _PURPOSE.finditer(kept):
        if readings(match["verb"]).verb == match["verb"] and len(kept[: match.start()].split()) > 1:
            return kept[: match.start()]
    return kept


def as_command(action: str) -> str:
    """An offered action as an order: its verb in the base form.

    >>> as_command("implementing these tests"), as_command("tackle User Story 5")
    ('implement these tests', 'tackle User Story 5')
    """
    verb, gap, rest = action.partition(" ")
    base = readings(verb.lower()).verb if verb.endswith("ing") else verb
    return f"{base or verb}{gap}{rest}"
