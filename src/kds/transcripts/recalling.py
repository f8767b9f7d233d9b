"""Finding what was said in past sessions, and saying how sure it is that it answers.

Also what a session comes to, by rule, and a line of it for a new session.
A stored session has prompts, prose, and lines of what was done: ``$ command``, ``> first line``,
``! error``, ``edited file``. Decisions are sentences that give a choice or its reason.
"""

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from kds.brain.encoder import NAME as SHIPPED
from kds.brain.encoder import shared_encoder
from kds.brain.errors import StoreError
from kds.brain.memory.memory_store import log_recall
from kds.brain.message import one_line
from kds.brain.passages.question import Question
from kds.brain.passages.recall import Hit, recall
from kds.brain.passages.rerank import rarity
from kds.brain.passages.store import Embedder
from kds.brain.passages.values import Message
from kds.brain.words.terms import WORD, stem
from kds.transcripts.catalogue import (
    CHARS_OF_TOKEN,
    AssistantMemory,
    Kept,
    Project,
    ProjectStore,
    about_tokens,
)

LEAST_COSINE: Final = 0.2
"""Questions about a session use other words, and answers say how sure they are. Of 160
questions 151 have the session among the first three, 150 from .3; below .2 no more are found."""

JUDGED: Final = 3
"""Hits that are looked at to tell how sure an answer is."""

SHOWN_CHARS: Final = 900
"""Of a passage that a model is shown."""
FRAME_TOKENS: Final = 100
"""Of what stands around a passage: ids, client, date, command."""

PASSAGE_CHARS: Final = 1_000
"""Of a passage that is compared by meaning: what the encoder reads of it."""

COSINE_WEIGHT, COVERED_WEIGHT, KNOWN_WEIGHT, BIAS = 3.2, 0.7, 3.8, -2.6
"""Logistic regression on the development sessions. Of the question: its cosine to the nearest of
the best passages; the share of its words, by their rarity, that one passage has; and the share that
stands anywhere in the project."""

SURE: Final = 0.85
"""From here on an answer is sure. Left out one repository at a time, 26 of 30 questions without an
answer stay below, and 72 % of the others reach it, whose session is among the first three for
92 %."""

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
    r"\b(?:todo|open:|not yet|remaining|still (?:need|open|fail|missing)|next step|left to do)",
    re.IGNORECASE,
)
_SENTENCE: Final = re.compile(r"(?<=[.!?])\s+|\n+")
_CODE: Final = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_MARKUP: Final = re.compile(r"^[\s>#*\-\d.)]+|\*\*")
_AND: Final = re.compile(r"&&|;")
_DONE: Final = ("$ ", "> ", "! ", "edited ")


@dataclass(frozen=True, slots=True)
class Found:
    """A passage, and the session that it is from."""

    hit: Hit
    kept: Kept
    project: Project
    words: tuple[str, ...]
    """Words of the question that it has."""

    @property
    def by_meaning(self) -> bool:
        """Whether its meaning alone found it: no word of the question is in it."""
        return not self.words and self.hit.parts.dense is not None


@dataclass(frozen=True, slots=True)
class Answer:
    """What was found, best first, and how sure it is that the best answers the question."""

    found: tuple[Found, ...]
    sure: float
    notes: tuple[str, ...] = ()

    def within(self, tokens: int) -> "Answer":
        """Return as many of the best passages, cut to the words found, as ``tokens`` allow."""
        kept: list[Found] = []
        for one in self.found:
            passage = one.hit.passage
            text = excerpt(passage.body, one.words, SHOWN_CHARS)
            tokens -= about_tokens(text) + FRAME_TOKENS
            if tokens < 0:
                break
            kept.append(replace(one, hit=replace(one.hit, passage=replace(passage, body=text))))
        return replace(self, found=tuple(kept))


