"""Sessions by the names that people give them: id, its beginning, title, a part of that, `last`."""

from typing import Final

from kds.brain.errors import StoreError
from kds.brain.memory.memory_store import MemoryStore
from kds.brain.memory.records import Session

LAST: Final = "last"
"""Names the session that was changed last."""

NOTHING: Final = "nothing is remembered yet"

_TO_REMEMBER: Final = "`kds ask` remembers, or `kds config set memory.enabled on`"

_PAGE: Final = 500
_CHOICES: Final = 5


def find_session(store: MemoryStore | None, name: str) -> Session:
    """Find the session that ``name`` names, in the closest way in which it names any.

    Raises StoreError when there is none, several, or no store at all.
    """
    if store is None:
        raise StoreError(f"no session '{name}'", hint=f"{NOTHING} here: {_TO_REMEMBER}")
    if (exact := store.find_session(name)) is not None:
        return exact
    sessions = all_sessions(store)
    if name == LAST and sessions:
        return sessions[0]
    found = _called(name, sessions)
    if len(found) == 1:
        return found[0]
    if found:
        listed = ", ".join(f"{one.id} ({one.title})" for one in found[:_CHOICES])
        raise StoreError(
            f"'{name}' may be any of {len(found)} sessions", hint=f"name one: {listed}"
        )
    raise StoreError(f"no session '{name}'", hint="kds memory show lists those there are")


def session_page(
    store: MemoryStore | None, *, limit: int, offset: int
) -> tuple[tuple[Session, ...], int | None]:
    """Return a page of the sessions, the one changed last first, and where the next page begins.

    None on the last page. Without a store there are none.
    """
    found = store.sessions(limit=limit + 1, offset=offset) if store else ()
    return found[:limit], offset + limit if len(found) > limit else None


def all_sessions(store: MemoryStore) -> tuple[Session, ...]:
    """Return every session, the one changed last first."""
    found: list[Session] = []
    while page := store.sessions(limit=_PAGE, offset=len(found)):
        found += page
    return tuple(found)


def _called(name: str, sessions: tuple[Session, ...]) -> list[Session]:
    wanted = name.casefold()
    ways = (
        [one for one in sessions if one.title.casefold() == wanted],
        [one for one in sessions if one.id.startswith(name)],
        [one for one in sessions if wanted in one.title.casefold()],
    )
    return next((found for found in ways if found), [])
