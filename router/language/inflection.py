"""Forms that a rewritten message needs: plurals, the third person, the -ing form, agreement.

lemminflect's table has them; a word that it lacks ("refactor") follows the rules of spelling of
Quirk et al., A Comprehensive Grammar of the English Language, 3.5-3.9 and 5.80.
"""

from typing import Final

from kds.router.language.word_forms import inflections

_THIRD: Final = {"be": "is"}
_GERUND, _THIRD_PERSON = 2, 3
_VOWELS: Final = frozenset("aeiou")
_HISSING: Final = ("s", "x", "z", "ch", "sh")


def third_person(verb: str) -> str:
    """The form of a lower-case verb behind he, she and it.

    >>> [third_person(v) for v in ("resign", "pay", "notify", "do", "miss", "have", "be")]
    ['resigns', 'pays', 'notifies', 'does', 'misses', 'has', 'is']
    """
    forms = inflections(verb, "verb")
    return _THIRD.get(verb) or (forms[_THIRD_PERSON] if forms else with_s(verb))


def plural(noun: str) -> str:
    """The plural of a noun. Names, and what lemminflect says has none, get the regular one.

    >>> [plural(n) for n in ("query", "branch", "child", "analysis", "mock", "webhook", "API")]
    ['queries', 'branches', 'children', 'analyses', 'mocks', 'webhooks', 'APIs']
    """
    known = next(iter(inflections(noun, "noun")), noun)
    return known if known != noun else with_s(noun)


def gerund(verb: str) -> str:
    """The -ing form of a lower-case verb.

    >>> [gerund(v) for v in ("purchase", "debug", "put", "submit", "see", "die", "offer", "be")]
    ['purchasing', 'debugging', 'putting', 'submitting', 'seeing', 'dying', 'offering', 'being']
    >>> [gerund(v) for v in ("refactor", "rebase", "grep")]
    ['refactoring', 'rebasing', 'grepping']
    """
    if forms := inflections(verb, "verb"):
        return forms[_GERUND]
    if verb.endswith("e") and not verb.endswith(("ee", "oe", "ye")) and verb != "be":
        return verb[:-1] + "ing"
    return verb + verb[-1] * _doubles(verb) + "ing"


def with_s(word: str) -> str:
    """The regular ending of plurals and of the third person, which are spelled alike."""
    if word.endswith(_HISSING):
        return word + "es"
    if word.endswith("y") and word[-2:-1] not in _VOWELS:
        return word[:-1] + "ies"
    return word + "s"


def _doubles(verb: str) -> bool:
    """ "grep": a single vowel before the last consonant, and no other one."""
    before_last = verb[-2:-1] in _VOWELS and verb[-1] not in _VOWELS | frozenset("wxyh")
    return before_last and sum(letter in _VOWELS for letter in verb) == 1


_PAIRS: Final = (("does", "do"), ("is", "are"), ("has", "have"), ("was", "were"))
AGREEING: Final = {form: pair for pair in _PAIRS for form in pair} | {"am": ("is", "are")}
"""Finite auxiliaries that agree with their subject: singular, plural."""


def agreeing(auxiliary: str, *, plural: bool) -> str:
    """The auxiliary in the number of another subject, its capital kept.

    >>> agreeing("Does", plural=True), agreeing("may", plural=True), agreeing("are", plural=False)
    ('Do', 'may', 'is')
    """
    forms = AGREEING.get(auxiliary.lower())
    if forms is None:
        return auxiliary
    form = forms[plural]
    return form.capitalize() if auxiliary[:1].isupper() else form
