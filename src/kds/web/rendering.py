"""Templates, static files, pages of errors, and Markdown of a model as HTML.

Everything in a template is escaped, and a name that does not exist is an error, not an empty place.
The only text of others that templates take as HTML is Markdown from here: no HTML of its own, no
pictures, code in colours. Static files are at addresses that change with their content: browsers
may keep them."""

import hashlib
import mimetypes
import re
from collections.abc import Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, Final

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.rules_core import StateCore
from markdown_it.token import Token
from markupsafe import Markup, escape
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name
from pygments.util import ClassNotFound
from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Mount
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

from kds.brain.clock import minute, moment
from kds.brain.errors import KdsError
from kds.brain.installation import kds_version
from kds.brain.words.terms import WORD, stem
from kds.service.errors import describe_fault
from kds.service.requests import internal_error, status_of

STATIC: Final = Path(__file__).parent / "static"
TEMPLATES: Final = Path(__file__).parent / "templates"
PREFIX: Final = "/static/"
HTMX: Final = "hx-request"
"""The header by which htmx says that it asks for a part of a page."""

_KEPT: Final = "public, max-age=31536000, immutable"

mimetypes.add_type("text/javascript", ".js")  # else what the system says, which may be text/plain


class Assets(StaticFiles):
    """Every static file of the package."""

    def __init__(self) -> None:
        super().__init__(directory=STATIC, follow_symlink=True)  # an editable install has links
        content = b"".join(path.read_bytes() for path in sorted(STATIC.rglob("*.*")))
        self._place = f"{PREFIX}{hashlib.sha256(content).hexdigest()[:12]}"

    def address(self, name: str) -> str:
        """Where a file is, for templates."""
        return f"{self._place}/{name}"

    def squeezed(self) -> ASGIApp:
        """What answers with a file, and with 404 to everything else."""
        gzip = Middleware(GZipMiddleware, minimum_size=0)
        return Starlette(routes=[Mount(self._place, self)], middleware=[gzip])

    def file_response(self, *given: Any, **named: Any) -> Response:
        """A file; it never changes at its address."""
        response = super().file_response(*given, **named)
        response.headers["Cache-Control"] = _KEPT
        return response


HTMX_CONFIG: Final = (
    '{"includeIndicatorStyles":false,"allowEval":false,"selfRequestsOnly":true,'
    '"historyCacheSize":0,"historyRestoreAsHxRequest":false,'
    '"responseHandling":[{"code":"204","swap":false},{"code":"...","swap":true}]}'
)
"""No style and no code of htmx's own making, which the policy would refuse; errors are shown;
nothing of a page is kept in the browser."""


