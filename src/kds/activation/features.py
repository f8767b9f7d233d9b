"""How a prompt resembles each entry of a library: words, characters and meaning.

A library is read once into matrices (`Library`); a prompt is compared with all entries at once.
Scores are cosines in [-1, 1] unless said otherwise.
"""

import io
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, cached_property
from hashlib import blake2b
from importlib.resources import files
from math import log
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import yaml

from kds.activation.discovery import Entry
from kds.brain.encoder import Encoder
from kds.brain.encoder import Pieces as ReadPieces
from kds.brain.errors import KdsError
from kds.brain.files import PrivateFile, make_private_folder
from kds.brain.turn import Utterance
from kds.brain.words.terms import stem

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vector = NDArray[np.float32]
    Known = dict[bytes, NDArray[Any]]

FEATURES: Final = tuple(
    "name whole sentence clause body terms body_terms covered characters"
    " name_pieces pieces all_pieces name_back intent"
    " earlier earlier_short earlier_terms reply again again_terms length".split()
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

MEANING: Final = "meaning.npz"
"""`mean` and `axes` project pieces; `intents` and `bias` tell packaged intents by a vector."""
RARE: Final = 1000
"""The encoder's vocabulary is ordered by frequency: a piece weighs log(1 + its number / RARE)."""

_CLAUSE_END: Final = re.compile(r"[,.;:!?\n]|\b(?:but|and|until|before)\b")
_CHARACTERS: Final = 4
_WORD: Final = re.compile(r"[a-z0-9]+")
_CAMEL: Final = re.compile(r"([a-z])([A-Z])")
_SENTENCE: Final = re.compile(r"(?<=[.!?;])\s+|\s+- |\n+")
_MARKUP: Final = re.compile(r"^[#>*\-\s\d.]+")


_WORDS: Final[dict[str, str]] = yaml.safe_load(
    files(__package__).joinpath("words.yaml").read_text("utf-8")
)
_STOP_WORDS: Final = frozenset(_WORDS["stop"].split())


@cache
def pattern(name: str) -> re.Pattern[str]:
    """Return a pattern of words.yaml; capitals count in code alone."""
    return re.compile(_WORDS[name], 0 if name == "code" else re.IGNORECASE | re.MULTILINE)


def terms_of(text: str) -> list[str]:
    """Return the stems of the content words of a text.

    >>> terms_of("Please review the openPullRequest")
    ['review', 'open', 'pull', 'request']
    """
    found = _WORD.findall(_CAMEL.sub(r"\1 \2", text).lower())
    return [stem(word) for word in found if len(word) > 1 and word not in _STOP_WORDS]


def sentences_of(text: str) -> list[str]:
    """Return the sentences and list items of a text."""
    return [part.strip() for part in _SENTENCE.split(text) if part.strip()]


def spoken(name: str) -> str:
    """Return a name as words: "open-pull_request" is "open pull request"."""
    return re.sub(r"[-_:]+", " ", name)


@dataclass(frozen=True)
class Pieces:
    """The word pieces of a text: a weight and a row of unit length each."""

    weights: "Vector"
    rows: "Vector"


@dataclass(frozen=True)
class Meaning:
    """What `MEANING` holds, fitted by ``tools/fit_activation.py`` on the packaged examples.

    Pieces are compared in the 64 directions in which those of the examples differ most: what
    developers ask for. On the development libraries that ranks better than all 384 (.733 of the
    best entries right, .711), and needs a sixth of the space.
    """

    mean: "Vector"
    axes: "Vector"
    intents: "Vector"
    bias: "Vector"

    def project(self, found: ReadPieces) -> Pieces:
        """Return the pieces of a text as they are compared."""
        import numpy as np

        lengths = np.linalg.norm(found.rows, axis=1, keepdims=True)
        rows = (found.rows / np.maximum(lengths, 1e-9) - self.mean) @ self.axes
        rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)
        weights = np.log1p(found.ids / RARE) * found.spelt
        return Pieces(weights.astype("f4"), rows)

    def asked(self, vectors: "Vector") -> "Vector":
        """Return the square roots of the probabilities of the packaged intents, one row a vector.

        The product of two such rows is 1 for the same distribution (Bhattacharyya 1943).
        """
        import numpy as np

        scores = vectors @ self.intents + self.bias
        odds = np.exp(scores - scores.max(axis=1, keepdims=True))
        roots: Vector = np.sqrt(odds / odds.sum(axis=1, keepdims=True))
        return roots


