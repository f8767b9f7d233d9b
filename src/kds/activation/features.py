"""How a prompt resembles each entry of a library: words, characters and meaning.

A library is read once into matrices (`Library`); a prompt is compared with all entries at once.
Scores are cosines in [-1, 1] unless said otherwise.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.resources import files
from math import log
from typing import TYPE_CHECKING, Final

import yaml

from kds.activation.discovery import Entry
from kds.activation.vectors import Pieces, StoredVectors, meaning
from kds.brain.turn import Utterance
from kds.brain.words.stems import stem

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vector = NDArray[np.float32]

FEATURES: Final = (
    *(
        "name",
        "whole",
        "sentence",
        "clause",
        "body",
        "terms",
        "body_terms",
        "covered",
        "characters",
    ),
    *("name_pieces", "pieces", "all_pieces", "name_back", "intent"),
    *("earlier", "earlier_short", "earlier_terms", "reply", "again", "again_terms", "length"),
)
"""What ranks entries, in the order of the fitted weights."""

SENTENCES: Final = 6
"""Sentences of a description that are compared: more are lists of the same."""
BODY_PART: Final = 300
BODY_PARTS: Final = 3
"""Characters and number of the parts of a body's head that are compared one by one. With 300 and 3,
.70 of the best entries are right on the development libraries; with 400, or two parts, .69."""
HISTORY_READ: Final = 600
"""Characters of an earlier message and of the end of a reply."""
PROMPT_READ: Final = 1500
"""Characters of a prompt: what is wanted stands at the head of a long one."""
SHORT_WORDS: Final = 3
"""Up to so many content words, a prompt leans on the conversation."""

PIECES_READ: Final = 96
"""Word pieces of a prompt that are compared one by one."""

REFUSED_WORDS: Final = 3
"""Content words that a refusal reaches, within its clause."""

_CLAUSE_END: Final = re.compile(r"[,.;:!?\n]|\b(?:but|and|until|before)\b")
_CHARACTERS: Final = 4
_WORD: Final = re.compile(r"[a-z0-9]+")
_CAMEL: Final = re.compile(r"([a-z])([A-Z])")
_SENTENCE: Final = re.compile(r"(?<=[.!?;])\s+|\s+- |\n+")
_MARKUP: Final = re.compile(r"^[#>*\-\s\d.]+")


@dataclass(frozen=True)
class Words:
    """The patterns and words of words.yaml."""

    stop: frozenset[str]
    exclusion: re.Pattern[str]
    acknowledgement: re.Pattern[str]
    continuation: re.Pattern[str]
    question: re.Pattern[str]
    negation: re.Pattern[str]
    trace: re.Pattern[str]
    refusal: re.Pattern[str]
    postponement: re.Pattern[str]
    instead: re.Pattern[str]
    small: re.Pattern[str]
    code: re.Pattern[str]
    about: re.Pattern[str]


@cache
def words() -> Words:
    """Return words.yaml, compiled."""
    data = yaml.safe_load(files(__package__).joinpath("words.yaml").read_text("utf-8"))
    patterns = {
        name: re.compile(text, re.IGNORECASE | re.MULTILINE)
        for name, text in data.items()
        if name != "stop"
    }
    patterns["code"] = re.compile(data["code"])  # in which capitals count
    return Words(stop=frozenset(data["stop"].split()), **patterns)


def terms_of(text: str) -> list[str]:
    """Return the stems of the content words of a text.

    >>> terms_of("Please review the openPullRequest")
    ['review', 'open', 'pull', 'request']
    """
    stop = words().stop
    found = _WORD.findall(_CAMEL.sub(r"\1 \2", text).lower())
    return [stem(word) for word in found if len(word) > 1 and word not in stop]


def sentences_of(text: str) -> list[str]:
    """Return the sentences and list items of a text."""
    return [part.strip() for part in _SENTENCE.split(text) if part.strip()]


def spoken(name: str) -> str:
    """Return a name as words: "open-pull_request" is "open pull request"."""
    return re.sub(r"[-_:]+", " ", name)


class TermIndex:
    """TF-IDF over a few texts: one row a text, of unit length."""

    def __init__(self, texts: Sequence[Iterable[str]]) -> None:
        import numpy as np

        counts = [Counter(text) for text in texts]
        held = Counter(term for count in counts for term in count)
        self.columns = {term: column for column, term in enumerate(held)}
        self.unknown = log(1 + len(texts)) + 1
        self.weights = np.array(
            [log((1 + len(texts)) / (1 + n)) + 1 for n in held.values()], dtype=np.float32
        )
        self.rows = np.zeros((len(texts), len(held)), dtype=np.float32)
        for row, count in zip(self.rows, counts, strict=True):
            for term, n in count.items():
                row[self.columns[term]] = (1 + log(n)) * self.weights[self.columns[term]]
        self.rows /= np.maximum(np.linalg.norm(self.rows, axis=1, keepdims=True), 1e-9)

    def like(self, text: Iterable[str]) -> "Vector":
        """Return how like each row is. Unknown terms count as rare ones that no row holds."""
        import numpy as np

        vector = np.zeros(len(self.columns), dtype=np.float32)
        strange = 0.0
        for term, n in Counter(text).items():
            if (column := self.columns.get(term)) is None:
                strange += ((1 + log(n)) * self.unknown) ** 2
            else:
                vector[column] = (1 + log(n)) * self.weights[column]
        length = float(np.sqrt(vector @ vector + strange))
        like: Vector = self.rows @ vector / max(length, 1e-9)
        return like

    def covered(self, text: Iterable[str]) -> "Vector":
        """Return the share of a text's terms, weighted by rarity, that each row holds."""
        import numpy as np

        known = np.zeros(len(self.columns), dtype=np.float32)
        whole = 0.0
        for term in set(text):
            if (column := self.columns.get(term)) is None:
                whole += self.unknown
            else:
                known[column] = self.weights[column]
                whole += float(known[column])
        covered: Vector = (self.rows > 0) @ known / max(whole, 1e-9)
        return covered


