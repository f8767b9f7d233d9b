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
from kds.brain.words.terms import TokenCounter, estimate_tokens

BUDGET_TOKENS: Final = 1000
"""What a prompt has for memories (issue 5)."""

Quote = Callable[[Passage], str]
"""Writes a passage as it stands in the text."""


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


def quoted(passage: Passage) -> str:
    """Return a passage behind its date and speaker."""
    who = passage.speaker or passage.role
    return f"[{passage.at:%Y-%m-%d}, {who}]\n{passage.body.strip()}"


def assemble(
    query: str,
    hits: Sequence[Hit],
    *,
    budget_tokens: int = BUDGET_TOKENS,
    count: TokenCounter = estimate_tokens,
    quote: Quote = quoted,
) -> Assembled:
    """Take as many of ``hits`` as the budget holds, each as ``quote`` writes it: by default with
    its date and speaker.

    A question about code gets code first. The same text is not quoted twice.
    """
    used: list[Hit] = []
    left_out: list[Hit] = []
    text, tokens, bodies = "", 0, set[str]()
    code_first = read_question(query).asks_for_code
    for hit in sorted(hits, key=lambda hit: code_first and hit.passage.kind != "code"):
        if hit.passage.body in bodies:
            continue
        longer = "\n\n".join(filter(None, (text, quote(hit.passage))))
        needed = count(longer)
        if needed > budget_tokens:
            left_out.append(hit)
            continue
        text, tokens = longer, needed
        used.append(hit)
        bodies.add(hit.passage.body)
    return Assembled(text, tokens, budget_tokens, tuple(used), tuple(left_out))
