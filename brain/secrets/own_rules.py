"""What KDS recognises as a secret beyond the library, and why the library does not.

detect-secrets is made for files of source code. In chat it misses:

- values without quotes (`API_KEY=abc123`, `password: hunter2`) and in prose ("the password
  is hunter2"): its keyword plugin wants quotes outside of configuration files;
- `token`, `passphrase`, `credential` as keywords; command line flags; HTTP headers
  (`Authorization: Bearer ...`, cookies); passwords in URLs with signs such as `$`, or
  without a user name;
- providers and newer token forms: Google (AIza, ya29, GOCSPX), Anthropic and new OpenAI keys
  (sk-...), Stripe test keys, github_pat_, npm_, hf_, Vault, Databricks, Atlassian, ...

Everything here is per line. A rule is a pattern and a test of the value, so that
identifiers, file names and ordinary words stay.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Final

from kds.brain.secrets.key_form import PROVIDERS
from kds.brain.secrets.secret_rule import SecretRule
from kds.brain.secrets.secret_value import (
    is_bare_value,
    is_basic_pair,
    is_last_word,
    is_long,
    is_password_digits,
    is_pin,
    is_short_key,
    is_strong,
    is_value,
)

_KEYWORD_KINDS: Final[Mapping[str, tuple[str, tuple[str, ...]]]] = {
    "password": (
        r"pass(?:word|wort|wd|phrase|code)|mot\ de\ passe|contrase(?:ñ|n)a"
        r"|(?<=_)pwd|pwd(?!\s{0,4}[=:]\s{0,4}[\"']?[~.]{0,2}/[\w.-])",  # PWD=/home is a folder
        ("pass", "pwd", "contrase"),
    ),
    "token": (r"token", ("token",)),
    "api key": (r"(?:api|access|auth|account|service|subscription)[_\-\ ]?key", ("key",)),
    "secret": (
        r"secret|credential|(?:private|encryption|signing|client|master)[_\-\ ]?key",
        ("secret", "credent", "key"),
    ),
}
"""The words of each kind, and its needles."""

STEMS: Final = re.compile(
    r"pass|pwd|pw\b|secret|token|key|auth|bearer|basic|credential|contrase|cookie|pin\b|creds|login|identified|mnemonic|seed",
    re.IGNORECASE,
)
"""Every rule with a word in it has one of these, the library's too (shown by a test)."""


_SUFFIX = r"(?:[_-]?(?:\d+|id|value|prod|production|dev|staging|test|live|key|base)){0,2}"
_IN = r"(?:[^\s\"'`]|(?<=\w)[\"'`](?=\w))"  # a quote between letters is part of the value
_END = r"[^\s\"'`.,;:)\]}>]"  # what closes a sentence or a bracket is not
_BARE = rf"(?P<value>[^\s\"'`,;&<>(){{}}\[\]](?:{_IN}{{0,300}}{_END})?)"
_FIELD = (  # a value that ends where the next field of a query or connection string begins
    r"(?P<value>[^\s\"'`,;&<>(){}\[\]]"
    rf"(?:(?:(?![&;,]\s?[\w.-]+(?:\s\w+)?=){_IN}){{0,300}}(?![&;,]\s?[\w.-]+(?:\s\w+)?=){_END})?)"
)
_QUOTED = r"(?P<quote>[\"'`])(?P<value>(?:(?!(?P=quote)).){1,200})(?P=quote)"
_VERB = r"(?:is|was|ist|est|are|as|to|equals|will\ be|should\ be|=)"


