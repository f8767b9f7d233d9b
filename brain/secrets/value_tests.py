"""Tests of a value: is it a secret, or a word, a placeholder, a reference, a name in code?

A wrong yes costs a word of the context, a wrong no stores a secret; yet "the password is wrong"
is what people say to a coding assistant all day. So a value after a sign or in quotes counts
unless it is a known word, a placeholder, a reference or a name in code; in prose it counts when
it mixes letters with digits or signs, or when nothing is known that a password could be called so.
"""

import binascii
import math
import re
from base64 import b64decode
from collections import Counter
from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import yaml

DATA: Final[dict[str, Any]] = yaml.load(
    Path(__file__).with_name("rules.yaml").read_text(encoding="utf-8"),
    Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader),
)
"""The file of rules."""

_NO_VALUES, _PREDICATES, LOGINS = (
    frozenset(DATA["values"][name].split()) for name in ("words", "predicates", "logins")
)
_FORM: Final = {
    name: re.compile(source, re.IGNORECASE | re.VERBOSE) for name, source in DATA["forms"].items()
}
_PLACEHOLDER: Final = re.compile(DATA["values"]["placeholder"].replace("\n", ""), re.IGNORECASE)
_TOKEN_PLACEHOLDER: Final = re.compile(DATA["values"]["token_placeholder"], re.IGNORECASE)
_ADDRESS: Final = re.compile(DATA["values"]["address"], re.IGNORECASE)
_PREDICATE_ENDING: Final = re.compile(DATA["values"]["predicate_endings"])
_SIGNS: Final = re.compile(r"[!@#$%^&*+=~?]")
_CLOSING: Final = ".,;:!?)"
_ACRONYM: Final = re.compile(r"[A-Z]{2,}-[^\W\d_]+$")
"""A word of a label: "API-Schlüssel"."""
_PIECE: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_WORDLIKE: Final = re.compile(r"(?i)(?!.*[bcdfghjklmnpqrstvwxz]{5})(?=.*[aeiouy]).{3,}")
_IDEOGRAPHIC: Final = re.compile(r"[\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7a3]")
_PLAIN_RUN: Final = re.compile(r"[!-~]{5}")
_RANDOM_RUN: Final = re.compile(r"(?i)[a-z0-9]*(?:[a-z]\d|\d[a-z])[a-z0-9]*(?<=\w{8})")
"""Eight letters and digits without a break, both among them."""


def is_value(text: str) -> bool:
    """Tell whether what was assigned to a secret's name is a value, not a word or reference."""
    text = text.strip()
    if len(text) < 3 or text.rstrip(_CLOSING).lower() in _NO_VALUES:
        return False
    if _PLACEHOLDER.search(text) or (len(text) < 7 and text[-1] in "-_"):
        return False
    return _FORM["reference"].match(text) is None and any(char.isalnum() for char in text)


def is_quoted(text: str) -> bool:
    """Tell whether a value in quotes counts: not the label of a form or a message."""
    label = " " in text or text.isalpha() or _ACRONYM.match(text)
    if (label and _FORM["label"].fullmatch(text)) or _FORM["parameter"].fullmatch(text):
        return False
    return is_value(text)


def is_bare(text: str) -> bool:
    """As `is_value`, for a value without quotes: it may also be a name in code."""
    text = text.rstrip(_CLOSING)
    return is_value(text) and (text.isdigit() or not _is_name(text))


def is_strong(text: str) -> bool:
    """Tell whether a bare value is not a word, name, number, file or algorithm.

    >>> [is_strong(text) for text in ("hunter2", "Yzll+cgTAOG", "required", "src/auth2.py")]
    [True, True, False, False]
    """
    text = text.strip().rstrip(_CLOSING)
    if len(text) < 5 or text.isdigit() or not any(char.isalpha() for char in text):
        return False
    if _IDEOGRAPHIC.search(text) and not _PLAIN_RUN.search(text):
        return False  # a sentence, written without blanks
    digits = any(char.isdigit() for char in text)
    if not digits and _SIGNS.search(text) is None and not _is_odd(text):
        return False
    return is_value(text) and not _is_name(text)


def stands_for_token(text: str) -> bool:
    """Tell whether a text with the form of a token only shows the form.

    >>> [stands_for_token(text) for text in ("ghp_XXXXXXXXXXXXXXXXXXXX", "xoxb-your-bot-token")]
    [True, True]
    """
    return _TOKEN_PLACEHOLDER.search(text) is not None


def is_alone(text: str) -> bool:
    """Tell whether the only word behind "password:" on its line is one."""
    word = text.rstrip(_CLOSING).lower()
    if word.isalpha() and _FORM["label"].fullmatch(word):
        return False
    return len(word) >= 4 and not text.isdigit() and _is_free(word) and is_bare(text)


