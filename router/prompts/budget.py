"""How much one rendering may do: steps and characters, so that no prompt file can hang KDS."""

from collections.abc import Iterable, Iterator, KeysView, Mapping, ValuesView
from contextvars import ContextVar
from typing import Final

from jinja2 import Undefined
from jinja2.exceptions import SecurityError

MAX_STEPS: Final = 100_000
"""Loop rounds, calls, filters, tests and sums of one rendering: 0.5 s at most. The packaged
prompts take fewer than 200."""

MAX_CHARACTERS: Final = 10_000_000
"""Characters that one rendering may read or write in its expressions: about 2 s at the worst. A
prompt for a message of 100 kB needs 500,000."""

MAX_NESTING: Final = 20
"""Lists in lists."""

MAX_NUMBER: Final = 2**53
"""Beyond it whole numbers are no longer exact in JSON."""

ITEM_WEIGHT: Final = 8
"""Characters that an item of a list counts for, besides its own."""


class Budget:
    """What is left for one rendering. Raises SecurityError when it is spent."""

    __slots__ = ("characters", "steps")

    def __init__(self) -> None:
        self.steps = MAX_STEPS
        self.characters = MAX_CHARACTERS

    def step(self) -> None:
        """Count one step."""
        self.steps -= 1
        if self.steps < 0:
            raise SecurityError(f"it takes more than {MAX_STEPS} steps")

    def spend(self, characters: int) -> None:
        """Count characters before they are made."""
        self.characters -= characters
        if self.characters < 0:
            raise SecurityError(f"it handles more than {MAX_CHARACTERS} characters")

    def rounds(self, items: Iterable[object]) -> Iterator[object]:
        """The items, each counted as a step when it is taken."""
        for item in items:
            self.step()
            yield item

    def weigh(self, value: object, depth: int = 0) -> None:
        """Count the characters of a value and of all that is in it."""
        if isinstance(value, str | bytes):
            self.spend(len(value))
        elif isinstance(value, bool) or value is None:
            return
        elif isinstance(value, int):
            self.spend(ITEM_WEIGHT)
            if not -MAX_NUMBER <= value <= MAX_NUMBER:
                raise SecurityError(f"a number is larger than {MAX_NUMBER}")
        elif isinstance(value, Mapping):
            self._weigh_items(value.keys(), depth)
            self._weigh_items(value.values(), depth)
        elif isinstance(value, list | tuple | set | frozenset | KeysView | ValuesView):
            self._weigh_items(value, depth)
        elif depth and not isinstance(value, float | range | Undefined):
            raise SecurityError(f"a {type(value).__name__} stands in a list")

    def _weigh_items(self, items: Iterable[object], depth: int) -> None:
        if depth >= MAX_NESTING:
            raise SecurityError(f"lists are nested deeper than {MAX_NESTING}")
        for item in items:
            self.spend(ITEM_WEIGHT)
            self.weigh(item, depth + 1)


_CURRENT: Final[ContextVar[Budget]] = ContextVar("kds_rendering")


def current() -> Budget:
    """The budget of the rendering that runs. LookupError outside of one."""
    return _CURRENT.get()


class Rendering:
    """Gives what runs inside of `with` a budget of its own."""

    def __enter__(self) -> Budget:
        budget = Budget()
        self._token = _CURRENT.set(budget)
        return budget

    def __exit__(self, *_: object) -> None:
        _CURRENT.reset(self._token)
