"""The brief with which another assistant goes on where a session stopped, made by rule."""

from collections.abc import Sequence
from typing import Final

from kds.brain.passages.values import Message
from kds.transcripts.catalogue import Kept, about_tokens
from kds.transcripts.recalling import digest

BRIEF_TOKENS: Final = 1_500


def brief(kept: Kept, messages: Sequence[Message], *, to: str = "") -> str:
    """Return the handoff of a session as Markdown of at most BRIEF_TOKENS tokens.

    Where there is too much, the older half of the longest list goes.
    """
    found = digest(messages)
    lists: dict[str, Sequence[str]] = {
        "What the user asked for next": found.later[-6:],
        "Decisions": found.decisions[-8:],
        "Files changed": found.files[-20:],
        "Commands that worked": found.worked[-8:],
        "What failed": found.failed[-5:],
        "Open": found.open[-4:],
    }
    where = f" on branch {kept.branch}" if kept.branch else ""
    head = [
        f"# Handoff{f' to {to}' if to else ''}: {kept.session.title}",
        f"From {kept.client}, session {kept.name}, {kept.session.updated_at:%Y-%m-%d %H:%M} UTC, "
        f"in {kept.folder}{where}. Taken by rule from what was said: check before you rely on it.",
        f"## Goal\n{found.goal}",
    ]
    while True:
        parts = ["\n".join((f"## {title}", *(f"- {line}" for line in lines)))
                 for title, lines in lists.items() if lines]  # fmt: skip
        text = "\n\n".join((*head, *parts)) + "\n"
        if about_tokens(text) <= BRIEF_TOKENS:
            return text
        longest = max(lists, key=lambda title: sum(map(len, lists[title])))
        lists[longest] = lists[longest][(len(lists[longest]) + 1) // 2 :]
