"""Who may look: a link lets one browser in, once; a cookie says that it is the same browser.

All of it is held in memory, so a service that ends leaves nobody logged in.
"""

import hashlib
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

LINK_S: Final = 300.0
"""Seconds that a link is good for: time enough to copy it to another terminal."""

VISIT_S: Final = 12 * 3600.0
"""Seconds without a request after which a browser has to log in again: a working day."""

MOST_LINKS: Final = 32
MOST_VISITORS: Final = 64
"""Links and browsers that are remembered; a user has one or two, and the oldest goes first."""


@dataclass(frozen=True, slots=True)
class Note:
    """What a page is to say; with ``path``, a form that takes back what was done."""

    text: str
    path: str | None = None
    fields: tuple[tuple[str, str], ...] = ()
    label: str = "Undo"


@dataclass(slots=True)
class Visitor:
    """A browser that was let in: to which workspace, and what proves that a form is ours."""

    root: str
    csrf: str
    seen: float
    notes: list[Note] = field(default_factory=list)
    """What the next page is to say."""


class Visitors:
    """The links that are open and the browsers that are in. For one thread, that of the loop."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._links: OrderedDict[str, tuple[str, float]] = OrderedDict()
        self._visitors: OrderedDict[str, Visitor] = OrderedDict()

    def link(self, root: str) -> str:
        """A token that lets one browser in to the workspace ``root``."""
        token = secrets.token_urlsafe(32)
        self._links[_key(token)] = (root, self._clock() + LINK_S)
        while len(self._links) > MOST_LINKS:
            self._links.popitem(last=False)
        return token

    def enter(self, token: str) -> str | None:
        """Take the token for a cookie; None when it was used, is too old or never was."""
        root, until = self._links.pop(_key(token), ("", 0.0))
        if not root or self._clock() > until:
            return None
        cookie = secrets.token_urlsafe(32)
        self._visitors[_key(cookie)] = Visitor(root, secrets.token_urlsafe(32), self._clock())
        while len(self._visitors) > MOST_VISITORS:
            self._visitors.popitem(last=False)
        return cookie

    def find(self, cookie: str) -> Visitor | None:
        """The browser that has this cookie, if it was seen lately."""
        found = self._visitors.get(_key(cookie))
        if found is None or self._clock() - found.seen > VISIT_S:
            self.leave(cookie)
            return None
        found.seen = self._clock()
        self._visitors.move_to_end(_key(cookie))
        return found

    def leave(self, cookie: str) -> None:
        """Forget a browser."""
        self._visitors.pop(_key(cookie), None)


def _key(secret: str) -> str:
    """Secrets are looked up by their hash: how long that takes says nothing of them."""
    return hashlib.sha256(secret.encode(errors="surrogatepass")).hexdigest()
