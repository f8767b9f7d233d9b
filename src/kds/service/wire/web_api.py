"""Opening the web page: asked by `kds web`, over the socket that only its user can reach."""

from typing import Annotated, Final

from fastapi import APIRouter, Request
from pydantic import BeforeValidator, Field
from starlette.responses import Response

from kds.service.page_listener import SiteHost
from kds.service.wire.errors import ConflictError
from kds.service.wire.operation import documented, served_workspace
from kds.service.wire.schemas import WORKSPACE, RequestBody, whole
from kds.service.wire.value_view import Reply

router = APIRouter(tags=["web"])

MOST_PORT: Final = 65_535


class WebRequest(RequestBody):
    """Where the page is to be."""

    port: Annotated[int, Field(ge=1, le=MOST_PORT), BeforeValidator(whole)] | None = Field(
        default=None, description="null: any free one, or where it is already."
    )
    workspace: str | None = WORKSPACE


class WebReply(Reply):
    """Where the page is."""

    url: str
    login: str
    """A link that lets one browser in, once, within a few minutes."""


@router.post("/web", responses=documented(WebReply, 400, 404, 409, 422, 503))
async def open_web(request: Request, asked: WebRequest) -> Response:
    """Open the web page, unless it is open, and let one browser in."""
    served = served_workspace(request, asked.workspace)
    host: SiteHost | None = request.app.state.site
    if host is None:
        raise ConflictError("this is no running service", hint="start it: kds web")
    url, login = await host.open(served.root, asked.port)
    return WebReply(url=url, login=login).response()