def excerpt(text: str, words: Sequence[str], chars: int) -> str:
    """Return ``chars`` characters of a text around the first of the words.

    >>> excerpt("a b c d port e f", ["port"], 8)
    '... d port e ...'
    """
    text = text.strip()
    if len(text) <= chars:
        return text
    low = text.casefold()
    first = min((at for word in words if (at := low.find(word)) >= 0), default=0)
    start = max(0, min(first - chars // 4, len(text) - chars))
    cut = text[start : start + chars].strip()
    return f"{'... ' if start else ''}{cut}{' ...' if start + chars < len(text) else ''}"


def told_in(found: Found, chars: int) -> str:
    """Return the sentence of a passage with most of the words found; else the part around them."""
    body = found.hit.passage.body
    counts = {text: sum(word in text.casefold() for word in found.words)
              for text in _sentences(body)}  # fmt: skip
    best = max(counts, key=lambda text: counts[text], default="")
    return excerpt(best if counts.get(best) else body, found.words, chars)


def ask(
    memory: AssistantMemory,
    projects: Sequence[Project],
    question: str,
    *,
    limit: int = 5,
    since: datetime | None = None,
    embedder: Embedder | None = None,
    now: datetime | None = None,
    surface: str = "cli",
) -> Answer:
    """Search the sessions of ``projects``; of several, the surest project comes first."""
    answers: list[Answer] = []
    with memory.stores(projects) as opened:
        for project, store in opened:
            result = recall(
                store, question, limit=max(20, 2 * limit), least_cosine=LEAST_COSINE,
                embedder=embedder, now=now,
            )  # fmt: skip
            result = log_recall(store, result, surface=surface)
            hits = [one for one in result.hits if since is None or one.passage.at >= since]
            sure = _certainty(store, result.question, hits[:JUDGED], embedder)
            ids = dict.fromkeys(hit.passage.session_id for hit in hits[:limit])
            kept = {one.session.id: one for one in store.kept([*ids])}
            found = tuple(
                Found(hit, kept[hit.passage.session_id], project, words_in(result.question, hit))
                for hit in hits[:limit]
                if hit.passage.session_id in kept
            )
            answers.append(Answer(found, sure, (*store.take_warnings(), *result.notes)))
    answers.sort(key=lambda one: -one.sure)
    every = [replace(one, hit=replace(one.hit, score=one.hit.score * answer.sure))
             for answer in answers for one in answer.found]  # fmt: skip
    if len(answers) > 1:
        every.sort(key=lambda one: -one.hit.score)
    notes = tuple(dict.fromkeys(note for answer in answers for note in answer.notes))
    return Answer(tuple(every[:limit]), answers[0].sure if answers else 0.0, notes)


def words_in(question: Question, hit: Hit) -> tuple[str, ...]:
    """Return the words of the question that a passage has, in the question's order."""
    text = f"{hit.passage.header} {hit.passage.body} {hit.passage.idents}".casefold()
    stems = frozenset(map(stem, WORD.findall(text)))
    return tuple(term.word for term in question.terms if term.stems & stems)


def _certainty(
    store: ProjectStore, question: Question, hits: Sequence[Hit], embedder: Embedder | None
) -> float:
    """The probability that the best passages answer the question."""
    if not hits:
        return 0.0
    counts = store.document_frequencies([term.word for term in question.terms])
    total = max(sum(store.kinds().values()), 1)
    weights = {word: rarity(count, total) for word, count in counts.items()}
    whole = sum(weights.values()) or 1.0
    covered = max(sum(weights.get(word, 0.0) for word in words_in(question, hit)) for hit in hits)
    known = sum(weight for word, weight in weights.items() if counts[word])
    ours = embedder is not None and embedder.name == SHIPPED
    cosine = max(hit.cosine or 0.0 for hit in hits) if ours else 0.0
    if not cosine and embedder and question.terms and shared_encoder().available:
        texts = [question.text, *(hit.passage.body[:PASSAGE_CHARS] for hit in hits)]
        vectors = shared_encoder().encode(texts)
        cosine = max(float((vectors[1:] @ vectors[0]).max()), 0.0)
    likeness = COVERED_WEIGHT * covered / whole + KNOWN_WEIGHT * known / whole
    return 1.0 / (1.0 + math.exp(-(COSINE_WEIGHT * cosine + likeness + BIAS)))


def read_session(
    memory: AssistantMemory, name: str, *, message: str = "", offset: int = 0, tokens: int
) -> tuple[Kept, str, int | None]:
    """Return a session's text from a message on, and where the rest begins.

    ``name`` is its id, or the beginning of the client's own. Raises StoreError.
    """
    begins = name.rpartition(":")[2]
    with memory.stores(memory.projects() if begins else ()) as opened:
        for _, store in opened:
            for kept in store.kept():
                if kept.session.id == name or kept.name.startswith(begins):
                    said = store.messages(kept.session.id)
                    ids = [one.id for one in said]
                    at = ids.index(message) if message in ids else 0
                    text = "\n\n".join(f"{one.role}: {one.content}" for one in said[at:])
                    end = offset + int(tokens * CHARS_OF_TOKEN)
                    return kept, text[offset:end], end if end < len(text) else None
    raise StoreError(f"no session '{name}' is kept", hint="use an id that recall gave")


def latest(
    memory: AssistantMemory, project: Project, *, session: str = "", branch: str = "", but: str = ""
) -> tuple[Kept, tuple[Message, ...]] | None:
    """Return a session of a project and what was said in it; without an id, the latest.

    ``branch``: of that branch, where there is one. ``but``: not the session of this client's id.
    """
    begins = session.rpartition(":")[2]
    with memory.stores([project]) as opened:
        for _, store in opened:
            every = [one for one in store.kept() if one.name != but and one.name.startswith(begins)]
            same = [one for one in every if branch and one.branch == branch]
            if chosen := (same or every)[:1]:
                return chosen[0], store.messages(chosen[0].session.id)
    return None


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
    sentences = [(one.role, text) for one in messages for text in _sentences(one.content)]
    decisions = [
        text
        for role, text in sentences
        if not text.endswith("?")
        and DECIDED.search(text)
        and (role == "user" or REASON.search(text) or text.lower().startswith("decision"))
    ]
    worked: list[str] = []
    failed: dict[str, str] = {}
    files: list[str] = []
    mended: dict[str, str] = {}
    command = ""
    replies = (one.content for one in messages if one.role != "user")
    for line in (line for text in replies for line in text.splitlines()):
        if line.startswith("$ "):
            command = line[2:]
            worked.append(command)
            mended = {one: failed.pop(one) for one in [*failed] if _parts(one) <= _parts(command)}
        elif line.startswith("! ") and command:
            if worked[-1:] == [command]:
                worked.pop()
            failed |= mended | {command: line[2:]}
        elif line.startswith("edited "):
            files += line.removeprefix("edited ").split(", ")
    return Digest(
        goal=prompts[0].strip()[:GOAL_CHARS] if prompts else "",
        later=tuple(map(_short, prompts[1:])),
        decisions=_latest(decisions),
        files=_latest(files),
        worked=_latest(worked),
        failed=tuple(f"{command}: {error}" for command, error in failed.items()),
        open=_latest(_open(messages, sentences)),
    )


def start_line(kept: Kept, messages: Sequence[Message], touched: Iterable[str] = ()) -> str:
    """Return where a branch stopped, in at most START_TOKENS tokens; "" when nothing tells.

    ``touched`` are files of the last commits: decisions that name one of them are told.
    """
    found = digest(messages)
    last = found.later[-1] if found.later else _short(found.goal)
    if not last:
        return ""
    branch = f" on {kept.branch}" if kept.branch else ""
    said = f"({kept.client}, {kept.session.updated_at:%Y-%m-%d})"
    parts = [f"KDS: the last session here{branch} {said} ended with {_quoted(last)}."]
    if left := [one for one in found.open if not one.endswith(last)]:
        parts.append(f"Open: {_quoted(left[-1])}")
    elif found.failed:
        parts.append(f"Failed last: {_quoted(found.failed[-1])}")
    names = [name for path in touched if (name := path.rpartition("/")[2])]
    concerned = [one for one in found.decisions if any(name in one for name in names)]
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


def _open(messages: Sequence[Message], sentences: Sequence[tuple[str, str]]) -> Iterator[str]:
    """What was left open: words that say so near the end, and a question without an answer."""
    for role, text in sentences[-40:]:
        if role != "user" and OPEN.search(text):
            yield text.removeprefix("Open: ")
    if messages and messages[-1].role == "user":
        yield f"not answered: {_short(messages[-1].content)}"
    elif messages:
        asked = [text for text in _sentences(messages[-1].content) if text.endswith("?")]
        yield from asked[-1:]


def _sentences(content: str) -> Iterator[str]:
    """The sentences of a message, without code and lines of what was done."""
    lines = _CODE.sub("\n", content).splitlines()
    prose = "\n".join(line for line in lines if not line.startswith(_DONE))
    for part in _SENTENCE.split(prose):
        sentence = _MARKUP.sub("", part).strip()
        if 12 <= len(sentence) <= SENTENCE_CHARS:
            yield sentence


def _parts(command: str) -> frozenset[str]:
    """The commands of a line, without those that only change the folder."""
    parts = (part.strip() for part in _AND.split(command))
    return frozenset(part for part in parts if part and not part.startswith("cd "))


def _short(text: str) -> str:
    return one_line(_CODE.sub(" ", text))[:200].strip()


def _latest(texts: Iterable[str]) -> tuple[str, ...]:
    """Each text once, where it stands last."""
    return tuple(dict.fromkeys(reversed(list(texts))))[::-1]
