"""The brief with which another assistant goes on where a session stopped.

It is made by rule. Where the user has a model, that writes what takes judgement (the goal, where
the work stands, decisions, what is open), and each of its lines is held against what was said; the
lists of files, commands and failures stay those of the rule.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from kds.brain.memory.facts import Told, facts_of, words_of
from kds.brain.message import one_line
from kds.brain.passages.values import Message
from kds.brain.secrets.redaction import redacted
from kds.brain.timeouts import CallError, call_within
from kds.router.rewriting.checks import polarity, read_pieces
from kds.transcripts.catalogue import Kept, about_tokens
from kds.transcripts.recalling import GOAL_CHARS, SENTENCE_CHARS, digest

BRIEF_TOKENS: Final = 1_500
MODEL_LINES: Final = 10
"""Of one list of a model: it was asked for few words."""

GOAL, STANDS, DECISIONS, OPEN = WRITTEN = ("Goal", "Where it stands", "Decisions", "Open")
"""What a model writes."""

TOLD_SHARE: Final = 0.5
"""Of the words of a line that somebody said: the same as of a summary."""
ALIKE: Final = 0.5
"""Of the words of a clause that another has which says the same, or takes it back."""
FEW_WORDS: Final = 3
"""A clause of fewer words, an answer such as "8443", says nothing of what its number belongs to."""

OUTCOMES: Final = frozenset(
    "pass fail succeed fix break deploy release merge publish finish complete revert ship".split()
)
"""Words for how a thing ended: none is true that nobody said."""

_HEADING: Final = re.compile(r"^(?:#{1,6} *|\*\*)([A-Za-z ]{4,20}?)[:* ]*$")
_ITEM: Final = re.compile(r"^(?:[-*+•]|\d{1,2}[.)]) +")
_SENTENCE: Final = re.compile(r"(?<=[.!?]) +")
_SPACES: Final = re.compile(r"[^\S\n]+")
_CLAUSE: Final = re.compile(
    r"(?<=[.!?;:,]) | (?:but|because|since|so that|although|while) |\n", re.IGNORECASE
)
_CODE: Final = re.compile(r"`([^`]+)`")

Write = Callable[[Sequence[Message], str], str]
"""What a model makes of a session's messages and of the brief by rule."""


@dataclass(frozen=True, slots=True)
class Brief:
    """A handoff as Markdown of at most BRIEF_TOKENS tokens."""

    text: str
    by: Literal["model", "rule"] = "rule"
    notes: tuple[str, ...] = ()
    """Why it is not the model's, or what of the model's was left out."""


def brief(
    kept: Kept, messages: Sequence[Message], *, to: str = "", write: Write | None = None,
    timeout_s: float = 60.0,
) -> Brief:  # fmt: skip
    """Return the handoff of a session; ``write`` asks the user's model, for that long at most."""
    by_rule = _laid_out(kept, messages, to, {})
    if write is None or not messages:
        return Brief(by_rule)
    try:
        answer = call_within(lambda: write(messages, by_rule), timeout_s=timeout_s)
        written, faults = _checked(answer, Said(kept, messages))
    except CallError as error:
        return Brief(by_rule, notes=(f"the brief is by rule: {one_line(error.message)}",))
    notes = (f"left out of the model's brief: {'; '.join(faults)}",) if faults else ()
    return Brief(_laid_out(kept, messages, to, written), "model", notes)


