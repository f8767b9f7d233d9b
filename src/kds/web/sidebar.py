"""The sessions beside the chat: recent first, a page at a time, or those that a search names."""

from dataclasses import dataclass
from typing import Final

from kds.api.session_names import all_sessions, session_page
from kds.brain.memory.records import Session
from kds.service.workspaces import ServedWorkspace
from kds.web.visit import Visit

SHOWN: Final = 30
"""Sessions of a page."""

FOUND: Final = 100
"""Sessions that a search shows at most."""


@dataclass(frozen=True, slots=True)
class Sidebar:
    """What stands beside the chat."""

    sessions: tuple[Session, ...]
    search: str = ""
    earlier: int | None = None
    """Where the next page begins."""
    chosen: str | None = None


async def sidebar(visit: Visit, chosen: str | None = None) -> Sidebar:
    """The sessions that the address asks for; ``chosen`` is the one that is open."""
    search, offset = visit.text("search").strip(), visit.number("offset", 0)

    def read() -> Sidebar:
        if search:
            return Sidebar(found(visit.served, search), search, None, chosen)
        store = visit.served.memory_if_any()
        sessions, following = session_page(store, limit=SHOWN, offset=offset)
        return Sidebar(sessions, "", following, chosen)

    return await visit.archive(read)


def found(served: ServedWorkspace, search: str) -> tuple[Session, ...]:
    """The sessions whose title or id has every word of ``search``."""
    store, words = served.memory_if_any(), search.casefold().split()
    every = all_sessions(store) if store else ()
    texts = ((one, f"{one.title} {one.id}".casefold()) for one in every)
    named = (one for one, text in texts if all(word in text for word in words))
    return tuple(one for _, one in zip(range(FOUND), named, strict=False))
