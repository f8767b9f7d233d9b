"""Markdown as HTML: whole, as it grows, and as those who look at an answer get it."""

import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import Any, cast

import pytest

from kds.session.exchange import Exchange
from kds.web.rendering import as_html
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