def _keyword_rules(kind: str, words: str, needles: tuple[str, ...]) -> Iterator[SecretRule]:
    name = rf"(?:{words}){_SUFFIX}[\"'`\]]{{0,2}}"
    assign = r"\s{0,4}(?:=>|:=|={1,3}|!==?|:)\s{0,4}"
    noted = rf"\*{{0,2}}(?:{assign}|\s?[|\uff1a]\s?)\*{{0,2}}\s?(?:&\w+\s)?"  # in Markdown, in YAML
    said = rf"\b(?:{words})\b(?:\s+\w+){{0,4}}?\s+{_VERB}:?\s+"
    number = is_password_digits if kind == "password" else is_strong
    for pattern, accept in (
        (rf"{name}{assign}{_QUOTED}", is_value),
        (rf"{name}(?:=|\s==\s?){_FIELD}", is_bare_value),
        (rf"{name}{noted}[\"'`]?{_FIELD}", number),
        (
            rf"(?:{words}){_SUFFIX}\\+[\"']\s?[:=]\s?\\+[\"'](?P<value>[^\"'\\]{{1,200}})",
            is_value,
        ),
        (rf"<[\w.:-]{{0,40}}(?:{words}){_SUFFIX}>(?P<value>[^<>\s]{{1,200}})</", is_bare_value),
        (rf"--(?:[a-z]+-)*(?:{words})[\"'],\s?{_QUOTED}", is_value),
        (
            rf"(?:{words}){_SUFFIX}[\"']\svalue={_QUOTED}",
            is_value,
        ),  # <add key="ApiSecret" value=...
        (rf"{said}{_BARE}", number),
        (rf"{said}{_QUOTED}", is_strong),
        (rf"\b(?:use|using|with|enter|try)\s(?:the\s|my\s)?(?:{words})\s{_BARE}", number),
        (rf"--?(?:[a-z]+-)*(?:{words})\s+[\"']?{_BARE}", number),
    ):
        yield SecretRule(kind, pattern, accept, needles=needles)


def _password_rules() -> Iterator[SecretRule]:
    password, needles = _KEYWORD_KINDS["password"]
    needles = (*needles, "pw")
    person = r"\b(?:user(?:name)?|login|email)\s?[:=]\s?\S{1,80}[\s,;/]+(?:and\s)?"
    for pattern, accept in (
        (rf"(?:{password})[\"']?:\s{{0,4}}{_BARE}\s*$", is_last_word),
        (rf"\b(?:{password})\s(?:is|was)\s{_QUOTED}", is_bare_value),
        (rf"{person}(?:{password}|pass|pw)\s?[:=]\s?{_FIELD}", is_bare_value),
        (rf"(?<![A-Za-z0-9])(?:pass|pw)\s?[:=]\s?{_FIELD}", is_strong),
        (rf"(?<![A-Za-z])pass={_FIELD}", is_bare_value),
        (
            rf"\b(?:user(?:name)?|login)\s\S{{1,80}}\s+(?:and\s)?(?:{password}|pass|pw)\s{_BARE}",
            is_strong,
        ),
        (rf"\b(?:using|with|and)\s(?:the\s)?(?:pass|pw)\s{_BARE}", is_strong),
    ):
        yield SecretRule("password", pattern, accept, needles=needles)
    yield SecretRule("password", rf"\b(?:{password})\s{_QUOTED}", is_strong, needles=needles)
    yield SecretRule("password", rf"\bidentified\sby\s{_QUOTED}", is_value, needles=("identif",))
    pair = rf"\s[^\s/:]{{1,80}}\s?[/:](?!/)\s?{_BARE}"
    given = r"(?:(?:credentials?|creds|logins?)\s(?:is|are)|(?:credentials?|creds):|login\swith)"
    yield SecretRule("password", rf"\b{given}{pair}", is_strong, needles=("cred", "log"))
    words = r"(?P<value>[a-z]{4}(?:[ -][a-z]{4}){3})(?![a-z])"  # as Google shows them
    yield SecretRule(
        "password", rf"\bapp\spassword[\"']?\s?(?:is|[:=])\s?[\"']?{words}", needles=needles
    )
    yield SecretRule("password", rf"\s-pass(?:in|out)?\spass:{_BARE}", is_value, needles=needles)
    pin = rf"(?<![A-Za-z])pin(?:\scode)?(?:\sis\s|\s?[:=]\s?){_BARE}"
    yield SecretRule("password", pin, is_pin)


