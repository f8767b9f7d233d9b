"""What a text asks for: a question, an order, a statement; once, or twice."""

import re
from typing import Final

from kds.router.rewriting import words as known
from kds.router.rewriting.text import read_pieces, straight
from kds.router.rewriting.told import Analyse, Fault, Told

_INNER_END: Final = re.compile(r"[.?!;:]+[\"')\]]*(?=\s+\S)")
_ABBREVIATED: Final = re.compile(
    r"\b(?:[A-Za-z]|Mr|Mrs|Ms|Dr|Jr|Sr|St|vs|etc|Inc|Co|No|e\.g|i\.e)\.$"
)


def mood(message: str, text: str, analyse: Analyse) -> Fault | None:
    """A question stays a question, an order an order."""
    polite = known.POLITE.match(straight(message)) is not None
    before, after = mood_of(message, analyse), mood_of(text, analyse)
    if "question" in (before, after):
        if before == after or (polite and after == "imperative"):
            return None
        return Fault("no question any more" if before == "question" else "a question now")
    if polite or "imperative" not in (before, after) or _opening(message) == _opening(text):
        return None
    if before == "fragment":
        return None  # it leans on an order, or on none: `leaning` knows
    return Fault("no order any more" if before == "imperative" else "an order now")


def mood_of(text: str, analyse: Analyse) -> str:
    """Say what a text is: "question", "imperative", "statement", or "fragment" without a verb."""
    if text.rstrip(" \"')”’").endswith("?"):
        return "question"
    clauses = [clause for clause in analyse(text).clauses if clause.verb is not None]
    main = next((clause for clause in clauses if not clause.subordinate), None)
    return "fragment" if main is None else main.mood


def _opening(text: str) -> str:
    """The first word that says something, as it is written: "close" is no "closed"."""
    return next((p.lower for p in read_pieces(text) if p.key not in known.FILLING), "")


def requests(
    message: str, text: str, told: Told, analyse: Analyse, *, leaning: bool = False
) -> Fault | None:
    """A rewrite asks for one thing where the message did, and for none where it has no verb."""
    if _sentences(text, told) > _sentences(message, told):
        return Fault("more sentences")
    before, after = _verbs(message, told, analyse), _verbs(text, told, analyse)
    return Fault("another request") if after > (before if leaning else max(before, 1)) else None


def _sentences(text: str, told: Told) -> int:
    return 1 + sum(not _inside_name(text, match, told) for match in _INNER_END.finditer(text))


def _inside_name(text: str, end: re.Match[str], told: Told) -> bool:
    """ "J. Doe", "Dr. Who", "Homicide: Life on the Street": said so before, and in capitals."""
    if _ABBREVIATED.search(text[: end.end()]):
        return True
    before, after = text[: end.start()].split()[-1:], text[end.end() :].split()[:1]
    if not (before and after and before[0][:1].isupper() and after[0][:1].isupper()):
        return False
    name = text[end.start() - len(before[0]) : end.end()] + " " + after[0].rstrip("?.!,'s")
    return any(name in said for said in told.texts)


def _verbs(text: str, told: Told, analyse: Analyse) -> int:
    """How many verbs of sentences of their own there are; names are none."""
    analysis = analyse(text)
    verbs = [
        analysis.words[clause.verb]
        for clause in analysis.clauses
        if clause.verb is not None and not clause.subordinate
    ]
    return sum(word.tag != "VBG" and word.text not in told.proper for word in verbs)
