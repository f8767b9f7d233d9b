"""Whether a message is in another language than English: KDS reads no other.

A script that English is not written in says so by itself; in Latin letters the function words of
other languages do (`english/other_languages.yaml`), where they outnumber the English ones. Code,
names of files and what stands in quotes say nothing: "rename `Einstellungen`" is English.
"""

import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache
from typing import Final

from kds.router.english import table

READ_CHARS: Final = 1000
"""Characters that are read: a language shows in its first sentences, and what is pasted comes
behind them."""

SURE: Final = 2
"""Different words of one language that are enough, when they outnumber the English ones. None of
68,000 English messages has them: real chats, task dialogues, questions, web text."""

WORD: Final = 3
"""Letters of one of these words: two letters are as often the code of a language ("de and en")."""

SHORT: Final = 3
"""A doubted message of so few words is told by one of them: "danke", "weiter so"."""

TELLING: Final = 4
"""Letters of a word that tells so alone: shorter ones are names, or slang ("Kim", "yo", "um")."""

SYLLABLE: Final = 4
"""Latin letters that one sign of a script of syllables or words stands for, roughly."""

_QUOTED: Final = re.compile(r"```.*?(?:```|\Z)|`[^`\n]*`|\"[^\"\n]*\"|“[^”\n]*”", re.DOTALL)
_CODE: Final = re.compile(r"[\\/@#_(={}<>\d]|\w\.\w")
_WORD: Final = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
_PARTS: Final = re.compile(r"['’]")
_RUN: Final = re.compile(r"[!-~]+|[^\x00-\x7f]+")
_ENGLISH: Final = frozenset[str]().union(*table("closed_class").values())
_OTHERS: Final = tuple(table("other_languages").values())
_SYLLABIC: Final = ("CJK", "HIRAGANA", "KATAKANA", "HANGUL")


def is_foreign(message: str, *, doubted: bool = False) -> bool:
    """Tell whether a message is plainly in another language than English.

    ``doubted``: nobody knows what the message wants; then less is enough.

    >>> is_foreign("Mach es lila"), is_foreign("把它改成紫色"), is_foreign("Make it purple")
    (True, True, False)
    >>> is_foreign("danke"), is_foreign("danke", doubted=True)
    (False, True)
    """
    prose = _QUOTED.sub(" ", message[:READ_CHARS])
    if not prose.isascii() and _other_script(prose):
        return True
    words = [
        part
        for token in prose.split()
        if not _CODE.search(token.strip(".,:;!?()"))
        for word in _WORD.findall(token.lower())
        for part in _parts(word)
    ]
    tells = _tells_at_all if doubted else _tells
    return any(tells(words, language) for language in _OTHERS)


def _parts(word: str) -> list[str]:
    """A contraction of English as it is, one of another language in its parts: "l'erreur"."""
    plain = word.replace("’", "'")
    return [plain] if plain.partition("'")[0] in _ENGLISH else _PARTS.split(plain)


def _tells(words: list[str], language: frozenset[str]) -> bool:
    own = _own(words, language)
    return len(own) >= SURE and len(own) > _english(words, language) and _longest(own) >= WORD


def _tells_at_all(words: list[str], language: frozenset[str]) -> bool:
    if _tells(words, language):
        return True
    if _english(words, language) or _longest(_own(words, language)) < TELLING:
        return False
    return len(words) <= SHORT or not "".join(words).isascii()


def _own(words: list[str], language: frozenset[str]) -> set[str]:
    return {*words} & (language - _ENGLISH)


def _english(words: list[str], language: frozenset[str]) -> int:
    return sum(word in _ENGLISH and word not in language for word in words)


def _longest(words: set[str]) -> int:
    return max(map(len, words), default=0)


def _other_script(text: str) -> bool:
    """Whether most of what is written is in letters that are not Latin."""
    runs = (run for run in _RUN.findall(text) if not (run.isascii() and _CODE.search(run)))
    latin = others = 0
    for letter in _letters(runs):
        weight = _weight(letter)
        others += weight
        latin += not weight
    return others > max(latin, 1)


def _letters(runs: Iterable[str]) -> Iterable[str]:
    return (letter for run in runs for letter in run if letter.isalpha())


@lru_cache(maxsize=4096)
def _weight(letter: str) -> int:
    """How many Latin letters one of another script counts for; 0 for a Latin letter."""
    name = "LATIN" if letter.isascii() else unicodedata.name(letter, "LATIN")
    if "LATIN" in name or unicodedata.category(letter) == "Lm":
        return 0
    return SYLLABLE if name.startswith(_SYLLABIC) else 1
