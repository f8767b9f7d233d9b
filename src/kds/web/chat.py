"""The chat page."""

from starlette.responses import Response

from kds.api.session_names import session_page
from kds.web.visit import Visit, get

SHOWN = 30
"""Sessions in the sidebar before "more"."""


async def show(visit: Visit) -> Response:
    """The sessions, the one changed last first."""
    sessions, _ = await visit.archive(
        lambda: session_page(visit.served.memory_if_any(), limit=SHOWN, offset=0)
    )
    rows = [(one.title, one.message_count, f"{one.updated_at:%Y-%m-%d %H:%M}") for one in sessions]
    return visit.page("chat.html", title="Chat", sessions=sessions, rows=rows)


routes = (get("/chat", show),)
