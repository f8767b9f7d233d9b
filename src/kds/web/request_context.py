"""A request for a page: its visitor, its form, and the ways to answer."""

import hmac
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final, TypeVar
from urllib.parse import quote, urlsplit

from starlette.datastructures import FormData, UploadFile
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from kds.brain.errors import KdsError
from kds.service.errors import ForbiddenError
from kds.service.requests import opened
from kds.service.workspaces import ServedWorkspace
from kds.web.auth import VISITOR, Note, Visitor
from kds.web.rendering import HTMX, Renderer

THEME: Final = "kds-theme"
THEMES: Final = ("auto", "light", "dark")
TOKEN: Final = "x-csrf-token"
"""The header by which htmx shows that a page is of this visit."""

_IN_ADDRESS: Final = ":/%#?=@[]!$&'()*+,"

_Result = TypeVar("_Result")


@dataclass(frozen=True, slots=True)
class RequestContext:
    """One request of a browser that is logged in to the workspace ``served``; ``form`` is what a
    form sent, empty for a page that is only looked at."""

    request: Request
    served: ServedWorkspace
    form: FormData

    @property
    def visitor(self) -> Visitor:
        """The browser that asks."""
        found: Visitor = self.request.scope[VISITOR]
        return found

    @property
    def partial(self) -> bool:
        """Whether htmx asks, for a part of a page."""
        return HTMX in self.request.headers

    async def archive(self, call: Callable[[], _Result]) -> _Result:
        """Run what reads or writes a store, on the thread that does nothing else."""
        return await self.served.archivist.run(call)

    async def route(self, call: Callable[[], _Result]) -> _Result:
        """Run what routes or searches, on the router's thread."""
        return await self.served.worker.run(call)

    def text(self, name: str, default: str = "") -> str:
        """A field of the form, or of the query string."""
        value = self.form.get(name, self.request.query_params.get(name, default))
        return default if isinstance(value, UploadFile) else value

    def number(self, name: str, default: int, *, most: int = 2**31) -> int:
        """A whole number of the form or the query string, from 0 to ``most``."""
        text = self.text(name)
        return min(int(text), most) if text.isascii() and text.isdigit() else default

    def upload(self, name: str) -> UploadFile | None:
        """A file of the form, if one was chosen."""
        value = self.form.get(name)
        return value if isinstance(value, UploadFile) and value.filename else None

    def page(self, template: str, *, title: str, **values: object) -> Response:
        """A whole page; ``title`` stands in the window's bar."""
        whole = {"title": title, "warnings": self.served.warnings, **values}
        return self.part(template, **whole | {"notes": self.take_notes()})

    def take_notes(self) -> tuple[Note, ...]:
        """What is to be said of what was done; said once."""
        notes, self.visitor.notes = tuple(self.visitor.notes), []
        return notes

    def take_refused(self, action: str) -> dict[str, str]:
        """What was typed into the form with this action, if it was refused; once."""
        found = self.visitor.refused
        if found.get("action") != action:
            return {}
        self.visitor.refused = {}
        return found

    def part(self, template: str, **values: object) -> Response:
        """A part of a page, for htmx."""
        return HTMLResponse(self.rendered(template, **values))

    def rendered(self, template: str, **values: object) -> str:
        """A template, filled in."""
        renderer: Renderer = self.request.app.state.renderer
        theme, url = self.request.cookies.get(THEME), self.request.url
        shared: dict[str, object] = {
            "csrf": self.visitor.csrf,
            "here": url.path,
            "place": f"{url.path}?{url.query}" if url.query else url.path,
            "theme": theme if theme in THEMES else THEMES[0],
            "workspace": self.served.root,
        }
        return renderer.render(template, shared | values)

    def refuse(self, error: KdsError) -> Response:
        """Go back to the page of the form, which says why and has what was typed into it.

        Raises the error where htmx asks, which shows it beside the form, and where no page is
        known to go back to.
        """
        page = urlsplit(self.request.headers.get("referer", ""))
        if self.partial or not page.path:
            raise error
        texts = {name: text for name, text in self.form.items() if isinstance(text, str)}
        self.visitor.refused = texts | {"action": self.request.url.path}
        place = f"{page.path}?{page.query}" if page.query else page.path
        return self.go(path_of(place), Note("", error=error))

    def go(self, path: str, note: Note | str | None = None) -> Response:
        """Go on to another page, which says ``note``; htmx goes there, too."""
        if note is not None:
            self.visitor.notes.append(Note(note) if isinstance(note, str) else note)
        if self.partial:
            # quoted as the other one: a script would leave a tab out, and "/\t/there" is elsewhere
            return Response(status_code=204, headers={"HX-Redirect": quote(path, safe=_IN_ADDRESS)})
        return RedirectResponse(path, 303)


def path_of(text: str) -> str:
    """A path of this site, never another one ("//elsewhere")."""
    return text if text.startswith("/") and not text.startswith(("//", "/\\")) else "/"


def download(text: str, name: str, media_type: str) -> Response:
    """A file that the browser is to keep."""
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return Response(text, media_type=media_type, headers=headers)


View = Callable[[RequestContext], Awaitable[Response]]


@dataclass(frozen=True, eq=False)
class _Page:
    """Answers with a view; the workspace stays open until all is sent."""

    view: View

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Open the workspace; a form has to prove that it is one of ours."""
        request = Request(scope, receive)
        async with opened(request) as served:
            context = RequestContext(request, served, FormData())
            if TOKEN in request.headers and not _is_ours(context):  # of a page from another visit
                response = Response(status_code=403, headers={"HX-Refresh": "true"})
            elif request.method != "POST":
                response = await self.view(context)
            else:
                async with request.form(max_files=100, max_part_size=2**24) as form:
                    context = RequestContext(request, served, form)
                    _check_ours(context)
                    try:
                        response = await self.view(context)
                    except KdsError as error:
                        response = context.refuse(error)
            await response(scope, receive, send)


def get(path: str, view: View) -> Route:
    """A page that changes nothing."""
    return Route(path, _Page(view), methods=["GET"], name=f"GET {path}")


def post(path: str, view: View) -> Route:
    """What a form does."""
    return Route(path, _Page(view), methods=["POST"], name=f"POST {path}")


def _check_ours(context: RequestContext) -> None:
    if not _is_ours(context):
        raise ForbiddenError(
            "this form is not of the page that you are logged in to",
            hint="open the page anew, and send it from there",
        )


def _is_ours(context: RequestContext) -> bool:
    given = context.request.headers.get(TOKEN) or context.form.get("csrf")
    text = given if isinstance(given, str) else ""
    return hmac.compare_digest(text.encode(), context.visitor.csrf.encode())
