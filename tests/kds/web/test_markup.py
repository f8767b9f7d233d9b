"""Markdown as HTML: whole, as it grows, and as those who look at an answer get it."""

import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import Any, cast

import pytest
from markdown_it import MarkdownIt

from kds.session.exchange import Exchange
from kds.web.rendering import GrowingText, as_html
from kds.web.talks import Telling

from ...effort import PATIENCE_S


@pytest.mark.parametrize(
    ("text", "has", "has_not"),
    [
        ("**bold** <b>no</b>", "<strong>bold</strong> &lt;b&gt;", "<b>"),
        ("![x](http://a.example/x.png)", "x", "<img"),
        ("[y](javascript:z)", "javascript", "<a"),
        ("[y](https://a.example)", 'rel="noopener noreferrer nofollow"', "<script"),
        ("```python\nx = '<b>'\n```", "c-", "<b>"),
        ("```nothing\n<b>\n```", "&lt;b&gt;", "<b>"),
        ("| a |\n|---|\n| 1 |", "<td>1</td>", "|"),
    ],
)
def test_markdown_becomes_html_without_any_of_its_own(text: str, has: str, has_not: str) -> None:
    html = as_html(text)
    assert has in html
    assert has_not not in html


GROWING = (
    "# Plan\r\n\r\nOne **line**\nand another.\n\n- a\n- b\n\n  of b\n\n1. first\n\n```python\nx = 1"
    "\n\ny = '`'\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n> said\nlazily\n\n    code\n\nTitle\n"
    "=====\n\u2028odd\x0blines\n\n---\n\na [link](https://example.org), `co\tde`, <b>no</b>"
)


def test_an_answer_that_grows_reads_as_if_it_was_whole() -> None:
    growing = GrowingText()
    for end in range(len(GROWING) + 1):
        said = GROWING[:end]
        assert growing.as_html(said) == as_html(said), said
    assert growing.as_html("x" * 50_001) == as_html("x" * 50_001)


def test_what_stands_before_the_last_block_is_not_read_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    read: list[int] = []
    parse = MarkdownIt.parse

    def counted(self: MarkdownIt, text: str, env: Any = None) -> Any:
        read.append(len(text))
        return parse(self, text, env)

    monkeypatch.setattr(MarkdownIt, "parse", counted)
    growing, said = GrowingText(), ""
    for number in range(200):
        said += f"Paragraph **{number}** of many.\n\n"
        growing.as_html(said)
    assert max(read) < 100


@pytest.mark.parametrize(
    "text",
    [
        "```python\n" + "(" * 501 + "\n```",
        "|".join("a" * 102) + "\n" + "|".join("-" * 102) + "\n" + "a\n" * 1000,
        "*a*" * 20_000,
    ],
)
def test_what_would_take_seconds_to_make_up_is_shown_as_it_stands(text: str) -> None:
    made = as_html(text)
    assert not any(tag in made for tag in ("<span", "<table", "<em>"))
    assert len(made) < len(text) + 250


TABS = 50


class Slow:
    """An exchange whose answer goes on when it is told to."""

    def __init__(self) -> None:
        self.steps = [Event(), Event()]

    def pieces(self) -> Iterator[str]:
        """Two pieces, each of which has to be seen before it goes on."""
        for piece, step in zip(("one", " two"), self.steps, strict=True):
            yield piece
            assert step.wait(PATIENCE_S)


def test_what_has_come_is_made_up_once_for_all_tabs_that_look() -> None:
    made: list[str] = []
    seen: list[list[str]] = [[] for _ in range(TABS)]

    def make(said: str) -> str:
        made.append(said)
        return said.upper()

    async def look(telling: Telling, at: int) -> None:
        async for shown in telling.pieces(make):
            seen[at].append(shown)

    async def all_look() -> None:
        slow = Slow()
        telling = Telling(cast("Exchange", cast("Any", slow)))
        tabs = [asyncio.create_task(look(telling, at)) for at in range(TABS)]
        for count, step in enumerate(slow.steps, start=1):
            while not all(len(one) == count for one in seen):
                await asyncio.sleep(0.01)
            step.set()
        assert await telling.wait(PATIENCE_S)
        await asyncio.gather(*tabs)

    with ThreadPoolExecutor(1) as pool:  # in this thread the browser's driver has its own loop
        pool.submit(asyncio.run, asyncio.wait_for(all_look(), PATIENCE_S)).result()
    assert made == ["one", "one two"]
    assert seen == [["ONE", "ONE TWO"]] * TABS