@cache
def meaning() -> Meaning:
    """Return what ships."""
    import numpy as np

    with files(__package__).joinpath(MEANING).open("rb") as file, np.load(file) as data:
        return Meaning(**{name: data[name].astype("f4") for name in data.files})


class StoredVectors:
    """An encoder that knows the texts in ``path``. `keep` writes those it was asked for: once."""

    def __init__(self, encoder: Encoder, path: Path | None = None) -> None:
        self._encoder = encoder
        self._path = path
        self._known = self._load()
        self._asked: Known | None = {}
        """None once the library is read: what comes then are prompts."""

    def encode(self, texts: Sequence[str]) -> "Vector":
        """Return one row of unit length a text."""
        import numpy as np

        asked = self._asked
        if asked is None or not texts:
            return self._encoder.encode(texts)
        for text in texts:
            if (key := _key(text)) not in asked:
                known = self._known.get(key)
                asked[key] = self._encoder.encode([text])[0] if known is None else known
        return np.stack([asked[_key(text)] for text in texts])

    def pieces(self, text: str) -> Pieces:
        """Return the pieces of a text."""
        import numpy as np

        if self._asked is None:
            return meaning().project(self._encoder.pieces(text))
        key = _key(text, b"pieces")
        if (kept := self._known.get(key)) is None:
            found = meaning().project(self._encoder.pieces(text))
            kept = np.hstack([found.weights[:, None], found.rows]).astype("f2")
        self._asked[key] = kept
        return Pieces(kept[:, 0].astype("f4"), kept[:, 1:].astype("f4"))

    def keep(self) -> None:
        """Write what was asked for, nothing else. A full disk costs the cache."""
        asked, self._asked = self._asked, None
        if self._path is None or not asked or asked.keys() == self._known.keys():
            return
        import numpy as np

        file = io.BytesIO()
        vectors = {key: value for key, value in asked.items() if value.ndim == 1}
        pieces = {key: value for key, value in asked.items() if value.ndim == 2}
        np.savez(
            file,
            keys=np.frombuffer(b"".join([*vectors, *pieces]), dtype="V16"),
            vectors=np.stack([*vectors.values()]),
            pieces=np.concatenate([*pieces.values()]),
            lengths=np.array([len(value) for value in pieces.values()]),
        )
        with suppress(KdsError, OSError):
            make_private_folder(self._path.parent)
            PrivateFile(self._path).replace(file.getvalue())

    def _load(self) -> "Known":
        """What the file holds; nothing where it is missing or damaged: it is made again."""
        import numpy as np

        try:
            content = self._path and PrivateFile(self._path).read()
            if not content:
                return {}
            with np.load(io.BytesIO(content), allow_pickle=False) as data:
                ends = np.cumsum(data["lengths"])[:-1]
                values = [*data["vectors"], *np.split(data["pieces"], ends)]
                return dict(zip((key.tobytes() for key in data["keys"]), values, strict=True))
        except (KdsError, OSError, ValueError, KeyError, EOFError):
            return {}


