"""Markdown of a model as HTML: no HTML of its own, no pictures, code in colours.

The only text of others that templates take as HTML comes from here.
"""

import re
from collections.abc import Sequence
from functools import cache, lru_cache
from typing import Any, Final

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.rules_core import StateCore
from markdown_it.token import Token
from markupsafe import Markup, escape
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name
from pygments.util import ClassNotFound

from kds.brain.words.stems import WORD, stem

TEXT_LIMIT: Final = 50_000
"""Characters of a text that is read as Markdown; a longer one is shown as it stands. It is read on
the thread that answers everybody: what an answer has in it must not keep the hooks waiting."""

CODE_LIMIT: Final = 20_000
LINE_LIMIT: Final = 500
"""Characters of a block, and of a line of it, that are coloured: 20 ms; beyond, it stays plain.
There are lexers that take ten seconds for one line."""

OPEN_LIMIT: Final = 4000
"""Characters of a paragraph that still grows: a longer one is shown as it stands until it is whole,
for each piece that comes would have it read anew (46 ms for one of 20,000)."""

COLUMNS: Final = 100
"""Of a table. Each row is filled up to as many, so a wide one grows with the square of its text."""

_ONE_LINE_END: Final = re.compile(r"\r\n?")

KEPT: Final = 256
"""Texts whose HTML is kept: some pages of replies. It takes 6 ms for 1,000 characters with code."""

CLASS_PREFIX: Final = "c-"
"""Of the classes of tokens, in kds.css."""


@lru_cache(maxsize=KEPT)
def as_html(text: str) -> Markup:
    """Markdown as HTML, with everything else escaped.

    >>> as_html("**bold** <b>no</b>")
    Markup('<p dir="auto"><strong>bold</strong> &lt;b&gt;no&lt;/b&gt;</p>\\n')
    """
    if len(text) > TEXT_LIMIT:
        return Markup("<pre>{}</pre>").format(text)
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


class GrowingText:
    """Markdown that grows at its end: what stands before its last block is made up once.

    A link whose target is named elsewhere is one when the text is whole. For one thread.
    """

    def __init__(self) -> None:
        self._end = 0
        """Where the last block began the time before."""
        self._before = Markup("")

    def as_html(self, text: str) -> Markup:
        """All of ``text``, which begins as it did the time before."""
        if len(text) > TEXT_LIMIT:
            return as_html(text)
        rest = _ONE_LINE_END.sub("\n", text)[self._end :]
        if len(rest) > OPEN_LIMIT and "\n\n" not in rest:
            return self._before + Markup("<p>{}</p>\n").format(rest)
        return self._read(rest)

    def _read(self, rest: str) -> Markup:
        """What was made up before, and what stands behind it; a block that has ended is kept."""
        reader = _reader(rest)
        tokens = reader.parse(rest, {})
        last = max((at for at, one in enumerate(tokens) if one.map and not one.level), default=0)
        done, open_ = (
            Markup(reader.renderer.render(some, reader.options, {}))
            for some in (tokens[:last], tokens[last:])
        )
        if last and (lines := tokens[last].map):
            self._before += done
            self._end += sum(len(line) + 1 for line in rest.split("\n")[: lines[0]])
            return self._before + open_
        return self._before + done + open_


def _reader(text: str) -> MarkdownIt:
    wide = any(line.count("|") > COLUMNS for line in text.splitlines())
    return _markdown(tables=not wide)


@cache
def _markdown(*, tables: bool) -> MarkdownIt:
    made = MarkdownIt("commonmark", {"html": False, "highlight": _coloured})
    made.enable("strikethrough").disable("image")  # a picture would call elsewhere
    if tables:
        made.enable("table")
    made.add_render_rule("link_open", _link)
    made.add_render_rule("fence", _code)
    made.add_render_rule("code_block", _code)
    made.core.ruler.push("page", _fit_page)
    return made


_TASK: Final = re.compile(r"\[([ xX])\][ \u00a0]")

_BLOCKS: Final = frozenset(
    {"p", "h1", "h2", "h3", "h4", "h5", "h6", "li", "blockquote", "th", "td"}
)


def _fit_page(state: StateCore) -> None:
    """Blocks run in the direction of their text; columns are aligned by classes, as the policy
    refuses styles; ``[x]`` at the beginning of an item of a list is a box."""
    before: list[Token] = []
    for token in state.tokens:
        if token.nesting == 1 and token.tag in _BLOCKS:
            token.attrSet("dir", "auto")
            if style := token.attrs.pop("style", ""):
                token.attrSet("class", str(style).replace("text-align:", "to-"))
        is_item = [one.type for one in before[-2:]] == ["list_item_open", "paragraph_open"]
        children = token.children or []
        if is_item and children and (box := _TASK.match(children[0].content)):
            done = box[1] != " "
            children[0].content = children[0].content[box.end() :]
            html = (
                f'<input type="checkbox" disabled{" checked" * done} '
                f'aria-label="{"done" if done else "to do"}"> '
            )
            children.insert(0, Token("html_inline", "", 0, content=html))
        before.append(token)


def _code(
    self: RendererHTML, tokens: Sequence[Token], index: int, options: Any, environment: Any
) -> str:
    """A block of code, with a button that copies it; the keyboard reaches and scrolls it."""
    kind = tokens[index].type
    made = str(getattr(RendererHTML, kind)(self, tokens, index, options, environment))
    opened = made.replace("<pre", '<pre dir="ltr" tabindex="0" role="region" aria-label="Code"', 1)
    button = '<button type="button" class="small" data-copy="">Copy</button>'
    return f'<div class="code">{button}{opened.rstrip()}</div>\n'


def _link(
    self: RendererHTML, tokens: Sequence[Token], index: int, options: Any, environment: Any
) -> str:
    tokens[index].attrSet("rel", "noopener noreferrer nofollow")
    tokens[index].attrSet("target", "_blank")
    return self.renderToken(tokens, index, options, environment)


def _coloured(code: str, language: str, _: str) -> str:
    if (
        not language
        or len(code) > CODE_LIMIT
        or max(map(len, code.splitlines()), default=0) > LINE_LIMIT
    ):
        return str(escape(code))
    try:
        lexer = get_lexer_by_name(language)
    except ClassNotFound:
        return str(escape(code))
    return str(highlight(code, lexer, HtmlFormatter(nowrap=True, classprefix=CLASS_PREFIX)))
