"""The threads that route: one call after the other, urgent ones first."""

import asyncio
import threading
from functools import partial

import pytest

from kds.service import workspaces

pytestmark = pytest.mark.anyio


async def test_urgent_calls_go_first_and_no_call_begins_before_the_one_before_has_ended(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    worker = workspaces.Worker()
    done: list[str] = []
    gate = threading.Event()
    first = asyncio.create_task(worker.run(gate.wait))
    await asyncio.sleep(0)
    waiting = []
    for name, patient in (("query", True), ("gone", False), ("hook", False), ("hook 2", False)):
        call = worker.run(partial(done.append, name), patient=patient)
        waiting.append(asyncio.create_task(call))
    await asyncio.sleep(0)
    monkeypatch.setattr(workspaces, "LONG_S", -60.0)  # as one that has waited for long
    waiting.append(asyncio.create_task(worker.run(partial(done.append, "old"), patient=True)))
    await asyncio.sleep(0)
    for one in (first, waiting.pop(1)):  # the thread goes on, and what it holds
        one.cancel()
        with pytest.raises(asyncio.CancelledError):
            await one
    assert done == []
    gate.set()
    await asyncio.gather(*waiting)
    worker.close()
    assert done == ["old", "hook", "hook 2", "query"]