_TRANSPORT_RULES: Final = (
    SecretRule(
        "authorization",
        r"authorization[\"']?\s*[:=]\s*[\"']?(?:bearer|basic|token|digest|apikey|negotiate)\s+"
        r"(?P<value>[^\s\"',;<>]{6,})",
        is_bare_value,
        token=True,
        needles=("author",),
    ),
    SecretRule(
        "authorization",
        rf"authorization[\"']?\s*[:=]\s*[\"']?{_BARE}",
        is_strong,
        needles=("author",),
    ),
    SecretRule(
        "authorization",
        r"\bbearer\s+(?P<value>[A-Za-z0-9_.~+/=%-]{6,})",
        is_long,
        token=True,
        needles=("bearer",),
    ),
    SecretRule(
        "authorization",
        r"\bbasic\s+(?P<value>[A-Za-z0-9+/]{6,}={0,2})",
        is_basic_pair,
        token=True,
        needles=("bas",),
    ),
    SecretRule(
        "cookie",
        r"\b(?:set-)?cookie[\"']?:\s*[\"']?(?P<value>[\w.-]{1,80}=[^\s;\"'][^\"'\n]*)",
        needles=("cook",),
    ),
    SecretRule(
        "cookie",
        r"\bcurl\b.{0,200}?\s(?:-b|--cookie)\s?[\"']?(?P<value>[\w.-]{1,80}=[^\s;\"'][^\"'\n]*)",
        needles=("curl",),
    ),
    SecretRule(
        "secret",
        r"(?:mnemonic|seed\sphrase)[\"']?\s?(?:is|[:=])\s?[\"']?(?P<value>[a-z]{3,8}(?:\s[a-z]{3,8}){11,23})",
        needles=("mnemonic", "seed"),
    ),
    SecretRule(
        "url password",
        r"://[^\s/:@\"'<>]*:(?P<value>[^\s/\"'<>]+)@(?=[\w\[.-])",
        is_value,
        needles=("://",),
    ),
    SecretRule(
        "url password",
        r"://(?P<value>[^\s/:@\"'<>]{16,})(?::[^\s/@]*)?@(?=[\w\[.-])",
        is_strong,
        needles=("://",),
    ),
    SecretRule(
        "token",
        r"discord(?:app)?\.com/api/webhooks/\d+/(?P<value>[\w-]{20,})",
        token=True,
        needles=("discord",),
    ),
    SecretRule(
        "password",
        rf"\bdocker\slogin\b.{{0,200}}?\s-p\s?[\"']?{_BARE}",
        is_value,
        needles=("docker",),
    ),
    SecretRule(
        "password",
        r"\$(?:apr1|2[aby]|[156])\$(?:[\w./]{1,20}\$)?[\w./]{22,}",
        group=0,
    ),
    SecretRule(
        "url parameter",
        r"[?&](?:sig|signature|key|code|auth)=(?P<value>[^\s&#\"'<>]{8,})",
        is_strong,
        needles=("=",),
    ),
    SecretRule(
        "password",
        rf"\bcurl\b.{{0,200}}?\s(?:-u|--user)\s*[\"']?[^\s:\"']{{1,80}}:{_BARE}",
        is_value,
        needles=("curl",),
    ),
    SecretRule(
        "password",
        r"\bmysql(?:dump)?\b.{0,100}?\s-p(?P<value>[^\s\"']{4,})",
        is_value,
        needles=("mysql",),
    ),
    SecretRule("password", rf"\bsshpass\s+-p\s*[\"']?{_BARE}", is_value, needles=("sshpass",)),
)

_OTHER_KEYS: Final = (
    r"public|primary|foreign|cache|sort|partition|hash|range|idempotency|object|row|storage"
)
"""Keys that open nothing."""

_KEY_RULES: Final = (
    SecretRule(
        "api key",
        rf"(?<![A-Za-z0-9])(?:[A-Z0-9]+_)*(?!(?i:{_OTHER_KEYS})_)[A-Z0-9]+_KEY[\"'\]]{{0,2}}"
        rf"\s{{0,4}}(?:=>|:=|=|:)\s{{0,4}}[\"'`]?{_FIELD}",
        is_strong,
        flags=re.NOFLAG,
        needles=("key",),
    ),
    SecretRule(
        "api key",
        rf"(?<![A-Za-z0-9])(?:[A-Za-z0-9]+[_.-])*(?!(?i:{_OTHER_KEYS}))[A-Za-z0-9]+(?:[_.-]key|Key)"
        rf"[\"'\]]{{0,2}}\s{{0,4}}(?:=>|:=|=|:)\s{{0,4}}[\"'`]?{_FIELD}",
        is_short_key,
        flags=re.NOFLAG,
        needles=("key",),
    ),
)

OWN_RULES: Final = (
    *(
        SecretRule(kind, rf"(?<![A-Za-z0-9]){form}", group=0, token=True, flags=re.NOFLAG)
        for kind, form in PROVIDERS.items()
    ),
    *_TRANSPORT_RULES,
    *_KEY_RULES,
    *(rule for kind, words in _KEYWORD_KINDS.items() for rule in _keyword_rules(kind, *words)),
    *_password_rules(),
)
"""In no order: overlapping findings are joined."""
