"""The threads that route: in order, one at a time for each key, and no endless queue."""

import asyncio
import threading
from functools import partial

import pytest

from kds.service.workspaces import Worker

pytestmark = pytest.mark.anyio


async def test_calls_of_one_key_never_run_together_and_others_go_on() -> None:
    worker = Worker(at_once=2)
    running: list[str] = []
    done: list[str] = []

    def call(name: str) -> None:
        assert name[0] not in running, "two of one key"
        running.append(name[0])
        done.append(name)
        running.remove(name[0])

    gate = threading.Event()
    first = asyncio.create_task(worker.run(gate.wait, key="a"))
    waiting = [asyncio.create_task(worker.run(partial(call, "a1"), key="a"))]
    for name in ("b1", "b2", "c1"):
        await worker.run(partial(call, name), key=name[0])
    first.cancel()  # the thread goes on, and so does what it holds
    with pytest.raises(asyncio.CancelledError):
        await first
    await worker.run(partial(call, "b3"), key="b")
    assert done == ["b1", "b2", "c1", "b3"]
    gate.set()
    await asyncio.gather(*waiting)
    worker.close()
    assert done[-1] == "a1"