class Renderer:
    """Renders the templates of the package, the pages of errors among them."""

    def __init__(self, assets: Assets, navigation: Sequence[object]) -> None:
        """What stands in the ``navigation`` has a ``label`` and a ``path``."""
        self._environment = Environment(
            loader=FileSystemLoader(TEMPLATES),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._environment.globals.update(
            asset=assets.address,
            navigation=tuple(navigation),
            version=kds_version(),
            htmx_config=HTMX_CONFIG,
        )
        # in UTC; a script shows it in the time of the reader
        self._environment.filters["moment"] = lambda at: Markup(
            '<time datetime="{}">{}</time>'
        ).format(moment(at), minute(at))

    def render(self, template: str, values: dict[str, object]) -> str:
        """Fill a template in. Raises jinja2's errors, which are faults of ours."""
        return self._environment.get_template(template).render(values)

    def trouble(
        self, status: int, message: str, *, where: str | None = None, hint: str | None = None,
        retry: bool = False, headers: Headers | None = None,
    ) -> Response:  # fmt: skip
        """A page of its own, for anybody; with htmx a message for the page that is open.

        ``retry``: the browser asks once more by itself.
        """
        if headers is not None and HTMX in headers:
            sends = headers.get("hx-target") == "turns"  # from the composer: beside the text
            to = {"HX-Retarget": "#refused" if sends else "#alerts", "HX-Reswap": "innerHTML"}
            error = KdsError(message, where=where, hint=hint)
            return HTMLResponse(self.render("message.html", {"error": error}), status, to)
        values: dict[str, object] = {
            "message": message, "where": where, "hint": hint, "retry": retry,
        }  # fmt: skip
        return HTMLResponse(self.render("trouble.html", values), status)

    def tell(self, request: Request, error: Exception) -> Response:
        """Say an error in the form that was asked for."""
        assert isinstance(error, KdsError)  # the handler is registered for these
        return self._told(request, status_of(error), error)

    def missing(self, request: Request, error: Exception) -> Response:
        """There is no such page, not for this method, or not for so much."""
        status = getattr(error, "status_code", 404)
        told = KdsError("There is no such page.", where=request.url.path, hint="go to /chat")
        if status == 413:
            hint = (
                "send at most 64 MB at once, or use `kds docs add FILE` and "
                "`kds memory import FILE`"
            )
            told = KdsError("What was sent is too large for the page.", hint=hint)
        return self._told(request, status, told)

    async def fault(self, request: Request, error: Exception) -> Response:
        """A fault of ours; the log gets its place, the page only its kind."""
        request.app.state.log(f"internal error in {request.url.path}: {describe_fault(error)}")
        return self._told(request, 500, internal_error(error))

    def _told(self, request: Request, status: int, error: KdsError) -> Response:
        return self.trouble(
            status, error.message, where=error.where, hint=error.hint, headers=request.headers
        )


TEXT_LIMIT: Final = 50_000
"""Characters of a text that is read as Markdown; a longer one is shown as it stands. It is read on
the thread that answers everybody: what an answer has in it must not keep the hooks waiting."""

CODE_LIMIT: Final = 20_000
LINE_LIMIT: Final = 500
"""Characters of a block, and of a line of it, that are coloured: 20 ms; beyond, it stays plain.
There are lexers that take ten seconds for one line."""

COLUMNS: Final = 100
"""Of a table. Each row is filled up to as many, so a wide one grows with the square of its text."""

KEPT: Final = 256
"""Texts whose HTML is kept: some pages of replies. It takes 6 ms for 1,000 characters with code."""

CLASS_PREFIX: Final = "c-"
"""Of the classes of tokens, in kds.css."""

_TASK: Final = re.compile(r"\[([ xX])\][ \u00a0]")


@lru_cache(maxsize=KEPT)
def as_html(text: str) -> Markup:
    """Markdown as HTML, with everything else escaped.

    >>> as_html("**bold** <b>no</b>")
    Markup('<p dir="auto"><strong>bold</strong> &lt;b&gt;no&lt;/b&gt;</p>\\n')
    """
    if len(text) > TEXT_LIMIT:
        return Markup('<pre tabindex="0" role="group" aria-label="Text">{}</pre>').format(text)
    return Markup(_reader(text).render(text))


def marked(text: str, words: Sequence[str]) -> Markup:
    """A text, escaped, with every form of the words marked.

    >>> marked("Ports <of> staging", ["port"])
    Markup('<mark>Ports</mark> &lt;of&gt; staging')
    """
    wanted, at = frozenset(map(stem, words)), 0
    parts: list[Markup] = []
    for found in WORD.finditer(text):
        if stem(found[0].casefold()) in wanted:
            parts += escape(text[at : found.start()]), Markup("<mark>{}</mark>").format(found[0])
            at = found.end()
    return Markup("").join((*parts, escape(text[at:])))


def _reader(text: str) -> MarkdownIt:
    return _markdown(tables=all(line.count("|") <= COLUMNS for line in text.splitlines()))


@cache
def _markdown(*, tables: bool) -> MarkdownIt:
    made = MarkdownIt("commonmark", {"html": False, "highlight": _coloured})
    made.enable("strikethrough").disable("image")  # a picture would call elsewhere
    if tables:
        made.enable("table")
    rules = {
        "link_open": _link, "fence": _code, "code_block": _code,
        "table_open": _table, "table_close": _table,
    }  # fmt: skip
    for kind, rule in rules.items():
        made.add_render_rule(kind, rule)
    made.core.ruler.push("page", _fit_page)
    return made


def _fit_page(state: StateCore) -> None:
    """Blocks run in the direction of their text, and lists and tables as a whole; columns are
    aligned by classes, as the policy refuses styles; ``[x]`` at the beginning of an item of a list
    is a box."""
    for at, token in enumerate(state.tokens):
        if token.nesting == 1 and not token.level:
            token.attrSet("dir", "auto")
        if style := token.attrs.pop("style", ""):
            token.attrSet("class", str(style).replace("text-align:", "to-"))
        children, before = token.children or [], state.tokens[max(at - 2, 0) : at]
        is_item = [one.type for one in before] == ["list_item_open", "paragraph_open"]
        if is_item and children and (box := _TASK.match(children[0].content)):
            before[0].attrSet("class", "task")
            children[0].content = children[0].content[box.end() :]
            state_of, label = ("", "to do") if box[1] == " " else (" checked", "done")
            html = f'<input type="checkbox" disabled{state_of} aria-label="{label}"> '
            children.insert(0, Token("html_inline", "", 0, content=html))


def _code(
    self: RendererHTML, tokens: Sequence[Token], index: int, options: Any, environment: Any
) -> str:
    """A block of code, with a button that copies it; the keyboard reaches and scrolls it."""
    made = getattr(RendererHTML, tokens[index].type)(self, tokens, index, options, environment)
    opened = '<pre dir="ltr" tabindex="0" role="group" aria-label="Code"'
    button = '<button type="button" class="small" data-copy="">Copy</button>'
    return f'<div class="code">{button}{str(made).replace("<pre", opened, 1).rstrip()}</div>\n'


def _table(
    self: RendererHTML, tokens: Sequence[Token], index: int, options: Any, environment: Any
) -> str:
    """A table; a wide one scrolls by itself, by the keyboard, too."""
    tag = self.renderToken(tokens, index, options, environment)
    if tokens[index].nesting < 0:
        return f"{tag}</div>\n"
    return f'<div class="scroll" tabindex="0" role="group" aria-label="Table">{tag}'


def _link(
    self: RendererHTML, tokens: Sequence[Token], index: int, options: Any, environment: Any
) -> str:
    tokens[index].attrs |= {"rel": "noopener noreferrer nofollow", "target": "_blank"}
    return self.renderToken(tokens, index, options, environment)


def _coloured(code: str, language: str, _: str) -> str:
    longest = max(map(len, code.splitlines()), default=0)
    try:
        if not language or len(code) > CODE_LIMIT or longest > LINE_LIMIT:
            raise ClassNotFound
        lexer = get_lexer_by_name(language)
    except ClassNotFound:
        return str(escape(code))
    return str(highlight(code, lexer, HtmlFormatter(nowrap=True, classprefix=CLASS_PREFIX)))
