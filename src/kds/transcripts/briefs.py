"""What a session comes to, by rule: a brief for the next assistant, and one line for a new session.

A stored session has prompts, prose, and lines of what was done: ``$ command``, ``> first line``,
``! error``, ``edited file``. Decisions are sentences that give a choice or its reason.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from kds.brain.message import one_line
from kds.brain.passages.values import Message
from kds.transcripts.catalogue import Kept, about_tokens

BRIEF_TOKENS: Final = 1_500
START_TOKENS: Final = 150

SENTENCE_CHARS: Final = 300
GOAL_CHARS: Final = 700

DECIDED: Final = re.compile(
    r"\b(?:decid(?:ed?|ing)|decisions?|we(?:'ll| will| should)? (?:use|keep|go with|stick)"
    r"|let'?s (?:use|keep|go with)|go(?:ing)? with|cho(?:se|sen)|agreed|settled on|instead of"
    r"|(?:always|never) use|must (?:not )?(?:be|use|stay))\b",
    re.IGNORECASE,
)
REASON: Final = re.compile(r"\b(?:because|since|so that|due to|otherwise)\b", re.IGNORECASE)
OPEN: Final = re.compile(
    r"\b(?:todo|not yet|remaining|still (?:need|open|fail|missing)|next step|left to do)",
    re.IGNORECASE,
)
_SENTENCE: Final = re.compile(r"(?<=[.!?])\s+|\n+")
_CODE: Final = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_MARKUP: Final = re.compile(r"^[\s>#*\-\d.)]+|\*\*")


@dataclass(frozen=True, slots=True)
class Digest:
    """What a session comes to, each list with the latest last."""

    goal: str
    later: tuple[str, ...]
    """Prompts after the first."""
    decisions: tuple[str, ...]
    files: tuple[str, ...]
    worked: tuple[str, ...]
    failed: tuple[str, ...]
    """Commands with their errors that did not work later on."""
    open: tuple[str, ...]


def digest(messages: Sequence[Message]) -> Digest:
    """Read a session."""
    prompts = [one.content for one in messages if one.role == "user"]
    sentences = [(one.role, text) for one in messages for text in _sentences(_prose(one.content))]
    decisions = [
        text
        for role, text in sentences
        if not text.endswith("?")
        and DECIDED.search(text)
        and (role == "user" or REASON.search(text) or text.lower().startswith("decision"))
    ]
    worked, failed, files = _done(messages)
    return Digest(
        goal=prompts[0].strip()[:GOAL_CHARS] if prompts else "",
        later=tuple(_short(text) for text in prompts[1:]),
        decisions=_latest(decisions),
        files=_latest(files),
        worked=_latest(worked),
        failed=tuple(f"{command}: {error}" for command, error in failed.items()),
        open=_latest(_open(messages, sentences)),
    )


def brief(kept: Kept, messages: Sequence[Message], *, to: str = "") -> str:
    """Return the handoff of a session as Markdown of at most BRIEF_TOKENS tokens.

    Where there is too much, the older half of each list goes, again and again.
    """
    found = digest(messages)
    lists = {
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
        f"in {kept.folder}{where}. Taken from what was said, by rule: check before you rely on it.",
        f"## Goal\n{found.goal}",
    ]
    while True:
        parts = [f"## {title}\n{_bullets(lines)}" for title, lines in lists.items() if lines]
        text = "\n\n".join((*head, *parts)) + "\n"
        if about_tokens(text) <= BRIEF_TOKENS:
            return text
        longest = max(lists, key=lambda title: sum(map(len, lists[title])))
        lists[longest] = lists[longest][(len(lists[longest]) + 1) // 2 :]


def start_line(kept: Kept, messages: Sequence[Message], touched: Iterable[str] = ()) -> str:
    """Return where a branch stopped, in at most START_TOKENS tokens; "" when nothing tells.

    ``touched`` are files of the last commits: decisions that name one of them are told.
    """
    found = digest(messages)
    last = found.later[-1] if found.later else _short(found.goal)
    if not last:
        return ""
    branch = f" on {kept.branch}" if kept.branch else ""
    when = f"{kept.session.updated_at:%Y-%m-%d}"
    parts = [
        f"KDS: the last session here{branch} ({kept.client}, {when}) ended with {_quoted(last)}."
    ]
    left = [one for one in found.open if not one.endswith(last)]
    if left:
        parts.append(f"Open: {_quoted(left[-1])}")
    elif found.failed:
        parts.append(f"Failed last: {_quoted(found.failed[-1])}")
    names = [path.rpartition("/")[2] for path in touched]
    concerned = [one for one in found.decisions if any(name and name in one for name in names)]
    parts += [f"Decided: {_quoted(one)}" for one in concerned[-1:]]
    if kept.resume:
        parts.append(f"({kept.resume})")
    while about_tokens(" ".join(parts)) > START_TOKENS:
        parts.pop()
    return one_line(" ".join(parts))


def _quoted(text: str) -> str:
    """Text of a session in quotes, none of which it can end itself."""
    inside = text[:160].replace('"', "'")
    return f'"{inside}"'


def _done(messages: Sequence[Message]) -> tuple[list[str], dict[str, str], list[str]]:
    """Return commands that worked, those that still fail with their errors, and changed files."""
    worked: list[str] = []
    failed: dict[str, str] = {}
    files: list[str] = []
    command = ""
    for line in _lines(messages):
        if line.startswith("$ "):
            command = line[2:]
            worked.append(command)
            failed.pop(command, None)
        elif line.startswith("! ") and command:
            if worked and worked[-1] == command:
                worked.pop()
            failed[command] = line[2:]
        elif line.startswith("edited "):
            files += line.removeprefix("edited ").split(", ")
    return worked, failed, files


def _lines(messages: Sequence[Message]) -> Iterator[str]:
    for one in messages:
        if one.role != "user":
            yield from one.content.splitlines()


def _open(messages: Sequence[Message], sentences: Sequence[tuple[str, str]]) -> Iterator[str]:
    """What was left open: words that say so near the end, and a question without an answer."""
    for role, text in sentences[-40:]:
        if role != "user" and OPEN.search(text):
            yield text.removeprefix("Open: ")
    if messages and messages[-1].role == "user":
        yield f"not answered: {_short(messages[-1].content)}"
    elif messages:
        asked = [text for text in _sentences(_prose(messages[-1].content)) if text.endswith("?")]
        yield from asked[-1:]


def _prose(content: str) -> str:
    """A message without code, and without lines of what was done."""
    lines = _CODE.sub("\n", content).splitlines()
    return "\n".join(line for line in lines if not line.startswith(("$ ", "> ", "! ", "edited ")))


def _sentences(text: str) -> Iterator[str]:
    for part in _SENTENCE.split(text):
        sentence = _MARKUP.sub("", part).strip()
        if 12 <= len(sentence) <= SENTENCE_CHARS:
            yield sentence


def _short(text: str) -> str:
    return one_line(_CODE.sub(" ", text))[:200].strip()


def _latest(texts: Iterable[str]) -> tuple[str, ...]:
    """Each text once, where it stands last."""
    return tuple(dict.fromkeys(reversed(list(texts))))[::-1]


def _bullets(lines: Iterable[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)
