"""Whether the first message of a conversation plainly goes on with an earlier one."""

import re
from typing import Final

_GOES_ON: Final = re.compile(
    r"""\b(?:
      as\ (?:we\ )?(?:discussed|agreed|said|planned|before)
    | (?:like|from|as)\ (?:last\ time|before|yesterday|earlier|the\ last\ (?:chat|session|time))
    | (?:continue|carry\ on|go\ on|keep\ going|proceed)\ (?:with|on|where|from)
    | pick(?:ing)?\ (?:it\ |this\ |that\ )?(?:back\ )?up
    | (?:where|what)\ (?:was\ i|were\ we|did\ we\ (?:leave|stop))
    | back\ to\ (?:the|our|my|work)
    | (?:last|previous|earlier|other)\ (?:session|chat|conversation|window)
    | we\ (?:were|had\ been)\ (?:working|talking|doing|on)
    )\b
    | ^\W*(?:continue|go\ on|carry\ on|keep\ going|resume)\W*$""",
    re.IGNORECASE | re.VERBOSE,
)


def goes_on(message: str) -> bool:
    """Whether ``message`` says itself that it continues something.

    >>> goes_on("Continue with the FAB button"), goes_on("as discussed, use tabs")
    (True, True)
    >>> goes_on("Make it purple"), goes_on("Add a resume upload")
    (False, False)
    """
    return _GOES_ON.search(message) is not None
