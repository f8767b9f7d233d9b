"""Whether two texts say the same, but for case, punctuation and spaces."""

import unicodedata
from collections.abc import Iterable


def matches(text: str, accepted: Iterable[str]) -> bool:
    """Tell whether ``text`` is one of ``accepted``, but for case, punctuation and spaces.

    >>> matches("Make the FAB button purple.", ["make the fab-button purple"])
    True
    >>> matches("Make FAB button purple", ["Make the FAB button purple"])
    False
    """
    return bare(text) in {bare(candidate) for candidate in accepted}


def bare(text: str) -> str:
    """Reduce ``text`` to what a comparison looks at: no case, no punctuation, no spaces.

    A text of nothing but punctuation is kept, or "?" would equal "!".

    >>> bare("Put it in `app.py`, please!")
    'putitinapppyplease'
    """
    folded = unicodedata.normalize("NFD", text).casefold()
    kept = "".join(character for character in folded if not _is_noise(character))
    # once more: marks that a sign kept apart stand side by side now, and have an order
    return unicodedata.normalize("NFD", kept or folded)


def _is_noise(character: str) -> bool:
    return character in "`´" or character.isspace() or unicodedata.category(character)[0] == "P"
