"""What the assistant's last reply leaves open: its closing sentence and the options it lists.

Half of what refers back in real chats points to the reply, and to its end: the question it closes
with, the numbered things to choose from. Read without a model, and never kept.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from kds.router.language.lexicon import readings

TAIL_CHARS: Final = 3_000
"""How much of the end of a reply is read."""

OPTION_WORDS: Final = 12
"""Words of an option that are written out at most."""

_FENCE: Final = "```"
_MARKS: Final = re.compile(r"\*\*|__|(?<!\w)[*_]+|[*_]+(?!\w)|^\s*#+\s+", re.MULTILINE)
_RULER: Final = re.compile(r"^\W*$")
_SENTENCE_END: Final = re.compile(r"(?<=[.?!])[\"')]*\s+(?=[\"'(]*[A-Z])")
_ITEM: Final = re.compile(
    r"^[ \t]{0,3}(?:[-+•]\s+)?(?:\*\*|__|#+\s*)*(?P<word>(?i:option|approach|choice|variant)\s+)?"
    r"\(?(?P<label>\d{1,2}|[A-Ha-h])(?P<bold>\*\*|__)?(?:[.):]|\s+[-–—](?=\s))(?:\*\*|__)?"
    r"\s*[-–—:]?\s*(?P<text>\S.*)$",
)
_INLINE: Final = re.compile(
    r"\((?P<label>\d{1,2}|[a-h])\)\s+(?P<text>[^\n]+?)"
    r"(?=[,;]?\s+(?:or\s+|and\s+)?\((?:\d{1,2}|[a-h])\)\s|[.?!;](?:\s|$)|$)",
    re.MULTILINE,
)
_LEAD: Final = re.compile(r"^\*\*(?P<lead>[^*\n]{2,80})\*\*")
_BREAK: Final = re.compile(r"[.?!;](?=\s|$)|,\s+so\s|\s+(?:[-–—→]|[-=]>)\s+|:\s|\s\(")
_POINTS_ON: Final = re.compile(r"\b(?:both|all|it|this|that|these|those|them)\b", re.IGNORECASE)
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


@dataclass(frozen=True, slots=True)
class Option:
    """One of several things to choose from, as the reply numbers and names it."""

    label: str
    text: str


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


def options_in(reply: str) -> tuple[Option, ...]:
    """The last list of numbered or lettered things in a reply, in order; () when it has none.

    A list begins with 1 or A and counts on; what stands under an item belongs to it. Where the
    items are called options, one that is left of a cut list is enough.

    >>> [one.text for one in options_in("We could:\\n1. Use Redis\\n2. Keep it in memory\\nOk?")]
    ['use Redis', 'keep it in memory']
    >>> [one.text for one in options_in("Shall I (a) retry, (b) give up, or (c) ask?")]
    ['retry', 'give up', 'ask']
    """
    prose = _prose(reply)
    found: list[Option] = []
    called = True
    for match in filter(None, map(_ITEM.match, prose.splitlines())):
        label = match["label"].upper()
        if label in {"1", "A"}:
            found, called = [], True
        found.append(Option(label, _named(match["text"])))
        called = called and match["word"] is not None
    if (found and called) or _is_list(found):
        return tuple(found)
    inline = [Option(m["label"].upper(), _named(m["text"])) for m in _INLINE.finditer(prose)]
    return tuple(inline) if _is_list(inline) else ()


def prose(reply: str) -> str:
    """The end of a reply without its code and markdown, line by line."""
    return _MARKS.sub("", _prose(reply))


def _is_list(found: Sequence[Option]) -> bool:
    follows = all(_rank(b.label) == _rank(a.label) + 1 for a, b in pairwise(found))
    return len(found) > 1 and found[0].label in {"1", "A"} and follows


def _prose(reply: str) -> str:
    """The end of a reply without its code, told from the end: the cut may fall into code."""
    return "\n".join(reply[-TAIL_CHARS:].split(_FENCE)[::-1][::2][::-1])


def _rank(label: str) -> int:
    """ "2" and "B" come second; letters and numbers do not mix."""
    return int(label) if label.isdigit() else 100 + ord(label)


def _named(text: str) -> str:
    """The name of an option: what is printed bold at its head, else its first clause."""
    lead = _LEAD.match(text)
    plain = _MARKS.sub("", lead["lead"] if lead else text).strip()
    named = plain if lead else _first_clause(plain)
    return _uncapitalised(named.strip(" .,:;?!-"))


def _first_clause(text: str) -> str:
    """Up to the first break behind two words that say something by themselves."""
    for match in _BREAK.finditer(text):
        head = text[: match.start()]
        if len(head.split()) > 1 and not _POINTS_ON.search(head):
            text = head
            break
    return " ".join(without_purpose(text).split()[:OPTION_WORDS])


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


def _uncapitalised(text: str) -> str:
    first = text.partition(" ")[0]
    plain = first[:1].isupper() and first[1:].islower() and readings(first.lower()).verb
    return text[:1].lower() + text[1:] if plain else text
