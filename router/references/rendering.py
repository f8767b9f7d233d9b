"""How an antecedent is written into a message: article, possessive, number, capitals."""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from kds.router.discourse.mentions import Mention
from kds.router.language import closed_class as cc
from kds.router.language.lexicon import readings

_KEPT_POSSESSIVES: Final = frozenset({"my", "our", "your"})
_QUANTIFIERS: Final = frozenset({"both", "all", "each", "either", "neither"})
_COUNTABLE_LABELS: Final = frozenset({"UI", "SCREEN", "CODE", "DOCUMENT"})


def definite(mention: Mention) -> str:
    """The phrase as known to both sides: "the FAB button", "dark mode", "ESLint and Prettier".

    Bare singulars stay bare when they name an activity or a feature ("dark mode",
    "caching") and get the article when they are countable things written tersely.
    """
    if mention.parts:
        if _shares_noun(mention.parts):
            return f"the {mention.text}"
        *others, last = [definite(part) for part in mention.parts]
        return f"{', '.join(others)} {mention.conjunction} {last}"
    article = _article(mention)
    named = bare(mention)
    text = f"{named} called {mention.name}" if mention.called else named
    return f"{article} {text}" if article else text


def _shares_noun(parts: Sequence[Mention]) -> bool:
    """ "plus and minus buttons", "two public and two private subnets": the last noun is of all."""
    *others, last = parts
    words = [bare(replace(part, number="pl")) for part in others]
    single = not any(
        part.determiner or " " in word for part, word in zip(others, words, strict=True)
    )
    quality = any(readings(word).adjective or word in cc.PREPOSITIONS for word in words)
    return (
        single and quality and last.number == "pl" and bool(last.modifiers) and not last.determiner
    )


def _article(mention: Mention) -> str:
    if mention.determiner in _KEPT_POSSESSIVES:
        return mention.determiner
    if mention.text.lower().startswith(("the ", "my ", "our ", "your ")):
        return ""
    if mention.mood == "question" and mention.topic and mention.determiner in {"a", "an"}:
        return mention.determiner
    named = bool(mention.kind) or (mention.head_text[:1].isupper() and not mention.modifiers)
    if mention.determiner and not (mention.determiner in _QUANTIFIERS and named):
        return "the"
    if named:
        return ""
    if bare(mention) != mention.text:
        return "the"
    if mention.number == "pl":
        return "" if mention.mood == "question" or mention.topic else "the"
    return "the" if mention.label in _COUNTABLE_LABELS else ""


def possessive(text: str) -> str:
    """
    >>> possessive("the YAML parser"), possessive("the tests")
    ("the YAML parser's", "the tests'")
    """
    return text + ("'" if text.endswith("s") and not text.endswith("ss") else "'s")


def in_place_of(original: str, text: str) -> str:
    """Give the replacement the capital that the replaced word had at the sentence start.

    >>> in_place_of("It", "the parser"), in_place_of("it", "the parser")
    ('The parser', 'the parser')
    >>> in_place_of("It", "src/a.py"), in_place_of("THIS", "the parser")
    ('src/a.py', 'the parser')
    """
    stressed = len(original) > 1 and original.isupper()  # or all of the message is in capitals
    if stressed or not original[:1].isupper():
        return text
    known = original != "I" and text.startswith(("the ", "my ", "our ", "your ", "both "))
    plain = text[:1].islower() and text.replace(" ", "").isalpha()
    return text[0].upper() + text[1:] if known or plain else text


_DOUBLED: Final = re.compile(
    r"\b(?:a|an|the|my|our|your)\s+(?:a|an|the|my|our|your|this|that|it)\b"
    r"|\b([a-z]+)\s+\1\b|\ba\s+(?!eu|one\b|once\b)[aeio][a-z]+\b",
    re.IGNORECASE,
)
_INVISIBLE: Final = frozenset({"Cc", "Cf", "Co", "Cs"})


def is_well_formed(message: str, written: str) -> bool:
    """Whether ``written`` has no fault that ``message`` has not: a doubled word or article, "a"
    before a vowel, or a character that nobody sees.

    >>> is_well_formed("Same for the menu", "Make the the menu wide")
    False
    >>> is_well_formed("Run it", "Run \\ufeffid"), is_well_formed("Run it", "Run the script")
    (False, True)
    """
    return _faults(written) <= _faults(message)


def _faults(text: str) -> int:
    hidden = sum(c not in "\n\t\r" and unicodedata.category(c) in _INVISIBLE for c in text)
    return hidden + sum(1 for _ in _DOUBLED.finditer(text))


def bare(mention: Mention) -> str:
    """The phrase for `context_ref`: no article in front, and without its number: once "two
    progress bars" are there, they are "the progress bars"."""
    if mention.parts:
        return bare_text(definite(mention))
    first, _, rest = mention.text.partition(" ")
    counted = mention.number == "pl" and (first.isdigit() or first.lower() in cc.NUMBERS)
    return rest if counted and rest else mention.text


def bare_text(text: str) -> str:
    """``text`` without a leading article.

    >>> bare_text("the save button and the cancel button")
    'save button and the cancel button'
    """
    first, _, rest = text.partition(" ")
    return rest if first.lower() in {"the", "a", "an"} and rest else text
