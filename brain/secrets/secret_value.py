"""Whether what stands where a secret would stand is one: the tests of the values.

A wrong yes costs a word of the context, a wrong no stores a secret; yet "the password is
wrong" is what people say to a coding assistant all day. So a value after a sign or in quotes
is believed unless it is a known word, a reference or a name in code, and a value in prose
only when it mixes letters with digits or signs.
"""

import binascii
import re
from base64 import b64decode
from typing import Final

_NO_VALUE: Final = re.compile(
    r"""a|add|all|an|and|any|array|bearer|basic|be|boolean|bool|bytes|bytea|change|char
      |correct|default|digest|disabled|email|empty|enabled|expired|false|field|file|from
      |hash|hashed|hidden|if|in|incorrect|int|integer|invalid|is|it|json|literal|login
      |mandatory|masked|missing|must|new|nil|no|none|not|null|number|object|of|on|optional
      |or|plain|plaintext|redacted|refresh|rejected|required|reset|revoked|see|short
      |static|str|string|strong|text|that|the|this|to|todo|token|true|type|undefined
      |unknown|unset|user|uuid|valid|value|varchar|visible|weak|when|with|wrong|xxx|xxxx
      |xxxxx|yes|your""",
    re.VERBOSE | re.IGNORECASE,
)
"""What stands after "password:" in schemas, validation messages and plain sentences."""

_REFERENCE: Final = re.compile(
    r"""\$\{?[\w.]+\}?$ | \$\(.*\)?$ | <.*>?$ | \{.*\}?$ | %\(?\w+\)?[sd]?$ | \[.*\]?$
      | [\w.]+\(.*$                                  # a call
      | (?:self|this|os|process|env|config|settings|request|req|props|state|data|args)\.\w.*
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
      | v\d+(?:(?:alpha|beta|rc)\d*)?(?:[._-]\w+)*     # v2.1, v1beta2
      | \d+(?:\.\d+)*(?:ms|s|m|h|d|px|em|rem|k|[kmg]b|x|st|nd|rd|th|[ -]?bits?)?
      | [\w.\\/-]+\.(?:[chmr]|[jt]sx?|pyi?|json|ya?ml|toml|ini|cfg|conf|env|md|txt|html?|s?css
          |go|rs|java|kt|rb|php|cs|cpp|sh|sql|xml|lock|log|pem|key|csv|vue|swift)(?::\d+)*
      | [a-z]+://.*                                    # an address has a rule of its own
    """,
    re.VERBOSE | re.IGNORECASE,
)

_RANDOM_RUN: Final = re.compile(r"[a-z0-9]*(?:[a-z]\d|\d[a-z])[a-z0-9]*(?<=\w{8})", re.IGNORECASE)
"""Eight letters and digits without a break, both among them."""

_SIGNS: Final = re.compile(r"[!@#$%^&*+=~?]")


def is_value(text: str) -> bool:
    """Tell whether what was assigned to a secret's name is a value, not a word or reference."""
    text = text.strip()
    if len(text) < 3 or _NO_VALUE.fullmatch(text.rstrip(".,;:!?")):
        return False
    return _REFERENCE.match(text) is None and any(char.isalnum() for char in text)


def is_strong(text: str) -> bool:
    """Tell whether a bare value is no word, name, number, file or algorithm.

    >>> [is_strong(text) for text in ("hunter2", "required", "sha256", "src/auth2.py")]
    [True, False, False, False]
    """
    text = text.strip().rstrip(".,;:!?)")
    if len(text) < 5 or not is_value(text) or _is_name(text):
        return False
    letters = any(char.isalpha() for char in text)
    digits = any(char.isdigit() for char in text)
    return letters and (digits or _SIGNS.search(text) is not None)


def is_short_key(text: str) -> bool:
    """Tell whether the value of a key in code is one: letters and digits well mixed, no name.

    >>> is_short_key("abcd9911efgh2233"), is_short_key("user_v2"), is_short_key("created_at")
    (True, False, False)
    """
    text = text.rstrip(".,;:!?)")
    digits = sum(char.isdigit() for char in text)
    letters = sum(char.isalpha() for char in text)
    mixed = len(text) >= 8 and digits >= 2 and letters >= 2
    return mixed and is_strong(text) and _RANDOM_RUN.search(text) is not None


def is_bare_value(text: str) -> bool:
    """As `is_value`, for a value without quotes: it may also be a name in code."""
    text = text.rstrip(".,;:!?)")
    return is_value(text) and not (_is_name(text) and not text.isdigit())


def is_password_digits(text: str) -> bool:
    """Tell whether a value is strong, or at least a number of four digits (a PIN)."""
    digits = text.strip().rstrip(".,;:!?)")
    return is_strong(text) or (digits.isdigit() and 4 <= len(digits) <= 16)


def is_pin(text: str) -> bool:
    """Tell whether a value is a number of four digits or more."""
    return text.isdigit() and is_password_digits(text)


def is_long(text: str) -> bool:
    """Tell whether a value after an authentication scheme is a credential."""
    return is_value(text) and (len(text) >= 20 or (len(text) >= 6 and is_strong(text)))


def is_basic_pair(text: str) -> bool:
    """Tell whether a value is the base64 form of "user:password".

    >>> is_basic_pair("dXNlcjpwYXNzd29yZA=="), is_basic_pair("authentication")
    (True, False)
    """
    try:
        return b":" in b64decode(text + "=" * (-len(text) % 4))
    except binascii.Error:
        return False


def is_last_word(text: str) -> bool:
    """Tell whether a plain word that ends its line after "password:" is one."""
    return text.isalpha() and len(text) >= 4 and is_bare_value(text)


def _is_name(text: str) -> bool:
    if _TECHNICAL.fullmatch(text):
        return True
    return bool(_STEM_INSIDE.search(text)) and not _CHOSEN.search(_KNOWN_MIX.sub("", text))
