"""The threads that route: in order, one at a time for each key, and no endless queue."""

import asyncio
import threading
from functools import partial

import pytest

from kds.service import workspaces as module
from kds.service.workspaces import Worker

pytestmark = pytest.mark.anyio


async def blocked(worker: Worker) -> tuple[asyncio.Task[object], threading.Event]:
    """Have a call run until the event is set."""
    gate, begun = threading.Event(), threading.Event()

    def block() -> None:
        begun.set()
        gate.wait()

    first = asyncio.create_task(worker.run(block))
    await asyncio.to_thread(begun.wait)
    return first, gate


@pytest.mark.parametrize(
    ("long_s", "wanted"),
    [(3600.0, ["h1", "h2", "h3", "q1", "q2"]), (-1.0, ["q1", "h1", "q2", "h2", "h3"])],
)
async def test_queries_wait_for_what_is_urgent_but_not_for_ever(
    long_s: float, wanted: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "LONG_S", long_s)
    done: list[str] = []
    worker = Worker()
    first, gate = await blocked(worker)
    waiting = [
        asyncio.create_task(worker.run(partial(done.append, name), patient=name[0] == "q"))
        for name in ("q1", "q2", "h1", "h2", "h3")
    ]
    await asyncio.sleep(0)
    assert worker.waiting == 1 + len(waiting)
    gate.set()
    await asyncio.gather(first, *waiting)
    worker.close()
    assert done == wanted


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
