"""Short replies that mean something only because of what was said before: yes, no, go ahead.

Only whole messages count. "Yes, but leave the tests out" is a message of its own: what changes
the question does not confirm it.
"""

import re
from collections.abc import Iterable
from typing import Final, Literal

Reaction = Literal["yes", "no", "other"]

MAX_WORDS: Final = 6
"""An answer is short; anything longer is a message of its own (as in `kds.router.answer`)."""

_YES: Final = frozenset(
    "yes y yep yeah yup ok okay k kk alright sure confirm confirmed affirmative proceed".split()
)
_NO: Final = frozenset("no n nope nah cancel stop abort don't dont not never".split())
_FILLER: Final = frozenset(
    "please it that this so all now just then do go ahead for i me i'm am to the of course mind "
    "thanks thank you with on carry leave alone later yet need rather let's lets works sounds good "
    "fine by".split()
)
_REFUSALS: Final = re.compile(
    r"(?:please )?(?:leave (?:it|that|this)(?: alone| as it is| for now| for later)?|hold off"
    r"|skip (?:it|that|this)|forget (?:it|that)|(?:maybe |not |do (?:it|that) )?later)"
    r"(?: for now| then| please| thanks)*"
)
_AGREEING: Final = re.compile(
    r"do it|go ahead|please do|go for it|of course|(?:works|fine) (?:for|with) me|that works"
    r"|sounds good|fine by me"
)
_GO_AHEAD: Final = r"go ahead|go on|go for it|carry on|proceed|do (?:it|that)|hand (?:it|this) over"
_GO_ON: Final = r"continue|keep going|next(?: step| one)?|resume"
_POLITELY: Final = (
    r"(?:(?:yes|ok|okay|sure|great|good|please|then|now|and)[\s,.!]+)*(?:%s)"
    r"(?:[\s,]+(?:please|then|now|with (?:it|that)))*[\s.!]*"
)


def reaction(message: str, *, verbs: Iterable[str] = ()) -> Reaction:
    """Say how ``message`` answers a question for confirmation.

    ``verbs`` are words of the question, which may be repeated: "yes, commit it".

    >>> reaction("Yes, please!"), reaction("no thanks"), reaction("yes, but push it too")
    ('yes', 'no', 'other')
    >>> reaction("yes, commit it", verbs=["commit"]), reaction("commit it", verbs=["commit"])
    ('yes', 'other')
    """
    words = re.findall(r"[\w']+", message.lower().replace("’", "'"))
    said = " ".join(words)
    if _REFUSALS.fullmatch(said) and len(words) <= MAX_WORDS:
        return "no"
    known = _YES | _NO | _FILLER | {verb.lower() for verb in verbs}
    if len(words) > MAX_WORDS or not known.issuperset(words):
        return "other"
    if not _NO.isdisjoint(words):
        return "no"
    return "yes" if not _YES.isdisjoint(words) or _AGREEING.search(said) else "other"


def agrees(message: str) -> bool:
    """Tell whether ``message`` says yes to a question, or go ahead, and nothing more.

    >>> agrees("ok"), agrees("yes, go for it"), agrees("yes, but on staging")
    (True, True, False)
    """
    return reaction(message) == "yes" or goes_ahead(message)


def goes_ahead(message: str) -> bool:
    """Tell whether ``message`` only says to take what was offered.

    >>> goes_ahead("OK, go ahead"), goes_ahead("go ahead and push it"), goes_ahead("yes")
    (True, False, False)
    """
    return re.fullmatch(_POLITELY % _GO_AHEAD, message.strip(), re.IGNORECASE) is not None


def goes_on(message: str) -> bool:
    """Tell whether ``message`` only says to go on, with whatever comes next.

    >>> goes_on("continue"), goes_on("next, please"), goes_on("continue with the login form")
    (True, True, False)
    """
    either = f"{_GO_AHEAD}|{_GO_ON}"
    return re.fullmatch(_POLITELY % either, message.strip(), re.IGNORECASE) is not None