class PieceIndex:
    """The word pieces of a few texts, one behind another."""

    def __init__(self, texts: Sequence[Pieces]) -> None:
        import numpy as np

        width = max((text.rows.shape[1] for text in texts), default=0)
        empty = Pieces(np.zeros(1, "f4"), np.zeros((1, width), "f4"))
        kept = [text if len(text.rows) else empty for text in texts]
        self.rows = np.concatenate([text.rows for text in kept])
        self.weights = np.concatenate([text.weights for text in kept])
        self.starts = np.cumsum([0, *(len(text.rows) for text in kept[:-1])])

    def nearest(self, asked: Pieces) -> "Vector":
        """Return, by piece of ``asked`` and by text, the cosine of the nearest piece."""
        import numpy as np

        near: Vector = np.maximum.reduceat(asked.rows @ self.rows.T, self.starts, axis=1)
        return near

    def reached(self, asked: Pieces) -> "Vector":
        """Return, by text, the weighted mean cosine of its pieces with the nearest in ``asked``."""
        import numpy as np

        if not len(asked.rows):
            return np.zeros(len(self.starts), dtype=np.float32)
        near = (self.rows @ asked.rows.T).max(axis=1) * self.weights
        whole = np.maximum(np.add.reduceat(self.weights, self.starts), 1e-9)
        return (np.add.reduceat(near, self.starts) / whole).astype(np.float32)


def _grams(text: str) -> list[str]:
    line = f" {re.sub('[^a-z0-9]+', ' ', text.lower()).strip()} "
    return [line[at : at + _CHARACTERS] for at in range(len(line) - _CHARACTERS + 1)]


