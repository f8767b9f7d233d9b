"""Keys that are known by their form, whatever stands around them."""

import re
from collections.abc import Mapping
from typing import Final

PROVIDERS: Final[Mapping[str, str]] = {
    "openai or anthropic key": r"sk-(?=[\w-]*\d)[A-Za-z0-9][\w-]{14,}",
    "github token": r"(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_\w{20,})",
    "gitlab token": r"gl(?:pat|dt|ft|rt|oas|ptt|cbt)-[\w-]{16,}",
    "aws key": r"(?:AKIA|ASIA|ABIA|ACCA)[0-9A-Z]{12,}",
    "google key": r"(?:AIza[\w-]{30,}|ya29\.[\w-]{20,}|GOCSPX-[\w-]{20,})",
    "slack token": r"(?:xox[a-z](?:\.xox[a-z])?-[\w-]{8,}|xapp-\d-[\w-]{10,})",
    "stripe key": r"(?:(?:sk|rk)_(?:test|live)_[A-Za-z0-9]{10,}|whsec_[\w+/=]{16,})",
    "jwt": r"eyJ[\w-]{8,}\.[\w-]{4,}(?:\.[\w-]*)*",
    "mailgun key": r"key-[0-9a-f]{32}",
    "npm token": r"npm_[A-Za-z0-9]{30,}",
    "pypi token": r"pypi-[\w-]{32,}",
    "token": (
        r"(?:hf_[A-Za-z0-9]{20,}|hvs\.[\w-]{20,}|dapi[0-9a-f]{32}|dop_v1_[0-9a-f]{32,}"
        r"|shp(?:at|ca|pa|ss)_[0-9a-fA-F]{24,}|PMAK-[\w-]{30,}|lin_api_\w{24,}|ATATT3[\w=-]{30,}"
        r"|dckr_pat_[\w-]{20,}|ntn_\w{30,}|figd_[\w-]{30,}|sntrys_[\w+/=-]{30,}|xkeysib-[\w-]{30,}"
        r"|AGE-SECRET-KEY-1[0-9A-Z]{20,}|sq0(?:atp|csp)-[\w-]{20,}|gsk_\w{30,}|xai-\w{30,}"
        r"|NRAK-[A-Z0-9]{20,}|pscale_[a-z]{2,5}_[\w-]{30,}|dp\.[a-z]{2,5}\.[\w.-]{30,}"
        r"|(?:bk[a-z]{2}|rubygems|sq[apu]|CLOJARS)_[0-9a-f]{32,}|pat[A-Za-z0-9]{14}\.[0-9a-f]{40,}"
        r"|[0-9a-f]{32}-[0-9a-f]{8}-[0-9a-f]{8}(?![\w-])|[\w.~-]{3}\dQ~[\w.~-]{31,})"
    ),
}
"""Kinds of tokens, with what one looks like from its beginning."""

PRIVATE_KEY: Final = re.compile(
    r"""-{4,5}\ ?BEGIN\ (?P<what>[A-Z0-9\ ]{0,30}PRIVATE\ KEY(?:\ BLOCK)?)\ ?-{4,5}
        (?:
          (?:(?!-{4,5}\ ?BEGIN\ ).)*?-{4,5}\ ?END\ (?P=what)\ ?-{4,5}     # to its end,
        | (?:(?:\r?\n|\\r|\\n)[>|\ \t]*(?:[A-Za-z-]{4,20}:\ [^\n]*|[A-Za-z0-9+/=]*)[\ \t"',+]*
              (?=\r?\n|\\|\Z)
            |\ [A-Za-z0-9+/=]{20,}
          )*
        )
      | PuTTY-User-Key-File-\d:.*?(?:Private-MAC:\ \w+|\Z)""",
    re.VERBOSE | re.DOTALL,
)
"""The library flags the first line only; the body is the secret. A key without its end goes
as far as its lines look like one."""
