"""Pieces of a text: what was a secret where it stood shows no sign of it when it stands alone.

"DB_PASSWORD=swordfish" is redacted, "swordfish" is a word. So whoever keeps a piece of a text (a
term, a name, a snippet) asks what the whole text withholds, and keeps no piece that has a word of
that.
"""

import re
from collections.abc import Collection
from typing import Final

from kds.brain.secrets.redaction import may_hold_secret, redacted

_WORD: Final = re.compile(r"[^\W_]{3,}")
_MASK: Final = "[secret: secret]"


def withheld(*texts: str) -> frozenset[str]:
    """Return the words of ``texts`` that only stand in secrets.

    >>> sorted(withheld("Why does DB_PASSWORD=swordfish fail?"))
    ['swordfish']
    """
    found: set[str] = set()
    for text in texts:
        if may_hold_secret(text):
            found |= _words(text) - _words(redacted(text))
    return frozenset(found)


def reveals(piece: str, hidden: Collection[str]) -> bool:
    """Tell whether a piece has a word that is withheld."""
    return any(word in hidden for word in _words(piece)) if hidden else False


def without(piece: str, hidden: Collection[str]) -> str:
    """Replace whatever of ``piece`` has a word that is withheld.

    >>> without("fix DB_PASSWORD=swordfish now", {"swordfish"})
    'fix [secret: secret] now'
    """
    if not reveals(piece, hidden):
        return piece
    parts = re.split(r"(\s+)", piece)
    return "".join(_MASK if reveals(part, hidden) else part for part in parts)


def _words(text: str) -> set[str]:
    return set(_WORD.findall(text.casefold()))
