"""Putting what was recalled into the tokens there are: whole chunks, the best first.

A chunk is taken whole or left out, so that no code block and no sentence is cut; what follows
may still fit. The budget is never exceeded, by the counter that is given: the text as a whole
is counted, labels included.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from kds.brain.passages.question import read_question
from kds.brain.passages.recall import Hit
from kds.brain.passages.values import Passage
from kds.brain.words.tokens import TokenCounter, estimate_tokens

BUDGET_TOKENS: Final = 1000
"""What a prompt has for memories (issue 5)."""

Quote = Callable[[Passage], str]
"""Writes a passage as it stands in the text."""

_BETWEEN: Final = "\n\n"


@dataclass(frozen=True, slots=True)
class Assembled:
    """A text for a prompt, what it is made of, and what did not fit."""

    text: str
    tokens: int
    budget_tokens: int
    used: tuple[Hit, ...]
    left_out: tuple[Hit, ...]

    @property
    def notes(self) -> tuple[str, ...]:
        """Say what was left out; nothing when everything fitted."""
        if not self.left_out:
            return ()
        count, tokens = len(self.left_out), sum(hit.passage.tokens for hit in self.left_out)
        what = "1 passage" if count == 1 else f"{count} passages"
        return (f"left out for {self.budget_tokens} tokens: {what} of {tokens} tokens",)


def assemble(
    query: str,
    hits: Sequence[Hit],
    *,
    budget_tokens: int = BUDGET_TOKENS,
    count: TokenCounter = estimate_tokens,
    quote: Quote | None = None,
) -> Assembled:
    """Take as many of ``hits`` as the budget holds, each as ``quote`` writes it: by default with
    its date and speaker.

    A question about code gets code first. The same text is not quoted twice.
    """
    quote = quote or _quoted
    used: list[Hit] = []
    left_out: list[Hit] = []
    text, tokens, bodies = "", 0, set[str]()
    for hit in _ordered(query, hits):
        if hit.passage.body in bodies:
            continue
        quoted = quote(hit.passage)
        longer = f"{text}{_BETWEEN}{quoted}" if text else quoted
        needed = count(longer)
        if needed > budget_tokens:
            left_out.append(hit)
            continue
        text, tokens = longer, needed
        used.append(hit)
        bodies.add(hit.passage.body)
    return Assembled(text, tokens, budget_tokens, tuple(used), tuple(left_out))


def _ordered(query: str, hits: Sequence[Hit]) -> list[Hit]:
    if not read_question(query).asks_for_code:
        return list(hits)
    return sorted(hits, key=lambda hit: hit.passage.kind != "code")


def _quoted(passage: Passage) -> str:
    who = passage.speaker or passage.role
    return f"[{passage.at:%Y-%m-%d}, {who}]\n{passage.body.strip()}"
