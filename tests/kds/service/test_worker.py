"""The thread that routes: in order, one at a time, and no endless queue."""

import asyncio
import threading
from functools import partial

import pytest

from kds.service.errors import BusyError
from kds.service.worker import Worker


def test_calls_run_in_order_on_one_thread_that_is_not_the_loops() -> None:
    seen: list[int] = []
    threads: set[str] = set()

    def call(number: int) -> int:
        seen.append(number)
        threads.add(threading.current_thread().name)
        return number * 2

    async def main() -> list[int]:
        worker = Worker()
        results = await asyncio.gather(*(worker.run(partial(call, n)) for n in range(50)))
        worker.close()
        return results

    assert asyncio.run(main()) == [n * 2 for n in range(50)]
    assert seen == list(range(50))
    assert len(threads) == 1
    assert threading.current_thread().name not in threads


def test_a_full_queue_refuses_and_is_free_again_afterwards() -> None:
    async def main() -> None:
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

    asyncio.run(main())


def test_an_error_reaches_who_asked_and_nobody_else() -> None:
    async def main() -> None:
        worker = Worker(limit=1)
        with pytest.raises(KeyError):
            await worker.run(lambda: {}["missing"])
        assert await worker.run(lambda: 1) == 1
        worker.close()

    asyncio.run(main())


def test_a_closed_worker_says_that_it_is_stopping() -> None:
    async def main() -> None:
        worker = Worker()
        worker.close()
        with pytest.raises(BusyError, match="stopping"):
            await worker.run(lambda: 1)

    asyncio.run(main())
