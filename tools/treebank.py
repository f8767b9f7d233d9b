"""UD English EWT as spaCy documents, and as developers would type it.

A treebank is mostly edited prose in whole sentences. What people type at a coding assistant is
lower case, without apostrophes and full stops, in commands, and full of paths and identifiers.
So a part of the training sentences comes twice: as it stands, and bent that way, its analysis
kept. Everything is drawn from one seeded generator.
"""

import gzip
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Final

from spacy.tokens import Doc
from spacy.vocab import Vocab

BENT: Final = 0.7
"""Share of the training sentences that come a second time, bent."""

LOWER, BARE, CODE, SPELT, COMMAND = 0.6, 0.5, 0.35, 0.3, 0.8
"""Odds, for a bent sentence, of each way of bending it that applies."""

DOC_SENTENCES: Final = 3
"""Messages have a few sentences; where they end must be learnt within one."""

_SPELT: Final = {
    "you": ("u", "yu", "yo"), "your": ("ur", "youre", "yuor"), "please": ("pls", "plz"),
    "because": ("bc", "cuz", "becuase"), "the": ("teh", "th"), "are": ("r",),
    "that": ("taht", "tht"), "want": ("wnat",), "with": ("w/", "wtih"), "and": ("&", "adn"),
    "do": ("od",), "it": ("ti",), "should": ("shoud", "shuold"), "there": ("ther", "thre"),
    "could": ("coud",), "add": ("ad",), "to": ("2",), "for": ("fro", "4"), "what": ("wat",),
}  # fmt: skip
_WHOLE: Final = {
    "'m": "m",
    "'re": "re",
    "'ve": "ve",
    "'ll": "ll",
    "n't": "nt",
    "'s": "s",
    "'d": "d",
}
_STEMS: Final = (
    "user order list login button page file index config auth test data item cart".split()
)
_ENDS: Final = ".py .ts .tsx .js .json .md .yml .css .go .rs .java .sh .html .toml".split()
_MODALS: Final = frozenset("should can could must will would need".split())


@dataclass(frozen=True, slots=True)
class Token:
    """One syntactic word of a CoNLL-U sentence; ``head`` counts from 0, itself for the root."""

    text: str
    pos: str
    tag: str
    morph: str
    head: int
    dep: str
    space: bool


Sentence = tuple[Token, ...]


def read(path: Path) -> Iterator[Sentence]:
    """The sentences of a gzipped CoNLL-U file; empty nodes and multiword ranges are left out."""
    rows: list[list[str]] = []
    glued: set[int] = set()
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            cells = line.rstrip("\n").split("\t")
            if len(cells) == 10 and cells[0].isdigit():
                rows.append(cells)
            elif len(cells) == 10 and "-" in cells[0]:
                first, last = map(int, cells[0].split("-"))
                end = {last} if "SpaceAfter=No" in cells[9] else set()
                glued |= set(range(first, last)) | end
            elif rows and not line.strip():
                yield tuple(_token(i, row, glued) for i, row in enumerate(rows))
                rows, glued = [], set()


def _token(i: int, row: list[str], glued: set[int]) -> Token:
    head = int(row[6]) - 1 if row[6] != "0" else i
    space = "SpaceAfter=No" not in row[9] and i + 1 not in glued
    morph = "" if row[5] == "_" else row[5]
    return Token(row[1], row[3], row[4], morph, head, row[7] if head != i else "ROOT", space)


def bent(sentence: Sentence, random: Random) -> Sentence:
    """``sentence`` as a developer might type it, with its analysis."""
    if random.random() < COMMAND:
        sentence = command(sentence)
    words = list(sentence)
    if random.random() < CODE:
        words = [_coded(token, random) for token in words]
    if random.random() < SPELT:
        words = [_misspelt(token, random) for token in words]
    if random.random() < BARE:
        words = [replace(token, text=_WHOLE.get(token.text.lower(), token.text)) for token in words]
        if (
            len(words) > 1
            and words[-1].text in {".", "!", "?"}
            and not _heads(words, len(words) - 1)
        ):
            words.pop()
    if random.random() < LOWER:
        words = [replace(token, text=token.text.lower()) for token in words]
    return tuple(words)


def command(sentence: Sentence) -> Sentence:
    """ "You should check the log" as "check the log"; what cannot be a command stays as it is."""
    root = next((i for i, token in enumerate(sentence) if token.dep == "ROOT"), 0)
    if sentence[root].tag != "VB" or not 0 < root <= 4:
        return sentence
    before = sentence[:root]
    plain = all(t.head == root and t.dep in {"nsubj", "aux", "cc", "discourse"} for t in before)
    if not plain or not any(t.text.lower() in _MODALS for t in before):
        return sentence
    rest = [replace(t, head=t.head - root) for t in sentence[root:]]
    if any(t.head < 0 for t in rest):
        return sentence
    rest[0] = replace(rest[0], morph="Mood=Imp|Person=2|VerbForm=Fin")
    return tuple(rest)


def _heads(words: list[Token], at: int) -> bool:
    return any(token.head == at for i, token in enumerate(words) if i != at)


def _coded(token: Token, random: Random) -> Token:
    if token.tag not in {"NN", "NNP", "NNS"} or random.random() > 0.25:
        return token
    one, two = random.choice(_STEMS), random.choice(_STEMS)
    end, other = random.choice(_ENDS), random.choice(_ENDS)
    forms = (
        f"{one}{end}", f"src/{one}/{two}{end}", f"{one}_{two}", f"{one}{two.title()}",
        f"{one.title()}{two.title()}", f"get_{one}()", f"@{one}{other}", f"/{one}/{two}",
        f"`{one}_{two}`", f"@{one}/", f"--{one}-{two}", f"{one.upper()}_{two.upper()}",
    )  # fmt: skip
    return replace(token, text=random.choice(forms), pos="PROPN", tag="NNP", morph="Number=Sing")


def _misspelt(token: Token, random: Random) -> Token:
    lower = token.text.lower()
    if lower in _SPELT and random.random() < 0.35:
        return replace(token, text=random.choice(_SPELT[lower]))
    if len(lower) > 4 and lower.isalpha() and random.random() < 0.12:
        at = random.randrange(1, len(lower) - 1)
        swapped = token.text[:at] + token.text[at + 1] + token.text[at] + token.text[at + 2 :]
        return replace(token, text=random.choice((swapped, token.text[:at] + token.text[at + 1 :])))
    return token


def documents(sentences: list[Sentence], vocab: Vocab, random: Random | None) -> Iterator[Doc]:
    """Documents of one to three sentences in order; with ``random`` bent copies among them."""
    at = 0
    while at < len(sentences):
        size = random.randint(1, DOC_SENTENCES) if random else 1
        some = sentences[at : at + size]
        at += size
        yield _document(some, vocab)
        if random and random.random() < BENT:
            yield _document([bent(sentence, random) for sentence in some], vocab)


def _document(sentences: list[Sentence], vocab: Vocab) -> Doc:
    tokens: list[Token] = []
    for sentence in sentences:
        first = len(tokens)
        tokens += [replace(token, head=token.head + first) for token in sentence]
    return Doc(
        vocab,
        words=[token.text for token in tokens],
        spaces=[token.space for token in tokens],
        pos=[token.pos for token in tokens],
        tags=[token.tag for token in tokens],
        morphs=[token.morph for token in tokens],
        heads=[token.head for token in tokens],
        deps=[token.dep for token in tokens],
    )