class Prompt:
    """A prompt with the conversation before it, and what is read of both."""

    def __init__(self, text: str, history: Sequence[Utterance] = ()) -> None:
        self.text = text[:PROMPT_READ]
        self.terms = terms_of(self.text)
        self.sentences = sentences_of(self.text)[:SENTENCES] or [self.text]
        said = [said.text for said in history if said.role == "user"]
        self.earlier = said[-1][:HISTORY_READ] if said else ""
        reply = history[-1].text[-HISTORY_READ:] if history and _is_reply(history[-1]) else ""
        self.reply = sentences_of(reply)[-SENTENCES // 2 :]

    @cached_property
    def brevity(self) -> float:
        """1 for a prompt that leans on the conversation, less the more it says itself."""
        return 1 / (1 + max(0, len(self.terms) - SHORT_WORDS) / 4)

    @cached_property
    def refused_terms(self) -> frozenset[str]:
        """The content words that follow upon a refusal: "deploy" in "don't deploy"; and those of a
        clause that puts off, where another says what to do instead."""
        after = (self.text[found.end() :] for found in words().refusal.finditer(self.text))
        clauses = (_CLAUSE_END.split(text, maxsplit=1)[0] for text in after)
        refused = {term for clause in clauses for term in terms_of(clause)[:REFUSED_WORDS]}
        whole = _CLAUSE_END.split(self.text)
        later = [clause for clause in whole if words().postponement.search(clause)]
        if any(words().instead.search(clause) for clause in whole if clause not in later):
            refused.update(term for clause in later for term in terms_of(clause))
        return frozenset(refused)

    @cached_property
    def plain_terms(self) -> frozenset[str]:
        """The content words outside of code."""
        return frozenset(terms_of(words().code.sub(" ", self.text)))

    @cached_property
    def acknowledges(self) -> bool:
        """Whether it is a yes, with at most a few words more."""
        return len(self.terms) <= 8 and words().acknowledgement.match(self.text) is not None

    @cached_property
    def continues(self) -> bool:
        """Whether it asks for more of the same."""
        return len(self.terms) <= 10 and words().continuation.search(self.text) is not None


def _is_reply(said: Utterance) -> bool:
    return said.role == "assistant"


class Library:
    """The entries of a library, as matrices. Reading one is the costly part: keep it."""

    def __init__(self, entries: Sequence[Entry], encoder: StoredVectors) -> None:
        import numpy as np

        self.entries = tuple(entries)
        self.encoder = encoder
        names = [spoken(entry.name) for entry in entries]
        described = [
            f"{name} {name} {entry.description}" for name, entry in zip(names, entries, strict=True)
        ]
        self.name_terms = [frozenset(terms_of(name)) for name in names]
        self.terms = TermIndex([terms_of(text) for text in described])
        self.body_terms = TermIndex(
            [
                terms_of(f"{spoken(entry.name)} {entry.description} {entry.body}")
                for entry in entries
            ]
        )
        self.characters = TermIndex([_grams(text) for text in described])
        wholes = [
            f"{name}: {entry.description}" for name, entry in zip(names, entries, strict=True)
        ]
        heads = [_body_parts(entry)[0] for entry in entries]
        self.name_pieces = PieceIndex([encoder.pieces(name) for name in names])
        self.whole_pieces = PieceIndex([encoder.pieces(whole) for whole in wholes])
        self.body_pieces = PieceIndex([encoder.pieces(head) for head in heads])
        self.names = encoder.encode(names)
        self.whole = encoder.encode(wholes)
        self.asked = meaning().asked(self.whole)
        self.purposes = [encoder.encode(_purposes(entry)) for entry in entries]
        self.exclusions = [encoder.encode(_exclusions(entry)) for entry in entries]
        self.bodies = [encoder.encode(_body_parts(entry)) for entry in entries]
        self.length = np.array([log(1 + len(entry.description)) / 5 for entry in entries], "f4")

    def features(self, prompt: Prompt) -> dict[str, "Vector"]:
        """Return, for each feature that ranks, its value for each entry."""
        import numpy as np

        encode, pieces = self.encoder.encode, self.encoder.pieces(prompt.text)
        (vector,) = encode([prompt.text])
        sentences = encode(prompt.sentences)
        nothing = np.zeros(len(self.entries), dtype=np.float32)
        whole = self.whole @ vector
        found = {
            "name": self.names @ vector,
            "whole": whole,
            "sentence": np.array([(rows @ vector).max() for rows in self.purposes], "f4"),
            "clause": np.array([(rows @ sentences.T).max() for rows in self.purposes], "f4"),
            "body": np.array([(rows @ vector).max() for rows in self.bodies], "f4"),
            "terms": self.terms.like(prompt.terms),
            "body_terms": self.body_terms.like(prompt.terms),
            "covered": self.body_terms.covered(prompt.terms),
            "characters": self.characters.like(_grams(prompt.text)),
            "length": self.length,
            "intent": self.asked @ meaning().asked(vector[None])[0],
            **self._by_pieces(Pieces(pieces.weights[:PIECES_READ], pieces.rows[:PIECES_READ])),
        }
        for name in FEATURES:
            found.setdefault(name, nothing)
        if prompt.earlier:
            both, before = encode([f"{prompt.earlier} {prompt.text}", prompt.earlier])
            earlier_terms = self.terms.like(terms_of(prompt.earlier))
            found["earlier"] = self.whole @ both - whole
            found["earlier_short"] = prompt.brevity * (self.whole @ both)
            found["earlier_terms"] = prompt.brevity * earlier_terms
            if prompt.continues:
                found["again"], found["again_terms"] = self.whole @ before, earlier_terms
        if prompt.reply:
            (last,) = encode(prompt.reply[-1:])
            found["reply"] = prompt.brevity * (self.whole @ last)
        return found

    def _by_pieces(self, asked: Pieces) -> dict[str, "Vector"]:
        """How near the pieces of a prompt come to an entry's, and those of its name to a prompt's.

        Each counts by the nearest of the other side (Khattab and Zaharia 2020, ColBERT).
        """
        import numpy as np

        whole, body = self.whole_pieces.nearest(asked), self.body_pieces.nearest(asked)
        weights = asked.weights / max(float(asked.weights.sum()), 1e-9)
        return {
            "name_pieces": weights @ self.name_pieces.nearest(asked),
            "pieces": weights @ whole,
            "all_pieces": weights @ np.maximum(whole, body),
            "name_back": self.name_pieces.reached(asked),
        }

    def offered(self, prompt: Prompt, row: int) -> tuple[float, float]:
        """How near the end of the reply is to an entry, by meaning and by words."""
        if not prompt.reply:
            return 0.0, 0.0
        near = (self.purposes[row] @ self.encoder.encode(prompt.reply).T).max()
        terms = self.terms.like(terms_of(" ".join(prompt.reply[-2:])))
        return float(near), float(terms[row])

    def excluded(self, prompt: Prompt, row: int) -> float:
        """How much nearer a prompt is to what an entry says it is not for; 0 or more."""
        if not len(self.exclusions[row]):
            return 0.0
        (vector,) = self.encoder.encode([prompt.text])
        near = (self.exclusions[row] @ vector).max() - (self.purposes[row] @ vector).max()
        return max(0.0, float(near))

    def named(self, prompt: Prompt, row: int) -> float:
        """The share of the words of an entry's name that a prompt holds."""
        wanted = self.name_terms[row]
        return len(wanted & set(prompt.terms)) / len(wanted) if wanted else 0.0

    def refused(self, prompt: Prompt, row: int) -> bool:
        """Whether a prompt says that it does not want what an entry's name says."""
        return not self.name_terms[row].isdisjoint(prompt.refused_terms)

    def small(self, prompt: Prompt, row: int) -> bool:
        """Whether a prompt asks for a touch (a typo, a new name) that an entry is not for."""
        entry, small = self.entries[row], words().small
        covered = small.search(f"{spoken(entry.name)} {entry.description}")
        return small.search(prompt.text) is not None and covered is None

    def in_code(self, prompt: Prompt, row: int) -> float:
        """The share of the words of an entry's name that a prompt holds in code alone."""
        wanted = self.name_terms[row]
        inside = (wanted & set(prompt.terms)) - prompt.plain_terms
        return len(inside) / len(wanted) if wanted else 0.0


def _purposes(entry: Entry) -> list[str]:
    """The sentences of a description that say what the entry is for."""
    all_of_them = sentences_of(entry.description)[:SENTENCES]
    kept = [text for text in all_of_them if not words().exclusion.search(text)]
    return kept or all_of_them[:1] or [spoken(entry.name)]


def _exclusions(entry: Entry) -> list[str]:
    found = sentences_of(entry.description)[:SENTENCES]
    return [text for text in found if words().exclusion.search(text)]


def _body_parts(entry: Entry) -> list[str]:
    """The head of a body in parts of BODY_PART characters, without its marks."""
    lines = (_MARKUP.sub("", line).strip().strip("*") for line in entry.body.splitlines())
    text = " ".join(line[:BODY_PART] for line in lines if len(line) >= 8 and "```" not in line)
    whole = text[: BODY_PART * BODY_PARTS]
    parts = [whole[at : at + BODY_PART] for at in range(0, len(whole), BODY_PART)]
    return parts or [spoken(entry.name)]
