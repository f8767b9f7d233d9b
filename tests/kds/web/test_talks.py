"""An answer on its way, and those who look at it."""

import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import Any, cast

from kds.session.exchange import Exchange
from kds.web.talks import Telling

from ...effort import PATIENCE_S

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
