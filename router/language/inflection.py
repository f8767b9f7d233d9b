"""Verb forms that a rewritten question needs: the third person and the -ing form.

Rules of spelling from Quirk et al., A Comprehensive Grammar of the English Language, 3.5-3.9.
Irregular are only be, have, do and go: nothing else in English is in these two forms.
"""

from typing import Final

_THIRD: Final = {"be": "is", "have": "has", "do": "does", "go": "goes"}
_VOWELS: Final = frozenset("aeiou")
_STRESSED_LAST: Final = frozenset(
    "submit commit permit admit omit refer prefer transfer defer occur incur forget begin "
    "control compel rebut regret sublet reset rerun unplug".split()
)
"""Longer verbs that double their last letter, being stressed on it."""


def third_person(verb: str) -> str:
    """The form behind he, she and it.

    >>> [third_person(v) for v in ("resign", "pay", "notify", "do", "miss", "have", "be")]
    ['resigns', 'pays', 'notifies', 'does', 'misses', 'has', 'is']
    """
    if verb in _THIRD:
        return _THIRD[verb]
    if verb.endswith(("s", "x", "z", "ch", "sh")):
        return verb + "es"
    if verb.endswith("y") and verb[-2:-1] not in _VOWELS:
        return verb[:-1] + "ies"
    return verb + "s"


def gerund(verb: str) -> str:
    """The -ing form.

    >>> [gerund(v) for v in ("purchase", "pay", "resign", "put", "submit", "see", "die", "offer")]
    ['purchasing', 'paying', 'resigning', 'putting', 'submitting', 'seeing', 'dying', 'offering']
    """
    if verb.endswith("ie"):
        return verb[:-2] + "ying"
    if verb.endswith("e") and not verb.endswith(("ee", "oe", "ye")) and verb != "be":
        return verb[:-1] + "ing"
    return verb + verb[-1] * _doubles(verb) + "ing"


def _doubles(verb: str) -> bool:
    """ "put", "stop": a short vowel and one consonant under the stress."""
    ends = (
        len(verb) > 2
        and verb[-1] not in _VOWELS | frozenset("wxyh")
        and verb[-2] in _VOWELS
        and verb[-3] not in _VOWELS
    )
    return ends and (verb in _STRESSED_LAST or sum(c in _VOWELS for c in verb) == 1)


AGREEING: Final = {
    "do": ("does", "do"),
    "does": ("does", "do"),
    "is": ("is", "are"),
    "are": ("is", "are"),
    "am": ("is", "are"),
    "has": ("has", "have"),
    "have": ("has", "have"),
    "was": ("was", "were"),
    "were": ("was", "were"),
}
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
