"""What a rule for secrets is: a pattern, and a test of the value that it finds."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property


def anything(_text: str) -> bool:
    """Take whatever the pattern finds."""
    return True


@dataclass(frozen=True)
class SecretRule:
    """A regex whose ``group`` (0: all of it) is a secret of ``kind`` if ``accept`` says so.

    ``token``: the value is one unbroken token, to be taken to its end. ``needles``: every
    finding has one of them in the case-folded text around it; empty means unknown. Without
    the letter i, which has a form that does not fold.
    """

    kind: str
    source: str
    accept: Callable[[str], bool] = anything
    group: int | str = "value"
    token: bool = False
    needles: tuple[str, ...] = ()
    flags: int = re.IGNORECASE

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """The regex, compiled when a text first has a needle of it: all together take 80 ms."""
        return re.compile(self.source, self.flags)
