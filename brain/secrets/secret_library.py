"""The rules of detect-secrets, in the form of ours. The only module that imports it, late.

Its patterns are taken from the plugins and matched here, because what the plugins report is
not always what must go: for a GitHub token they name the prefix, for a JWT the part before
the signature, and the keyword plugin the first finding of a line only.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Final

from kds.brain.secrets.secret_rule import SecretRule
from kds.brain.secrets.secret_value import is_value

_KINDS: Final[Mapping[str, str]] = {
    "ArtifactoryDetector": "artifactory token",
    "AWSKeyDetector": "aws key",
    "AzureStorageKeyDetector": "azure key",
    "BasicAuthDetector": "url password",
    "CloudantDetector": "cloudant key",
    "DiscordBotTokenDetector": "discord token",
    "GitHubTokenDetector": "github token",
    "GitLabTokenDetector": "gitlab token",
    "IbmCloudIamDetector": "ibm key",
    "IbmCosHmacDetector": "ibm key",
    "JwtTokenDetector": "jwt",
    "MailchimpDetector": "mailchimp key",
    "NpmDetector": "npm token",
    "OpenAIDetector": "openai or anthropic key",
    "PypiTokenDetector": "pypi token",
    "SendGridDetector": "sendgrid key",
    "SlackDetector": "slack token",
    "SoftlayerDetector": "softlayer key",
    "SquareOAuthDetector": "token",
    "StripeDetector": "stripe key",
    "TelegramBotTokenDetector": "telegram token",
    "TwilioKeyDetector": "twilio key",
}

LIBRARY_KINDS: Final = frozenset(_KINDS.values()) | {"secret", "random text"}

_LEFT_OUT: Final = frozenset({"IPPublicDetector", "PrivateKeyDetector"})
"""An address is no secret. The private key plugin flags the first line only: see
`key_form.PRIVATE_KEY`. The two entropy plugins and the keyword plugin have no list of
patterns; they are taken up below."""

_WHOLE: Final = frozenset({"GitHubTokenDetector", "GitLabTokenDetector"})
"""Plugins whose groups are prefixes, not the secret."""

_NEEDLES: Final[Mapping[str, tuple[str, ...]]] = {
    "AzureStorageKeyDetector": ("accountkey",),
    "BasicAuthDetector": ("://",),
    "CloudantDetector": ("key", "pw", "pass", "token", "cloudant"),
    "IbmCloudIamDetector": ("key", "pwd", "pass", "token"),
    "IbmCosHmacDetector": ("key",),
    "NpmDetector": ("_authtoken",),
    "SoftlayerDetector": ("key", "pwd", "pass", "token", "softlayer"),
}
"""What each pattern of a plugin must have in it; a test draws strings from the patterns. The
rest are fast enough without."""

_KEYWORD_NEEDLES: Final = ("pass", "pwd", "secret", "key", "contrase")

_SHORT: Final = frozenset({"ArtifactoryDetector", "JwtTokenDetector"})
"""Plugins that match as little as six to eleven signs: a value must hold a digit."""

_RANDOM: Final = re.compile(
    r"(?<![\w+/=.-])(?<!\bh1:)(?<!\bSHA256:)(?!sha\d+-|AAAA[BCE][23]|pk_(?:live|test)_)[A-Za-z0-9+/_-]{32,}={0,2}(?![\w+/=.(])"
)
"""What the entropy plugin is asked about: unbroken, at least 32 signs. Hex is left out: in
chat it is a commit or a checksum. So are `h1:...` (go.sum) and what npm and browsers call
integrity; AAAAB3... begins a public key of ssh, SHA256: its fingerprint, pk_ one of Stripe."""

_RANDOM_BITS: Final = 4.5
"""The library's own limit of Shannon entropy a sign for base64."""


_SMALL_LETTERS: Final = re.compile(r"[a-z]{4,}")
_WORDY: Final = 0.3
"""Share of signs in runs of four small letters: 0.08 on average in random base64, 0.45 and
more in the names of the tests."""


@cache
def library_rules() -> tuple[SecretRule, ...]:
    """Load the plugins (130 ms, once) and return their rules."""
    from detect_secrets.core.plugins.util import get_mapping_from_secret_type_to_class
    from detect_secrets.plugins import keyword

    rules: list[SecretRule] = []
    plugins: Mapping[str, type] = get_mapping_from_secret_type_to_class()
    for plugin in plugins.values():
        if plugin.__name__ not in _LEFT_OUT:
            rules.extend(_rules_of(plugin.__name__, getattr(plugin, "denylist", ())))
    for pattern, group in keyword.QUOTES_REQUIRED_DENYLIST_REGEX_TO_GROUP.items():
        rules.append(_rule("secret", pattern, is_value, group, needles=_KEYWORD_NEEDLES))
    return (*rules, _rule("random text", _RANDOM, _is_random, token=True))


def _rule(
    kind: str,
    pattern: re.Pattern[str],
    accept: Callable[[str], bool],
    group: int = 0,
    *,
    token: bool = False,
    needles: tuple[str, ...] = (),
) -> SecretRule:
    return SecretRule(kind, pattern.pattern, accept, group, token, needles, pattern.flags)


def _rules_of(plugin: str, patterns: object) -> Iterator[SecretRule]:
    if not isinstance(patterns, list | tuple):  # a plugin without patterns declares a property
        return
    kind = _KINDS.get(plugin, "secret")
    accept = _has_digit if plugin in _SHORT else is_value
    for pattern in patterns:
        whole = not pattern.groups or plugin in _WHOLE
        # A group is a value between other signs; a whole match is one token to its end.
        needles = _NEEDLES.get(plugin, ())
        yield _rule(kind, pattern, accept, 0 if whole else 1, token=whole, needles=needles)


def _has_digit(text: str) -> bool:
    return any(char.isdigit() for char in text) and len(text.strip()) >= 12


def _is_random(text: str) -> bool:
    """Tell whether a long run of signs is random, and no path, branch or long name.

    Random text has a stretch of 16 signs without '/', '_' or '-' that mixes lower case,
    upper case and digits; and hardly four small letters in a row, of which names are made.
    """
    stretches = re.split(r"[/_=+-]", text)
    if not any(len(part) >= 16 and _is_mixed(part) for part in stretches):
        return False
    wordy = sum(map(len, _SMALL_LETTERS.findall(text))) / len(text)
    return wordy < _WORDY and _entropy(text) > _RANDOM_BITS


def _is_mixed(text: str) -> bool:
    return (
        sum(char.isdigit() for char in text) >= 3
        and any(char.islower() for char in text)
        and any(char.isupper() for char in text)
    )


def _entropy(text: str) -> float:
    from detect_secrets.plugins.high_entropy_strings import Base64HighEntropyString

    return float(Base64HighEntropyString(limit=_RANDOM_BITS).calculate_shannon_entropy(text))
