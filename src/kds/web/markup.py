"""Markdown of a model as HTML: no HTML of its own, no pictures, code in colours.

The only text of others that templates take as HTML comes from here.
"""

from collections.abc import Sequence
from functools import cache, lru_cache
from typing import Any, Final

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markupsafe import Markup, escape
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name
from pygments.util import ClassNotFound

CODE_LIMIT: Final = 20_000
"""Characters of a block that are coloured: 20 ms; a longer one stays plain."""

KEPT: Final = 256
"""Texts whose HTML is kept: some pages of replies. It takes 6 ms for 1,000 characters with code."""

CLASS_PREFIX: Final = "c-"
"""Of the classes of tokens, in kds.css."""


@lru_cache(maxsize=KEPT)
def as_html(text: str) -> Markup:
    """Markdown as HTML, with everything else escaped.

    >>> as_html("**bold** <b>no</b>")
    Markup('<p><strong>bold</strong> &lt;b&gt;no&lt;/b&gt;</p>\\n')
    """
    return Markup(_markdown().render(text))


@cache
def _markdown() -> MarkdownIt:
    made = MarkdownIt("commonmark", {"html": False, "highlight": _coloured})
    made.enable(["table", "strikethrough"]).disable("image")  # a picture would call elsewhere
    made.add_render_rule("link_open", _link)
    return made


def _link(
    self: RendererHTML, tokens: Sequence[Token], index: int, options: Any, environment: Any
) -> str:
    tokens[index].attrSet("rel", "noopener noreferrer nofollow")
    tokens[index].attrSet("target", "_blank")
    return self.renderToken(tokens, index, options, environment)


def _coloured(code: str, language: str, _: str) -> str:
    if not language or len(code) > CODE_LIMIT:
        return str(escape(code))
    try:
        lexer = get_lexer_by_name(language)
    except ClassNotFound:
        return str(escape(code))
    return str(highlight(code, lexer, HtmlFormatter(nowrap=True, classprefix=CLASS_PREFIX)))
