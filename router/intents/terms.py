"""The terms that a text is made of: stems, neighbours, pairs, concepts and pieces of words."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Final

from kds.router.intents.concepts import concepts_by_stem

PIECE_SIZES: Final = range(2, 6)
"""Lengths of the pieces of words."""

MAX_PAIRED: Final = 32
"""Distinct words of a text that are paired: pairs grow with their square, meaning does not."""

_TOKEN: Final = re.compile(r"\w+|[?!]")
_SPACES: Final = re.compile(r"\s\s+")
_ENDINGS: Final = (("ies", "y"), ("sses", "ss"), ("ing", ""), ("ed", ""), ("es", "e"), ("s", ""))
_NUMBER: Final = "#"
_SHORT_FORMS: Final[Mapping[str, tuple[str, ...]]] = {
    short: tuple(full.split())
    for short, full in (
        line.split(" ", 1)
        for line in (
            "whats what is|wheres where is|whos who is|hows how is|thats that is|theres there is"
            "|im i am|ive i have|youre you are|youve you have|lets let us|arent are not"
            "|isnt is not|wasnt was not|dont do not|doesnt does not|didnt did not|cant can not"
            "|couldnt could not|shouldnt should not|wouldnt would not|wont will not"
            "|hasnt has not|havent have not|hadnt had not"
        ).split("|")
    )
}


def stem(word: str) -> str:
    """Take off the endings of English inflection; rough on purpose, and without a lexicon.

    >>> [stem(word) for word in ("tests", "testing", "stopped", "queries", "use", "less")]
    ['test', 'test', 'stop', 'query', 'use', 'less']
    """
    for ending, instead in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3 and not word.endswith("ss"):
            word = word[: -len(ending)] + instead
            break
    if len(word) > 4 and word.endswith("e"):
        word = word[:-1]
    if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "ls":
        word = word[:-1]
    return word


def stems(text: str) -> list[str]:
    """The stems of a text: short forms written out, and one sign for all numbers.

    >>> stems("What's on 2 screens?")
    ['what', 'is', 'on', '#', 'screen', '?']
    """
    plain = text.lower().replace("'", "").replace("\u2019", "")
    found: list[str] = []
    for word in _TOKEN.findall(plain):
        if word.isdigit():
            found.append(_NUMBER)
        elif (full := _SHORT_FORMS.get(word)) is not None:
            found += map(stem, full)
        else:
            found.append(stem(word))
    return found


def terms(text: str) -> dict[str, Mapping[str, int]]:
    """How often each term of each kind occurs in ``text``; the keys are those of KINDS.

    >>> found = terms("Run tests!")
    >>> list(found["words"]), list(found["neighbours"])
    (['run', 'test', '!'], ['<s> run', 'run test', 'test !', '! </s>'])
    >>> list(found["pairs"]), list(found["concepts"])
    (['! run', '! test', 'run test'], ['=exercise', '=try', '=test'])
    """
    words = stems(text)
    return {
        "words": Counter(words),
        "neighbours": Counter(_neighbours(words)),
        "pairs": dict.fromkeys(_pairs(words), 1),
        "concepts": dict.fromkeys(_concepts(words), 1),
        "pieces": Counter(pieces(text)),
    }


KINDS: Final = ("words", "neighbours", "pairs", "concepts", "pieces")


def pieces(text: str) -> list[str]:
    """Pieces of two to five characters, within words and with the space on either side.

    >>> pieces("ok")
    [' o', 'ok', 'k ', ' ok', 'ok ', ' ok ']
    """
    found = []
    for word in _SPACES.sub(" ", text.lower()).split():
        padded = f" {word} "
        for size in PIECE_SIZES:
            if size >= len(padded):
                found.append(padded)
                break
            found += [padded[at : at + size] for at in range(len(padded) - size + 1)]
    return found


def _neighbours(words: Sequence[str]) -> list[str]:
    """The ends of the text count as neighbours."""
    pairs = zip(["<s>", *words], [*words, "</s>"], strict=True)
    return [f"{left} {right}" for left, right in pairs]


def _pairs(words: Sequence[str]) -> list[str]:
    """Words that occur together, in any order and at any distance."""
    distinct = sorted(list(dict.fromkeys(words))[:MAX_PAIRED])
    return [f"{left} {right}" for left, right in combinations(distinct, 2)]


def _concepts(words: Sequence[str]) -> list[str]:
    table = concepts_by_stem(stem)
    return [concept for word in words for concept in table.get(word, ())]
