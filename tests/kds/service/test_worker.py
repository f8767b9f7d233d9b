"""The threads that route: one call after the other."""

import asyncio
import threading
from functools import partial

import pytest

from kds.service.errors import BusyError
from kds.service.workspaces import Worker

pytestmark = pytest.mark.anyio


async def test_no_call_begins_before_the_one_before_has_ended() -> None:
    worker = Worker()
    done: list[str] = []
    gate = threading.Event()
    calls = [gate.wait, *(partial(done.append, name) for name in ("gone", "first", "second"))]
    tasks = [asyncio.create_task(worker.run(call)) for call in calls]
    await asyncio.sleep(0)
    assert worker.waiting == 4
    for one in tasks[:2]:  # the thread of the first goes on, and what it holds
        one.cancel()
    await asyncio.sleep(0.1)
    assert done == []
    gate.set()
    found = await asyncio.gather(*tasks, return_exceptions=True)
    assert [isinstance(one, asyncio.CancelledError) for one in found] == [True, True, False, False]
    worker.close()
    assert (done, worker.waiting) == (["first", "second"], 0)


async def test_a_call_that_waits_when_the_service_stops_is_refused() -> None:
    worker = Worker()
    gate = threading.Event()
    running, waiting = (asyncio.create_task(worker.run(gate.wait)) for _ in range(2))
    await asyncio.sleep(0.05)
    worker.close(wait=False)
    gate.set()
    assert await running
    with pytest.raises(BusyError, match="stopping"):
        await waiting