def _laid_out(
    kept: Kept, messages: Sequence[Message], to: str, written: Mapping[str, Sequence[str]]
) -> str:
    """Put a brief together; where there is too much, the older half of the longest list goes."""
    found = digest(messages)
    later = () if STANDS in written else found.later[-6:]
    lists: dict[str, Sequence[str]] = {
        STANDS: written.get(STANDS, ()),
        "What the user asked for next": later,
        DECISIONS: written.get(DECISIONS) or found.decisions[-8:],
        "Files changed": found.files[-20:],
        "Commands that worked": found.worked[-8:],
        "What failed": found.failed[-5:],
        OPEN: written.get(OPEN) or found.open[-4:],
    }
    where = f" on branch {kept.branch}" if kept.branch else ""
    by = "Written by a model and held against" if written else "Taken by rule from"
    head = [
        f"# Handoff{f' to {to}' if to else ''}: {kept.session.title}",
        f"From {kept.client}, session {kept.name}, {kept.session.updated_at:%Y-%m-%d %H:%M} UTC, "
        f"in {kept.folder}{where}. {by} what was said: check before you rely on it.",
        f"## Goal\n{' '.join(written.get(GOAL, ())) or found.goal}",
    ]
    while True:
        parts = ["\n".join((f"## {title}", *(f"- {line}" for line in lines)))
                 for title, lines in lists.items() if lines]  # fmt: skip
        text = "\n\n".join((*head, *parts)) + "\n"
        if about_tokens(text) <= BRIEF_TOKENS:
            return text
        longest = max(lists, key=lambda title: sum(map(len, lists[title])))
        lists[longest] = lists[longest][(len(lists[longest]) + 1) // 2 :]


def _checked(answer: str, said: "Said") -> tuple[dict[str, list[str]], list[str]]:
    """Return the lines of a model that hold, and why others do not.

    Raises CallError when it wrote no brief, or more lies than lines that hold.
    """
    written: dict[str, list[str]] = {}
    faults: list[str] = []
    for title, line in _lines(answer):
        if fault := said.fault(line, GOAL_CHARS if title == GOAL else SENTENCE_CHARS):
            faults.append(fault)
        elif len(lines := written.setdefault(title, [])) < MODEL_LINES:
            lines.append(redacted(line))
    if not written and not faults:
        raise CallError("the model wrote no brief")
    if len(faults) >= sum(map(len, written.values())):
        raise CallError(f"the model told what nobody said: {'; '.join(faults[:3])}")
    return written, faults


def _lines(answer: str) -> Iterator[tuple[str, str]]:
    """The lines under headings that were asked for."""
    title = ""
    for line in map(str.strip, answer.splitlines()):
        if found := _HEADING.match(line):
            title = next((one for one in WRITTEN if one.lower() == found[1].strip().lower()), "")
        elif title and (text := one_line(_ITEM.sub("", line)).replace("**", "").strip()):
            yield title, text


class Said:
    """What was said in a session, to hold a line against."""

    def __init__(self, kept: Kept, messages: Sequence[Message]) -> None:
        about = f"{kept.client} {kept.name} {kept.folder} {kept.branch}\n{kept.session.title}"
        text = _SPACES.sub(" ", "\n".join((about, *(one.content for one in messages))))
        self._text = " ".join(text.split())
        self._told = Told(text)
        clauses = list(filter(None, _CLAUSE.split(text)))
        self._keys = {piece.key for clause in clauses for piece in read_pieces(clause)}
        self._clauses = list(dict.fromkeys(map(polarity, reversed(clauses))))  # the latest first
        self._negated = frozenset(key for _, negated in self._clauses for key in negated)

    def fault(self, line: str, chars: int) -> str | None:
        """Why a line cannot be taken; None where nothing speaks against it."""
        if len(line) > chars:
            return f"a line of {len(line)} characters"
        if code := next((one for one in _CODE.findall(line) if " ".join(one.split())
                         not in self._text), None):  # fmt: skip
            return f"new code '{code[:60]}'"
        facts = (fact for sentence in _SENTENCE.split(line) for fact in facts_of(sentence))
        for fact in facts:
            if fact.kind != "decision" and not all(map(self._told.says, fact.key)):
                return f"new {fact.kind} '{fact.text[:60]}'"
        words = words_of(line)
        if sum(map(self._told.says, words)) < TOLD_SHARE * len(words):
            return "a line in words that nobody said"
        faults = (self._fault_of(clause) for clause in _CLAUSE.split(line) if clause)
        return next(filter(None, faults), None)

    def _fault_of(self, clause: str) -> str | None:
        """What is wrong with a clause: a value or an outcome that is new, or a negation."""
        weighty, negated = polarity(clause)
        for piece in read_pieces(clause):
            is_new = piece.key not in self._keys and not self._has(piece.text)
            if is_new and (piece.kind in ("number", "code") or piece.key in OUTCOMES):
                return f"new {piece.kind} '{piece.text[:60]}'"
            if piece.kind == "number" and self._belongs_elsewhere(piece.key, weighty):
                return f"'{piece.key}' was said of something else"
        if negated - self._negated:
            return "a negation that nobody said"
        return "a negation turned round" if self._denied(weighty, negated) else None

    def _denied(self, weighty: frozenset[str], negated: frozenset[str]) -> bool:
        """Whether the clause that is most like this one says the opposite, or a later one does."""
        shares = [len(weighty & words) / max(len(weighty), 1) for words, _ in self._clauses]
        best = max(shares, default=0.0)
        if len(weighty) < 2 or best < ALIKE:
            return False
        for share, (words, theirs) in zip(shares, self._clauses, strict=True):
            ours, denied = negated & (words | theirs), theirs & (weighty | negated)
            if share == best:  # what was said before it does not count
                return ours != denied
            if share >= ALIKE and denied - ours:
                return True
        return False

    def _has(self, text: str) -> bool:
        """Whether a value stands anywhere, and not as a part of a longer one."""
        return re.search(rf"(?<!\w){re.escape(text)}(?!\w)", self._text) is not None

    def _belongs_elsewhere(self, key: str, weighty: frozenset[str]) -> bool:
        """Whether a number was said in clauses only that share no other word with this one."""
        others = [words for words, _ in self._clauses if key in words]
        if not others or len(weighty) < FEW_WORDS - 1:
            return False
        return not any(len(words) < FEW_WORDS or (words & weighty) - {key} for words in others)
