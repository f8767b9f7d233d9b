"""Which messages and descriptions can be taught, and when two of them are the same.

An example speaks for messages like it, so it must hold nothing that must not be kept: no secret, no
code, no page of text. A description is "the button" when it means the FAB button: "it" means
something else in every message, and "the other one" depends on what was said before it.
"""

import re
import unicodedata
from typing import Final

from kds.brain.message import one_line
from kds.brain.secrets.redaction import storable

MAX_CHARACTERS: Final = 200
"""Longest example. Of the shipped ones none is longer than 80; a long message is one of a kind."""

MIN_CONTENT_WORDS: Final = 2
"""Words with content. With one ("fix this", "tests?") the conversation decides, not the words:
such an example counts for exactly this message, not for every one that has the word."""

LONGEST: Final = 8
"""Words of a description, its determiner included: a longer one is not a name of a thing."""

DETERMINERS: Final = frozenset("the this that these those".split())
"""Words that begin a definite description, and do not tell one from another."""

_ARTICLES: Final = DETERMINERS | {"a", "an"}
_POINTING: Final = frozenset(
    """one ones other others same rest first second third last next latter former two three thing
    things stuff way it them""".split()
)
"""Last words of phrases that point back without naming a thing."""

_MARK: Final = re.compile(r"\[(?:secret|code): ?[^\]]*\]|\[code\b")
"""What stands for a secret, or for code, that was not kept."""
_SECRET: Final = re.compile(r"\[secret: [^\]]*\]")
_CODE: Final = re.compile(
    r"[{}]|;\s*$|```|=>|->|[=!<>]=|\b\w+\s=\s\S|</?\w+[^>]*>|\w\([^)]*[\"'=,][^)]*\)"
)
"""What prose does not have. A name with brackets, `load()`, is still prose about code."""

_WORD: Final = re.compile(r"[^\W\d_]{2,}")
_LAST_SIGNS: Final = " .,;:!"

_EMPTY: Final = frozenset(
    """an the this that these those it its me my mine we us our you your he him his she her they
    them their what which who whom whose when where why how is are was were be been being am do
    does did done doing have has had having will would shall should can could may might must let
    not no yes yeah yep nope ok okay please thanks thank hi hey hello and or but if so then than
    as at by for from in into of off on onto out over to up down with without about again also
    just now too very here there all any both each some such only own same one ones other more
    most less least thing things something anything everything nothing stuff don doesn didn isn
    aren wasn ve re ll""".split()
)
"""The closed classes of English: words that hold sentences together, answers and greetings."""


def phrase_key(text: str) -> str:
    """What the spellings of one message share: case, spaces and the last sign do not count.

    >>> phrase_key("  Sort out  the LOGIN page!"), phrase_key("is it green?")
    ('sort out the login page', 'is it green?')
    """
    plain = unicodedata.normalize("NFKC", one_line(text)).casefold().replace("\u2019", "'")
    return " ".join(plain.split()).rstrip(_LAST_SIGNS)


def without_marks(text: str) -> str:
    """A message without the marks that stand for its secrets.

    >>> without_marks("sign in with password: [secret: password] and look around")
    'sign in with password:   and look around'
    """
    return _SECRET.sub(" ", text)


def says_little(text: str) -> bool:
    """Whether a message has too few words of its own to speak for messages like it.

    >>> says_little("ship it"), says_little("ship the parser")
    (True, False)
    """
    return len(_content_words(text)) < MIN_CONTENT_WORDS


def says_nothing(text: str) -> bool:
    """Whether a message is an answer or a nod, such as "yes" and "do it again".

    >>> says_nothing("do it again"), says_nothing("ship it")
    (True, False)
    """
    return not _content_words(text)


def unlearnable(text: str) -> str | None:
    """Why a message cannot be an example; None when it can.

    >>> unlearnable("Sort out the login page") is None
    True
    >>> unlearnable("x = load(y)")
    'it holds code'
    """
    if "\n" in text.strip():
        return "it has more than one line"
    if len(text) > MAX_CHARACTERS:
        return f"it is longer than {MAX_CHARACTERS} characters"
    if _MARK.search(text) or storable(text) != text:
        return "it holds a secret or code"
    if _CODE.search(text):
        return "it holds code"
    if not _WORD.search(phrase_key(text)):
        return "it has no word"
    return None


def thing(text: str) -> str:
    """What the spellings of one thing share: case, spaces and its article do not count.

    >>> thing("The  FAB button"), thing("that button"), thing("src/A.py")
    ('fab button', 'button', 'src/a.py')
    """
    return without_article(phrase_key(text))


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
    if any(_MARK.search(one) or storable(one) != one for one in (description, antecedent)):
        return "it holds a secret or code"
    return "it is called that already" if thing(description) == thing(antecedent) else None


def _content_words(text: str) -> set[str]:
    return {word for word in _WORD.findall(phrase_key(text)) if word not in _EMPTY}
