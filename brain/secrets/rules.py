"""The rules of `rules.yaml`, compiled, and the tests of the values that they find.

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
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any, Final

import yaml

_FILE: Final = Path(__file__).with_name("rules.yaml")
_DATA: Final[dict[str, Any]] = yaml.load(
    _FILE.read_text(encoding="utf-8"), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)
)
_NAMED: Final = re.compile(r"\{([a-z_]+)\}")
_BEGINS_NAMED: Final = re.compile(r"(?:\\b|\(\?<[=!][^()]*\))*(?:\(\?:)?\{words\}")
"""A regex of the file that may only begin where the name of a secret does."""

LONG_RUN: Final = re.compile(r"[\w+/=.~-]{16}")
"""What every token holds: an unbroken run."""


@dataclass(frozen=True)
class SecretRule:
    """A regex whose group `value` (or all of it) is a secret of ``kind`` if ``accept`` says so.

    ``run``: the value is one unbroken token, to be taken to its end. ``needs``: every finding has
    one string of each tuple in the text around it, as `folded` writes it. ``name``: the regex of
    the name that every finding begins with; empty where it may begin with anything.
    """

    kind: str
    source: str
    accept: Callable[[str], bool]
    run: bool = False
    needs: tuple[tuple[str, ...], ...] = ()
    case: bool = False
    name: str = ""

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """The regex, compiled when a text first has what it needs."""
        return re.compile(self.source, re.NOFLAG if self.case else re.IGNORECASE)

    @cached_property
    def group(self) -> str | int:
        """The group that is the secret."""
        return "value" if "(?P<value>" in self.source else 0


@cache
def secret_rules() -> tuple[SecretRule, ...]:
    """The rules of the file, repeated for each kind and each way to write its name."""
    return tuple(rule for entry in _DATA["rules"] for rule in _rules_of(entry))


def findings(text: str) -> Iterator[tuple[SecretRule, re.Match[str]]]:
    """Find what the rules accept in ``text``, a part of a line."""
    low = folded(text)
    starts: dict[str, list[int]] = {}
    for needs, rules in _by_first_need().items():
        if not (_has_one(low, needs) if needs else LONG_RUN.search(text)):
            continue
        for rule in rules:
            if len(rule.needs) < 2 or _has_one(low, rule.needs[1]):
                for found in _matches(rule, text, starts):
                    if rule.accept(found[rule.group]):
                        yield rule, found


def _has_one(text: str, needs: tuple[str, ...]) -> bool:
    for need in needs:  # noqa: SIM110 (three times as fast as any(), on each line of all texts)
        if need in text:
            return True
    return False


def _matches(rule: SecretRule, text: str, starts: dict[str, list[int]]) -> Iterable[re.Match[str]]:
    if not rule.name:
        return rule.pattern.finditer(text)
    if rule.name not in starts:
        starts[rule.name] = [found.start() for found in _name_pattern(rule.name).finditer(text)]
    return [found for at in starts[rule.name] if (found := rule.pattern.match(text, at))]


@cache
def _by_first_need() -> Mapping[tuple[str, ...], Sequence[SecretRule]]:
    grouped: dict[tuple[str, ...], list[SecretRule]] = {}
    for rule in secret_rules():
        grouped.setdefault(rule.needs[0] if rule.needs else (), []).append(rule)
    return grouped


@cache
def _name_pattern(name: str) -> re.Pattern[str]:
    return re.compile(name, re.IGNORECASE)


_PLAIN: Final = {**dict.fromkeys(map(ord, filter(str.isspace, map(chr, range(0x3001)))), " "),
                 0x131: "i", 0x307: ""}  # fmt: skip


def folded(text: str) -> str:
    """Return ``text`` so that a string is in it wherever a regex that ignores case finds it.

    Any white space is a space there.
    """
    return text.casefold().translate(_PLAIN)


@cache
def token_pattern() -> re.Pattern[str]:
    """What is known by its form alone, as one regex; `token_kind` names what it found."""
    kinds = (f"(?P<k{at}>{'|'.join(forms)})" for at, forms in enumerate(_DATA["tokens"].values()))
    return re.compile(rf"(?<![A-Za-z0-9])(?:{'|'.join(kinds)})")


def token_kind(found: re.Match[str]) -> str:
    """The kind of what `token_pattern` found."""
    return tuple[str, ...](_DATA["tokens"])[int(str(found.lastgroup)[1:])]


def secret_kinds() -> frozenset[str]:
    """The kinds that a rule names, and those that older rules have written."""
    named = {kind for entry in _DATA["rules"] for kind in _listed(entry["kind"])}
    return frozenset({*named, *_DATA["tokens"], *_DATA["former_kinds"]})


def _rules_of(entry: Mapping[str, Any]) -> Iterator[SecretRule]:
    for kind in _listed(entry["kind"]):
        accept = _accept(entry.get("if", "anything"), kind)
        for one in _listed(entry["find"]):
            find, needs = (one["find"], one["needs"]) if isinstance(one, dict) else (one, None)
            own = tuple(needs or entry.get("needs", ()))
            for name in _DATA["words"][kind] if "{words}" in find else [{}]:
                words = f"(?:{name['find']})" if name else ""
                yield SecretRule(
                    kind,
                    _expanded(find, {**_DATA["parts"], "words": words, **_NAMES}),
                    accept,
                    entry.get("run", False),
                    tuple(each for each in (tuple(name.get("needs", ())), own) if each),
                    entry.get("case", False),
                    words if _BEGINS_NAMED.match(find) else "",
                )


def _expanded(source: str, parts: Mapping[str, str]) -> str:
    while (longer := _NAMED.sub(lambda found: str(parts[found[1]]), source)) != source:
        source = longer
    return source


def _listed(value: object) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _accept(name: str, kind: str) -> Callable[[str], bool]:
    accept = _TESTS[name]
    if kind == "password":
        return accept
    # A short number behind "token" is an id or a count.
    return lambda text: accept(text) and not (text.isdigit() and len(text) < _LONG_NUMBER)


_LONG_NUMBER: Final = 12
_VALUES: Final[Mapping[str, str]] = _DATA["values"]


def _words(name: str) -> frozenset[str]:
    return frozenset(_VALUES[name].split())


_NO_VALUES: Final = _words("words")
_PREDICATES: Final = _words("predicates")
_LOGINS: Final = _words("logins")
_NAMES: Final = {"logins": "|".join(sorted(_LOGINS)), "other_keys": _DATA["other_keys"]}
_PREDICATE_ENDING: Final = re.compile(_VALUES["predicate_endings"])
_PLACEHOLDER: Final = re.compile(_VALUES["placeholder"].replace(" |", "|"), re.IGNORECASE)
_ADDRESS_PLACEHOLDER: Final = re.compile(_VALUES["address"], re.IGNORECASE)

_REFERENCE: Final = re.compile(
    r"""\$\{?[\w.]+(?:\}|$|->|\[|::) | \$\(.*\)?$ | \$\{.*\}?$ | <.*>?$ | \{.*\}?$
      | [\w.$>-]+\[$                                  # an item: what is in brackets is in quotes
      | %\(?\w+\)?[sd]?$ | %\w+%$ | \[.*\]?$ | ![A-Za-z]+$
      | &?[\w.:>-]+\(.*$                             # a call
      | (?:self|this|os|process|env|config|settings|request|req|props|state|data|args|var|local
          |params|options|opts|ctx|form|body|event|secrets|credentials|import\.meta|steps|inputs
          |module|input|values|cfg|conf|each|item|user)\.\w.*
      | [A-Za-z_]\w*(?:\.[A-Za-z_]\w*){2,}(?:\[.*)?$
      | (?:\*|\.|x|X|-|_|\#|\u2022)+$                 # already masked
    """,
    re.VERBOSE,
)

_STEM_INSIDE: Final = re.compile(
    r"pass(?:w|phrase|code)|pwd|secret|token|api_?key|credential", re.IGNORECASE
)
_KNOWN_MIX: Final = re.compile(
    r"o?auth[02]|s3|ec2|k8s|2fa|x509|(?:http|ipv|argon|pbkdf|base|utf|sha|md|aes|rsa|web)\d+",
    re.IGNORECASE,
)
_CHOSEN: Final = re.compile(r"\d{3}|(?i:[a-z]\d+[a-z])|(?<=\w)[@#$%^!]\w")
"""What a password has and a name in code seldom: `secret123`, `p4ssword`, not `userToken2`."""

_TECHNICAL: Final = re.compile(
    r"""(?:sha|md|aes|rsa|ed|hs|rs|es|ps|utf|base|oauth|http|ipv|argon|pbkdf|x|ecdsa|web|vue
          |python|node)-?\d+(?:i|id|d)?(?:[-./_]\w+)*  # sha256, argon2id, base64-encoded
      | id_(?:rsa|dsa|ecdsa|ed25519)\w*
      | v\d+(?:(?:alpha|beta|rc)\d*)?(?:[._-]\w+)*     # v2.1, v1beta2
      | \d+(?:\.\d+)*(?:ms|s|m|h|d|px|em|rem|k|[kmg]b|x|st|nd|rd|th|[ -]?bits?)?
      | [\w.\\/-]+\.(?:[chmr]|[jt]sx?|pyi?|json|ya?ml|toml|ini|cfg|conf|env|md|txt|html?|s?css
          |go|rs|java|kt|rb|php|cs|cpp|sh|sql|xml|lock|log|pem|key|csv|vue|swift)(?::\d+)*
      | [a-z-]+\{[a-z-]+:.*                             # a rule of a style sheet
      | [a-z]+://.*                                    # an address has a rule of its own
      | (?:~|\.{1,2})?/[\w./-]+                        # a path
    """,
    re.VERBOSE | re.IGNORECASE,
)
_RANDOM_RUN: Final = re.compile(r"[a-z0-9]*(?:[a-z]\d|\d[a-z])[a-z0-9]*(?<=\w{8})", re.IGNORECASE)
"""Eight letters and digits without a break, both among them."""

_SIGNS: Final = re.compile(r"[!@#$%^&*+=~?]")
_CLOSING: Final = ".,;:!?)"
_PIECE: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_WORDLIKE: Final = re.compile(r"(?i)(?!.*[bcdfghjklmnpqrstvwxz]{5})(?=.*[aeiouy]).{3,}")


def is_value(text: str) -> bool:
    """Tell whether what was assigned to a secret's name is a value, not a word or reference."""
    text = text.strip()
    if len(text) < 3 or text.rstrip(_CLOSING).lower() in _NO_VALUES:
        return False
    if _PLACEHOLDER.search(text) or (len(text) < 7 and text[-1] in "-_"):
        return False
    return _REFERENCE.match(text) is None and any(char.isalnum() for char in text)


def is_bare_value(text: str) -> bool:
    """As `is_value`, for a value without quotes: it may also be a name in code."""
    text = text.rstrip(_CLOSING)
    return is_value(text) and (text.isdigit() or not _is_name(text))


def is_strong(text: str) -> bool:
    """Tell whether a bare value is no word, name, number, file or algorithm.

    >>> [is_strong(text) for text in ("hunter2", "Yzll+cgTAOG", "required", "src/auth2.py")]
    [True, True, False, False]
    """
    text = text.strip().rstrip(_CLOSING)
    if len(text) < 5 or not is_value(text) or _is_name(text):
        return False
    if not any(char.isalpha() for char in text):
        return False
    digits = any(char.isdigit() for char in text)
    return digits or _SIGNS.search(text) is not None or _is_odd(text)


def is_given(text: str) -> bool:
    """Tell whether the argument of a command that takes a password is one."""
    return not text.startswith("-") and is_value(text) and not _ADDRESS_PLACEHOLDER.fullmatch(text)


def is_alone(text: str) -> bool:
    """Tell whether the only word behind "password:" on its line is one."""
    word = text.rstrip(_CLOSING).lower()
    return len(word) >= 4 and not text.isdigit() and is_bare_value(text) and _is_free(word)


def is_said(text: str) -> bool:
    """Tell whether a word behind "the password is" names it: it says nothing about passwords.

    >>> [is_said(text) for text in ("sunshine", "wrong", "encrypted", "userPassword")]
    [True, False, False, False]
    """
    word = text.lower()
    named = text[:1].isupper() or _PREDICATE_ENDING.search(word.split("-")[-1]) is None
    return is_bare_value(text) and _is_free(word) and named


def is_pair(text: str) -> bool:
    """Tell whether the second of two words to sign in with is a password."""
    return is_given(text) and len(text) >= 4 and is_alone(text) and text.lower() not in _LOGINS


def is_short_key(text: str) -> bool:
    """Tell whether the value of a key in code is one: letters and digits well mixed, no name.

    >>> is_short_key("abcd9911efgh2233"), is_short_key("user_v2"), is_short_key("created_at")
    (True, False, False)
    """
    text = text.rstrip(_CLOSING)
    digits = sum(char.isdigit() for char in text)
    letters = sum(char.isalpha() for char in text)
    mixed = len(text) >= 8 and digits >= 2 and letters >= 2
    return mixed and is_strong(text) and _RANDOM_RUN.search(text) is not None


def is_drawn(text: str) -> bool:
    """Tell whether a word that nothing names is a password: eight signs, well mixed.

    >>> [is_drawn(text) for text in ("S+0CovFF4WR", "Team2025", "team/app2.git")]
    [True, False, False]
    """
    signs = [any(map(kind, text)) for kind in (str.islower, str.isupper, str.isdigit)]
    odd = _SIGNS.search(text) is not None or sum(map(str.isupper, text)) > 1
    return len(text) >= 8 and all(signs) and odd and "/" not in text and is_strong(text)


def _is_digits(text: str) -> bool:
    digits = text.strip().rstrip(_CLOSING)
    return digits.isdigit() and 4 <= len(digits) <= 16


def _is_long(text: str) -> bool:
    return is_value(text) and (len(text) >= 20 or (len(text) >= 6 and is_strong(text)))


def _is_basic_pair(text: str) -> bool:
    """Tell whether a value is the base64 form of "user:password"."""
    try:
        return b":" in b64decode(text + "=" * (-len(text) % 4))
    except binascii.Error:
        return False


def _is_address_password(text: str) -> bool:
    return is_value(text) and _ADDRESS_PLACEHOLDER.fullmatch(text) is None


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
    if not any(len(part) >= 16 and _is_mixed(part) for part in re.split(r"[/_=+-]", text)):
        return False
    wordy = sum(map(len, re.findall(r"[a-z]{4,}", text))) / len(text)
    shares = [count / len(text) for count in Counter(text).values()]
    return wordy < _WORDY and -sum(one * math.log2(one) for one in shares) > _RANDOM_BITS


def _is_mixed(text: str) -> bool:
    digits = sum(char.isdigit() for char in text)
    return digits >= 3 and any(map(str.islower, text)) and any(map(str.isupper, text))


def _is_odd(text: str) -> bool:
    """Tell whether letters are no words: less than half of them stand in what can be spoken."""
    pieces = _PIECE.findall(text)
    letters = sum(map(len, pieces))
    if letters < 6 or not text.isascii():
        return False
    spoken = sum(len(piece) for piece in pieces if _WORDLIKE.fullmatch(piece))
    return spoken < letters / 2


def _is_free(word: str) -> bool:
    return word not in _PREDICATES and word not in _NO_VALUES


def _is_name(text: str) -> bool:
    if _TECHNICAL.fullmatch(text):
        return True
    return bool(_STEM_INSIDE.search(text)) and not _CHOSEN.search(_KNOWN_MIX.sub("", text))


_TESTS: Final[Mapping[str, Callable[[str], bool]]] = {
    "anything": lambda _text: True,
    "value": is_value,
    "bare": is_bare_value,
    "strong": is_strong,
    "given": is_given,
    "line": is_alone,
    "said": is_said,
    "pair": is_pair,
    "drawn": is_drawn,
    "digits": _is_digits,
    "pin": _is_digits,
    "key": is_short_key,
    "long": _is_long,
    "basic": _is_basic_pair,
    "address": _is_address_password,
    "random": _is_random,
}
"""What `if` names in the file."""
