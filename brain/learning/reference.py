"""What the user means by a description: "the button" is the FAB button.

Only a definite description is learned. "It" means something else in every message, and "the
other one" is told by what was said before it.
"""

from dataclasses import dataclass
from typing import Final

from kds.brain.learning.phrase import MARK, MAX_CHARACTERS, phrase_key
from kds.brain.secrets.redaction import storable

DETERMINERS: Final = frozenset("the this that these those".split())
"""Words that begin a definite description, and do not tell one from another."""

_ARTICLES: Final = DETERMINERS | {"a", "an"}

_POINTING: Final = frozenset(
    """one ones other others same rest first second third last next latter former two three thing
    things stuff way it them""".split()
)
"""Last words of what points back without saying what it is."""

LONGEST: Final = 8
"""Words of a description, its determiner included: what is longer is no name for a thing."""


@dataclass(frozen=True, slots=True)
class LearnedReference:
    """A description as the user types it, and the thing that is meant. ``line`` is where."""

    id: str
    text: str
    antecedent: str
    by: str
    line: int = 0

    @property
    def told(self) -> str:
        """It in words."""
        return f"'{self.text}' means '{self.antecedent}'"


def thing(text: str) -> str:
    """What the spellings of one thing share: case, spaces and its article do not count.

    >>> thing("The  FAB button"), thing("that button"), thing("src/A.py")
    ('fab button', 'button', 'src/a.py')
    """
    key = phrase_key(text)
    first, _, rest = key.partition(" ")
    return rest if first in _ARTICLES and rest else key


def without_article(text: str) -> str:
    """A thing as it is shown: "the FAB button" is "FAB button"."""
    first, _, rest = text.partition(" ")
    return rest if first.lower() in _ARTICLES and rest else text


def unteachable(description: str, antecedent: str) -> str | None:
    """Why a description cannot be learned to mean a thing; None when it can.

    >>> unteachable("the button", "FAB button") is None
    True
    >>> unteachable("it", "FAB button")
    "'it' does not describe a thing, as 'the button' does"
    """
    words = phrase_key(description).split()
    describes = 1 < len(words) <= LONGEST and words[0] in DETERMINERS
    if not describes or words[-1] in _POINTING:
        return f"'{storable(description)}' does not describe a thing, as 'the button' does"
    if not thing(antecedent) or len(antecedent) > MAX_CHARACTERS:
        return f"a thing has a name of 1 to {MAX_CHARACTERS} characters"
    if any(MARK.search(one) or storable(one) != one for one in (description, antecedent)):
        return "it holds a secret or code"
    return "it is called that already" if thing(description) == thing(antecedent) else None