def _key(text: str, kind: bytes = b"") -> bytes:
    return blake2b(text.encode("utf-8", "replace"), digest_size=16, person=kind).digest()


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

        vector, strange = self._weighed({term: 1 + log(n) for term, n in Counter(text).items()})
        length = float(np.sqrt(vector @ vector + strange @ strange))
        like: Vector = self.rows @ vector / max(length, 1e-9)
        return like

    def covered(self, text: Iterable[str]) -> "Vector":
        """Return the share of a text's terms, weighted by rarity, that each row holds."""
        known, strange = self._weighed(dict.fromkeys(text, 1.0))
        whole = float(known.sum() + strange.sum())
        covered: Vector = (self.rows > 0) @ known / max(whole, 1e-9)
        return covered

    def _weighed(self, terms: dict[str, float]) -> "tuple[Vector, Vector]":
        """The weights of known terms, by column, and of the others."""
        import numpy as np

        known = np.zeros(len(self.columns), dtype=np.float32)
        for term in terms.keys() & self.columns.keys():
            known[self.columns[term]] = terms[term] * self.weights[self.columns[term]]
        others = terms.keys() - self.columns.keys()
        return known, np.array([terms[term] * self.unknown for term in sorted(others)])


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
        replied = bool(history) and history[-1].role == "assistant"
        reply = history[-1].text[-HISTORY_READ:] if replied else ""
        self.reply = sentences_of(reply)[-SENTENCES // 2 :]

    @cached_property
    def brevity(self) -> float:
        """1 for a prompt that leans on the conversation, less the more it says itself."""
        return 1 / (1 + max(0, len(self.terms) - SHORT_WORDS) / 4)

    @cached_property
    def refused_terms(self) -> frozenset[str]:
        """The content words that follow upon a refusal: "deploy" in "don't deploy"; and those of a
        clause that puts off, where another says what to do instead."""
        after = (self.text[found.end() :] for found in pattern("refusal").finditer(self.text))
        clauses = (_CLAUSE_END.split(text, maxsplit=1)[0] for text in after)
        refused = {term for clause in clauses for term in terms_of(clause)[:REFUSED_WORDS]}
        whole = _CLAUSE_END.split(self.text)
        later = [clause for clause in whole if pattern("postponement").search(clause)]
        if any(pattern("instead").search(clause) for clause in whole if clause not in later):
            refused.update(term for clause in later for term in terms_of(clause))
        return frozenset(refused)

    @cached_property
    def plain_terms(self) -> frozenset[str]:
        """The content words outside of code."""
        return frozenset(terms_of(pattern("code").sub(" ", self.text)))

    @cached_property
    def acknowledges(self) -> bool:
        """Whether it is a yes, with at most a few words more."""
        return len(self.terms) <= 8 and pattern("acknowledgement").match(self.text) is not None

    @cached_property
    def accepted(self) -> str:
        """What a plain yes accepts: the offer in the last sentence of the reply."""
        if not pattern("plain_yes").match(self.text):
            return ""
        _, *offered = pattern("offer").split(self.reply[-1] if self.reply else "")
        return offered[-1].strip(" .?!") if offered else ""

    @cached_property
    def continues(self) -> bool:
        """Whether it asks for more of the same."""
        return len(self.terms) <= 10 and pattern("continuation").search(self.text) is not None


class Library:
    """The entries of a library, as matrices. Reading one is the costly part: keep it."""

    def __init__(self, entries: Sequence[Entry], encoder: StoredVectors) -> None:
        import numpy as np

        self.entries = tuple(entries)
        self.encoder = encoder
        named = [(spoken(entry.name), entry) for entry in entries]
        names = [name for name, _ in named]
        described = [f"{name} {name} {entry.description}" for name, entry in named]
        bodied = [f"{name} {entry.description} {entry.body}" for name, entry in named]
        wholes = [f"{name}: {entry.description}" for name, entry in named]
        parts = [_body_parts(entry) for entry in entries]
        self.name_terms = [frozenset(terms_of(name)) for name in names]
        self.terms = TermIndex([terms_of(text) for text in described])
        self.body_terms = TermIndex([terms_of(text) for text in bodied])
        self.characters = TermIndex([_grams(text) for text in described])
        self.name_pieces = PieceIndex([encoder.pieces(name) for name in names])
        self.whole_pieces = PieceIndex([encoder.pieces(whole) for whole in wholes])
        self.body_pieces = PieceIndex([encoder.pieces(head) for head, *_ in parts])
        self.names = encoder.encode(names)
        self.whole = encoder.encode(wholes)
        self.asked = meaning().asked(self.whole)
        purposes, exclusions = zip(*map(_purposes, entries), strict=True)
        self.purposes = [encoder.encode(texts) for texts in purposes]
        self.exclusions = [encoder.encode(texts) for texts in exclusions]
        self.bodies = [encoder.encode(texts) for texts in parts]
        self.length = np.array([log(1 + len(entry.description)) / 5 for entry in entries], "f4")

    def features(self, prompt: Prompt) -> dict[str, "Vector"]:
        """Return, for each feature that ranks, its value for each entry."""
        import numpy as np

        encode, pieces = self.encoder.encode, self.encoder.pieces(prompt.text)
        (vector,) = encode([prompt.text])
        sentences = encode(prompt.sentences)
        nothing = np.zeros(len(self.entries), dtype=np.float32)
        whole = self.whole @ vector
        found = dict.fromkeys(FEATURES, nothing) | {
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

    def signs(self, prompt: Prompt, row: int) -> dict[str, float]:
        """What is read of a prompt, and of the prompt beside the entry of ``row``."""
        entry, name = self.entries[row], self.name_terms[row]
        held, share = name & set(prompt.terms), 1 / max(len(name), 1)
        question, named = pattern("question").match(prompt.text) is not None, len(held) * share
        offer = offer_terms = excluded = 0.0
        if prompt.acknowledges and prompt.reply:  # how near the end of the reply is to the entry
            offer = (self.purposes[row] @ self.encoder.encode(prompt.reply).T).max()
            offer_terms = self.terms.like(terms_of(" ".join(prompt.reply[-2:])))[row]
        if len(self.exclusions[row]):  # how much nearer a prompt is to what it is not for
            (vector,) = self.encoder.encode([prompt.text])
            near = (self.exclusions[row] @ vector).max() - (self.purposes[row] @ vector).max()
            excluded = max(0.0, near)
        small, own_words = pattern("small").search, f"{spoken(entry.name)} {entry.description}"
        found: dict[str, float] = {
            "named": named,
            "excluded": excluded,
            "offer": offer,
            "offer_terms": offer_terms,
            "words": log(1 + len(prompt.terms)),
            "short": len(prompt.terms) <= SHORT_WORDS,
            "acknowledges": prompt.acknowledges,
            "question": question,
            "asks": prompt.text.rstrip().endswith("?"),
            "negation": pattern("negation").search(prompt.text) is not None,
            "trace": pattern("trace").search(prompt.text) is not None,
            "refused": not name.isdisjoint(prompt.refused_terms),
            "question_name": question * named,
            "about": pattern("about").search(prompt.text) is not None,
            "in_code": len(held - prompt.plain_terms) * share,
            # a typo, a new name: a touch that no entry is for, unless it says so itself
            "small": bool(small(prompt.text)) and not small(own_words),
            "history": bool(prompt.earlier),
        }
        return {sign: float(value) for sign, value in found.items()}


def _purposes(entry: Entry) -> tuple[list[str], list[str]]:
    """The sentences of a description that say what the entry is for, and what it is not for."""
    texts = sentences_of(entry.description)[:SENTENCES]
    exclusions = [text for text in texts if pattern("exclusion").search(text)]
    purposes = [text for text in texts if text not in exclusions]
    return purposes or texts[:1] or [spoken(entry.name)], exclusions


def _body_parts(entry: Entry) -> list[str]:
    """The head of a body in parts of BODY_PART characters, without its marks."""
    lines = (_MARKUP.sub("", line).strip().strip("*") for line in entry.body.splitlines())
    text = " ".join(line[:BODY_PART] for line in lines if len(line) >= 8 and "```" not in line)
    ends = range(0, min(len(text), BODY_PART * BODY_PARTS), BODY_PART)
    return [text[at : at + BODY_PART] for at in ends] or [spoken(entry.name)]
