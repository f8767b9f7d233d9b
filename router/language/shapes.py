"""Tokens of developer chat that are names by their shape: paths, calls, flags, endpoints, ids.

Used twice: to keep spaCy's tokenizer from cutting them up, and to tag them as names.
"""

import re
from functools import lru_cache
from typing import Final

from kds.router.english import words

_SHAPES: Final = (
    ("url", r"(?:https?|ftp|file|wss?)://\S+[\w/]|www\.\S+\.\w+(?:/\S*\w)?"),
    ("email", r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+"),
    ("code", r"`[^`\s]+`"),
    ("code", r"[A-Za-z_]\w*(?:(?:\.|::|->)[A-Za-z_]\w*)*\([^\s()]*\)"),
    ("flag", r"--?[A-Za-z][\w-]*(?:=\S*\w)?"),
    ("path", r"(?:~|\.{1,2}|[\w@.-]+)?(?:[/\\][\w@.*{}\[\]:-]+)+/?"),
    (
        "path",
        r"\.?[\w-]+(?:\.[\w-]+)*\.(?:py|pyi|js|jsx|mjs|ts|tsx|vue|svelte|css|scss|less|html?|md|mdx"
        r"|rst|txt|json|jsonl|ya?ml|toml|ini|cfg|conf|env|lock|sh|bash|ps1|bat|sql|rs|go|java|kt|kts"
        r"|swift|c|cc|cpp|h|hpp|cs|rb|php|pl|r|jl|lua|dart|ex|exs|erl|hs|scala|tf|hcl|proto|graphql"
        r"|csv|tsv|xml|svg|png|jpe?g|gif|webp|pdf|docx?|xlsx?|pptx?|ipynb|zip|gz|log|db|sqlite)",
    ),
    ("path", r"\.(?:env|gitignore|dockerignore|npmrc|editorconfig|eslintrc|prettierrc)"),
    ("code", r"[A-Za-z]\w*(?:(?:\.|::)[A-Za-z_]\w*)+"),
    ("code", r"[A-Za-z0-9]*_\w+|\w+_[A-Za-z0-9_]*"),
    ("code", r"[a-z]+[0-9]*(?:[A-Z][a-z0-9]*)+"),
    (
        "code",
        r"(?!(?:Ma?c|De|Di|Du|La|Le|Van|Von)[A-Z][a-z]+\Z)(?:[A-Z][a-z0-9]+){2,}[A-Z]?|[A-Z]{2,}[a-z]+[A-Z]\w*",
    ),
    ("code", r"<[A-Za-z][\w.-]*\s*/?>"),
    ("issue", r"#\d+|[A-Z][A-Z0-9]+-\d+"),
    ("number", r"[$€£]?\d+(?:[.,:]\d+)*(?:%|[a-zA-Z]{1,3})?|v\d+(?:\.\d+)*"),
    ("word", r"[^\W\d_]+(?:[-'’][^\W_]+)+"),
)

_CONTRACTION: Final = re.compile(r"(?i)(?:n['’]t|['’](?:s|re|ve|ll|d|m|t))$|^[a-z]+s['’]$|^['’]")
_COMPILED: Final = tuple((kind, re.compile(rf"(?:{pattern})\Z")) for kind, pattern in _SHAPES)
_FAST: Final = re.compile(r"[^A-Za-z]|[a-z][A-Z]|[A-Z]{2,}[a-z]")
"""Only text that this finds can have a special shape; most words are done after one search."""

KEPT: Final = 1024
"""Tokens whose shape is kept: messages are read beside the ones before them."""

_NOT_PATHS: Final = words("function_words", "with_slash")


@lru_cache(maxsize=KEPT)
def _shape(text: str) -> str:
    if not _FAST.search(text) or text.lower() in _NOT_PATHS:
        return ""
    return next((kind for kind, pattern in _COMPILED if pattern.match(text)), "")


def shape(text: str) -> str:
    """The kind of name a token is by its shape, "" for an ordinary word.

    >>> [shape(t) for t in ("src/router/steps.py", "parse_config()", "/health", "--no-log")]
    ['path', 'code', 'path', 'flag']
    >>> [shape(t) for t in ("getUser", "AccountManager", "last_login", "button", "API", "2.1")]
    ['code', 'code', 'code', '', '', 'number']
    """
    kind = _shape(text)
    return "" if kind == "word" else kind


def whole_token(text: str) -> bool:
    """spaCy's ``token_match``: whether the text must stay one token."""
    return bool(_shape(text)) and not _CONTRACTION.search(text)
