"""The thread that routes: in order, one at a time, and no endless queue."""

import asyncio
import threading
from functools import partial

import pytest

from kds.service.errors import BusyError
from kds.service.worker import LONG_S, Worker

pytestmark = pytest.mark.anyio


async def test_calls_run_in_order_on_one_thread_that_is_not_the_loops() -> None:
    seen: list[int] = []
    threads: set[str] = set()

    def call(number: int) -> int:
        seen.append(number)
        threads.add(threading.current_thread().name)
        return number * 2

    worker = Worker()
    results = await asyncio.gather(*(worker.run(partial(call, n)) for n in range(50)))
    worker.close()
    assert results == [n * 2 for n in range(50)]
    assert seen == list(range(50))
    assert len(threads) == 1
    assert threading.current_thread().name not in threads


async def test_a_full_queue_refuses_and_is_free_again_afterwards() -> None:
    worker = Worker(limit=2)
    gate = threading.Event()
    waiting = [asyncio.create_task(worker.run(gate.wait)) for _ in range(2)]
    await asyncio.sleep(0)
    with pytest.raises(BusyError, match="2 requests are waiting"):
        await worker.run(gate.wait)
    gate.set()
    assert await asyncio.gather(*waiting) == [True, True]
    assert await worker.run(lambda: "free") == "free"
    worker.close()


async def test_an_error_reaches_who_asked_and_nobody_else() -> None:
    worker = Worker(limit=1)
    with pytest.raises(KeyError):
        await worker.run(lambda: {}["missing"])
    assert await worker.run(lambda: 1) == 1
    worker.close()


async def test_a_closed_worker_says_that_it_is_stopping() -> None:
    worker = Worker()
    worker.close()
    with pytest.raises(BusyError, match="stopping"):
        await worker.run(lambda: 1)


async def blocked(worker: Worker) -> tuple[asyncio.Task[object], threading.Event]:
    """Have a call run until the event is set."""
    gate, begun = threading.Event(), threading.Event()

    def block() -> None:
        begun.set()
        gate.wait()

    first = asyncio.create_task(worker.run(block))
    await asyncio.to_thread(begun.wait)
    return first, gate


async def order(*names: str, later_s: float) -> list[str]:
    """Return in which order calls run that came while one ran; those of queries are patient."""
    done: list[str] = []
    now = 0.0
    worker = Worker(clock=lambda: now)
    first, gate = await blocked(worker)
    waiting = [
        asyncio.create_task(worker.run(partial(done.append, name), patient=name[0] == "q"))
        for name in names
    ]
    await asyncio.sleep(0)
    assert worker.waiting == 1 + len(names)
    now += later_s
    gate.set()
    await asyncio.gather(first, *waiting)
    worker.close()
    return done


async def test_what_is_urgent_goes_before_what_is_patient_and_each_keeps_its_order() -> None:
    assert await order("q1", "q2", "h1", "q3", "h2", later_s=0) == ["h1", "h2", "q1", "q2", "q3"]


async def test_what_has_waited_long_goes_between_two_urgent_calls() -> None:
    found = await order("q1", "q2", "h1", "h2", "h3", later_s=LONG_S + 1)
    assert found == ["q1", "h1", "q2", "h2", "h3"]


async def test_a_queue_full_of_patient_calls_leaves_room_for_urgent_ones() -> None:
    worker = Worker(limit=2)
    gate = threading.Event()
    waiting = [asyncio.create_task(worker.run(gate.wait, patient=True)) for _ in range(2)]
    await asyncio.sleep(0)
    with pytest.raises(BusyError):
        await worker.run(gate.wait, patient=True)
    urgent = asyncio.create_task(worker.run(lambda: "here"))
    await asyncio.sleep(0)
    gate.set()
    assert await urgent == "here"
    assert await asyncio.gather(*waiting) == [True, True]
    worker.close()


async def test_a_call_whose_client_has_gone_is_not_run() -> None:
    ran: list[int] = []
    worker = Worker()
    first, gate = await blocked(worker)
    gone = asyncio.create_task(worker.run(lambda: ran.append(1)))
    await asyncio.sleep(0)
    gone.cancel()
    with pytest.raises(asyncio.CancelledError):
        await gone
    gate.set()
    await first
    assert await worker.run(lambda: "next") == "next"
    worker.close()
    assert ran == []
