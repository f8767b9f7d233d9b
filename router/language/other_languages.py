"""Whether a message is in another language than English: KDS reads no other.

A script that English is not written in says so by itself; in Latin letters the function words of
other languages do (`english/other_languages.yaml`), where they outnumber the English ones. Code,
names of files and what stands in quotes say nothing: "rename `Einstellungen`" is English.
"""

import re
import unicodedata
from functools import lru_cache
from typing import Final

from kds.router.english import table

READ_CHARS: Final = 1000
"""Characters that are read: a language shows in its first sentences, and what is pasted comes
behind them."""

SURE: Final = 2
"""Different words of one language that are enough, when they outnumber the English ones and one has
three letters (two are as often the code of a language, "de and en"). None of 68,000 English
messages has them: real chats, task dialogues, questions, web text."""

SHORT: Final = 3
"""A doubted message of so few words is told by one of them: "danke", "weiter so"."""

TELLING: Final = 4
"""Letters of a word that tells so alone: shorter ones are names, or slang ("Kim", "yo", "um")."""

SYLLABLE: Final = 4
"""Latin letters that one sign of a script of syllables or words stands for, roughly."""

_QUOTED: Final = re.compile(r"```.*?(?:```|\Z)|`[^`\n]*`|\"[^\"\n]*\"|“[^”\n]*”", re.DOTALL)
_CODE: Final = re.compile(r"[\\/@#_(={}<>\d]|\w\.\w")
_WORD: Final = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)*")
_ENGLISH: Final = frozenset[str]().union(*table("closed_class").values())
_SYLLABIC: Final = ("CJK", "HIRAGANA", "KATAKANA", "HANGUL")


@lru_cache(maxsize=256)  # each turn asks again about the ten before it
def is_foreign(message: str, *, doubted: bool = False) -> bool:
    """Tell whether a message is plainly in another language than English.

    ``doubted``: nobody knows what the message wants; then less is enough.

    >>> is_foreign("Mach es lila"), is_foreign("把它改成紫色"), is_foreign("Make it purple")
    (True, True, False)
    >>> is_foreign("danke"), is_foreign("danke", doubted=True)
    (False, True)
    """
    tokens = _QUOTED.sub(" ", message[:READ_CHARS]).split()
    plain = " ".join(one for one in tokens if not _CODE.search(one.strip(".,:;!?()")))
    weights = [_weight(sign) for sign in plain if sign.isalpha()]
    if sum(weights) > max(weights.count(0), 1):
        return True
    words: list[str] = []
    for word in _WORD.findall(plain.lower().replace("’", "'")):
        english = word.partition("'")[0] in _ENGLISH  # "don't"; but "l'erreur" is two words
        words += [word] if english else word.split("'")
    brief = len(words) <= SHORT or not "".join(words).isascii()
    for language in table("other_languages").values():
        own = language.intersection(words) - _ENGLISH
        longest = max(map(len, own), default=0)
        english_words = sum(word in _ENGLISH and word not in language for word in words)
        if len(own) >= SURE and len(own) > english_words and longest > 2:
            return True
        if doubted and brief and not english_words and longest >= TELLING:
            return True
    return False


def _weight(letter: str) -> int:
    """How many Latin letters one of another script counts for; 0 for a Latin letter."""
    name = "LATIN" if letter.isascii() else unicodedata.name(letter, "LATIN")
    if "LATIN" in name or unicodedata.category(letter) == "Lm":
        return 0
    return SYLLABLE if name.startswith(_SYLLABIC) else 1
