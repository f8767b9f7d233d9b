"""Where the time of a call goes: spans, for a caller that wants to measure them.

What works in stages opens one for each (`span`); what wants to know sets WATCH for its call.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from contextvars import ContextVar
from typing import Final

Watch = Callable[[str], AbstractContextManager[object]]
"""Is told the name of a stage, and gives what is open as long as it lasts."""

_NOTHING: Final = nullcontext()


def _unwatched(_: str) -> AbstractContextManager[object]:
    return _NOTHING


WATCH: Final[ContextVar[Watch]] = ContextVar("kds-watch", default=_unwatched)


def span(stage: str) -> AbstractContextManager[object]:
    """Open a stage of the call that is being made.

    >>> with span("resolve"):
    ...     pass
    """
    return WATCH.get()(stage)
