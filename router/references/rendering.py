"""How an antecedent is written into a message: article, possessive, number, capitals."""

from typing import Final

from kds.router.discourse.mention import Mention
from kds.router.language.inflection import plural

_KEPT_POSSESSIVES: Final = frozenset({"my", "our", "your"})
_QUANTIFIERS: Final = frozenset({"both", "all", "each", "either", "neither"})
_COUNTABLE_LABELS: Final = frozenset({"UI", "SCREEN", "CODE", "DOCUMENT"})


def definite(mention: Mention) -> str:
    """The phrase as known to both sides: "the FAB button", "dark mode", "ESLint and Prettier".

    Bare singulars stay bare when they name an activity or a feature ("dark mode",
    "caching") and get the article when they are countable things written tersely.
    """
    if mention.parts:
        return _joined([definite(part) for part in mention.parts], mention.conjunction)
    article = _article(mention)
    text = f"{mention.text} called {mention.name}" if mention.called else mention.text
    return f"{article} {text}" if article else text


def _article(mention: Mention) -> str:
    if mention.determiner in _KEPT_POSSESSIVES:
        return mention.determiner
    if mention.text.lower().startswith(("the ", "my ", "our ", "your ")):
        return ""
    if mention.mood == "question" and mention.topic and mention.determiner in {"a", "an"}:
        return mention.determiner
    named = bool(mention.kind) or (mention.head_text[:1].isupper() and not mention.modifiers)
    if mention.determiner and not (mention.determiner in _QUANTIFIERS and named):
        return "the"
    if named:
        return ""
    if mention.number == "pl":
        return "" if mention.mood == "question" or mention.topic else "the"
    return "the" if mention.label in _COUNTABLE_LABELS else ""


def _joined(texts: list[str], conjunction: str) -> str:
    if len(texts) <= 2:
        return f" {conjunction} ".join(texts)
    return ", ".join(texts[:-1]) + f" {conjunction} " + texts[-1]


def possessive(text: str) -> str:
    """
    >>> possessive("the YAML parser"), possessive("the tests")
    ("the YAML parser's", "the tests'")
    """
    return text + ("'" if text.endswith("s") and not text.endswith("ss") else "'s")


def in_place_of(original: str, text: str) -> str:
    """Give the replacement the capital that the replaced word had at the sentence start.

    >>> in_place_of("It", "the parser"), in_place_of("it", "the parser")
    ('The parser', 'the parser')
    >>> in_place_of("It", "src/a.py")
    'src/a.py'
    """
    if (
        original[:1].isupper()
        and original != "I"
        and text.startswith(("the ", "my ", "our ", "your ", "both "))
    ):
        return text[0].upper() + text[1:]
    if original[:1].isupper() and text[:1].islower() and text.replace(" ", "").isalpha():
        return text[0].upper() + text[1:]
    return text


def in_plural(mention: Mention) -> str:
    """The phrase of a singular mention for several of its kind: "session tickets"."""
    head = mention.head_text
    at = mention.text.find(head)
    return f"{mention.text[:at]}{plural(head)}{mention.text[at + len(head) :]}"


def bare(mention: Mention) -> str:
    """The phrase for `context_ref`: no article in front.

    >>> bare_text("the save button and the cancel button")
    'save button and the cancel button'
    """
    if mention.parts:
        return bare_text(definite(mention))
    return mention.text


def bare_text(text: str) -> str:
    """``text`` without a leading article."""
    first, _, rest = text.partition(" ")
    return rest if first.lower() in {"the", "a", "an"} and rest else text
