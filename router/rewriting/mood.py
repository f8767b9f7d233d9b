"""What a text asks for: a question, an order, a statement; once, or twice."""

import re
from typing import Final

from kds.router.rewriting import wordlists as known
from kds.router.rewriting.comparison import Comparison, Reading
from kds.router.rewriting.told import Fault, Told

_INNER_END: Final = re.compile(r"[.?!;:]+[\"')\]]*(?=\s+\S)")
_ABBREVIATED: Final = re.compile(
    r"\b(?:[A-Za-z]|Mr|Mrs|Ms|Dr|Jr|Sr|St|vs|etc|Inc|Co|No|e\.g|i\.e)\.$"
)


def mood(these: Comparison) -> Fault | None:
    """A question stays a question, an order an order."""
    before, after = these.before.mood, these.after.mood
    polite = these.before.wish_end > 0
    if "question" in (before, after):
        if before == after or (polite and after == "imperative"):
            return None
        return Fault("no question any more" if before == "question" else "a question now")
    if "imperative" not in (before, after) or before == "fragment":
        return None  # a fragment leans on an order, or on none: `leaning` knows
    if polite or _opening(these.before) == _opening(these.after):
        return None
    return Fault("no order any more" if before == "imperative" else "an order now")


def _opening(text: Reading) -> str:
    """The first word that says something, as it is written: "close" is no "closed"."""
    return next((one.lower for one in text.pieces if one.key not in known.FILLING), "")


def requests(these: Comparison) -> Fault | None:
    """A rewrite asks for one thing where the message did, and for none where it has no verb."""
    told = these.told
    if _sentences(these.after.text, told) > _sentences(these.before.text, told):
        return Fault("more sentences")
    before, after = _verbs(these.before, told), _verbs(these.after, told)
    return Fault("another request") if after > max(before, not these.leaning) else None


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


def _verbs(text: Reading, told: Told) -> int:
    """How many verbs of sentences of their own there are; names are none."""
    words = text.analysis.words
    verbs = [words[verb] for verb, clause in text.clauses if not clause.subordinate]
    return sum(word.tag != "VBG" and word.text not in told.proper for word in verbs)