def is_said(text: str) -> bool:
    """Tell whether a word behind "the password is" names it: it says nothing about passwords.

    >>> [is_said(text) for text in ("sunshine", "wrong", "encrypted", "userPassword")]
    [True, False, False, False]
    """
    word = text.lower()
    named = text[:1].isupper() or _PREDICATE_ENDING.search(word.split("-")[-1]) is None
    return named and _is_free(word) and is_bare(text)


def _is_given(text: str) -> bool:
    """Tell whether the argument of a command that takes a password is one."""
    return not text.startswith("-") and is_value(text) and not _ADDRESS.fullmatch(text)


def _is_short_key(text: str) -> bool:
    """Tell whether the value of a key in code is one: letters and digits well mixed, no name."""
    text = text.rstrip(_CLOSING)
    mixed = len(text) >= 8 and min(_count(str.isdigit, text), _count(str.isalpha, text)) >= 2
    return mixed and is_strong(text) and _RANDOM_RUN.search(text) is not None


def _is_drawn(text: str) -> bool:
    """Tell whether a word that nothing names is a password: eight signs, well mixed."""
    kinds = sum(any(map(kind, text)) for kind in (str.islower, str.isupper, str.isdigit))
    odd = _SIGNS.search(text) is not None or sum(map(str.isupper, text)) > 1
    mixed = (kinds == 3 and odd) or (kinds > 1 and _is_odd(text))
    return len(text) >= 8 and mixed and "/" not in text and is_strong(text)


def _is_digits(text: str) -> bool:
    digits = text.strip().rstrip(_CLOSING)
    return digits.isdigit() and 4 <= len(digits) <= 16


def _is_basic_pair(text: str) -> bool:
    """Tell whether a value is the base64 form of "user:password"."""
    try:
        return b":" in b64decode(text + "=" * (-len(text) % 4))
    except binascii.Error:
        return False


_RANDOM_BITS: Final = 4.5
"""Shannon entropy a sign, from which base64 of 32 signs is hardly ever a name."""
_WORDY: Final = 0.3
"""Share of signs in runs of four small letters: 0.08 on average in random base64, 0.45 and
more in the names of the tests."""


def _is_random(text: str) -> bool:
    """Tell whether a long run of signs is random, and no path, branch or long name.

    Random text has a stretch of 16 signs without '/', '_' or '-' that mixes lower case,
    upper case and digits; and hardly four small letters in a row, of which names are made.
    """
    parts = (part for part in re.split(r"[/_=+-]", text) if len(part) >= 16)
    if not any(map(_is_mixed, parts)):
        return False
    wordy = sum(map(len, re.findall(r"[a-z]{4,}", text))) / len(text)
    shares = [count / len(text) for count in Counter(text).values()]
    return wordy < _WORDY and -sum(one * math.log2(one) for one in shares) > _RANDOM_BITS


def _count(kind: Callable[[str], bool], text: str) -> int:
    return sum(map(kind, text))


def _is_mixed(text: str) -> bool:
    cases = any(map(str.islower, text)) and any(map(str.isupper, text))
    return cases and _count(str.isdigit, text) >= 3


def _is_odd(text: str) -> bool:
    """Tell whether letters are random: less than half of them are in what can be spoken."""
    pieces = _PIECE.findall(text)
    letters = sum(map(len, pieces))
    if letters < 6 or not text.isascii():
        return False
    spoken = sum(len(piece) for piece in pieces if _WORDLIKE.fullmatch(piece))
    return spoken < letters / 2


def _is_free(word: str) -> bool:
    return word not in _PREDICATES and word not in _NO_VALUES


def _is_name(text: str) -> bool:
    chosen = _FORM["chosen"].search(_FORM["mix"].sub("", text))
    return bool(_FORM["technical"].fullmatch(text) or (_FORM["stem"].search(text) and not chosen))


TESTS: Final[Mapping[str, Callable[[str], bool]]] = {
    name: lru_cache(4096)(test)
    for name, test in {
        "anything": lambda _text: True,
        "value": is_quoted,
        "bare": is_bare,
        "strong": is_strong,
        "told": lambda text: is_strong(text) or _is_digits(text),
        "given": _is_given,
        "line": is_alone,
        "said": is_said,
        "told_below": lambda text: is_alone(text) and (is_strong(text) or is_said(text)),
        "pair": lambda text: _is_given(text) and is_alone(text) and text.lower() not in LOGINS,
        "drawn": _is_drawn,
        "digits": _is_digits,
        # digits, or a word that has some
        "code": lambda text: _count(str.isdigit, text) >= (2 if len(text) >= 8 else 4),
        "key": _is_short_key,
        "long": lambda text: (is_value if len(text) >= 20 else is_strong)(text) and len(text) > 5,
        "basic": _is_basic_pair,
        "parameter": lambda text: is_strong(text) and len(text) > 7,
        "cookie": is_value,
        "address": lambda text: is_value(text) and _ADDRESS.fullmatch(text) is None,
        "random": _is_random,
    }.items()
}
"""What `if` names in the file."""
