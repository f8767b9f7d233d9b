"""Waiting for models: bounded, in threads of their own, and let go at the end."""

import asyncio
import threading

import pytest

from kds.query.answer import Speakers, WaitError

from ...effort import PATIENCE_S


def test_a_call_runs_elsewhere_and_its_error_is_its_own() -> None:
    async def main() -> None:
        speakers = Speakers()
        name = await speakers.run(lambda: threading.current_thread().name, timeout_s=PATIENCE_S)
        assert name == "kds-answer"
        with pytest.raises(KeyError):
            await speakers.run(lambda: {}["missing"], timeout_s=PATIENCE_S)

    asyncio.run(main())


def test_only_so_many_are_waited_for_at_once_and_the_place_counts_as_waiting(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("kds.query.answer.GRACE_S", 0.0)
    gate = threading.Event()

    async def main() -> None:
        speakers = Speakers(limit=1)
        first = asyncio.create_task(speakers.run(gate.wait, timeout_s=PATIENCE_S))
        await asyncio.sleep(0)
        with pytest.raises(WaitError):
            await speakers.run(lambda: True, timeout_s=0.05)
        gate.set()
        assert await first is True
        assert await speakers.run(lambda: "free", timeout_s=PATIENCE_S) == "free"

    asyncio.run(main())


def test_at_the_end_everybody_is_let_go() -> None:
    gate = threading.Event()

    async def main() -> None:
        speakers = Speakers()
        waiting = asyncio.create_task(speakers.run(gate.wait, timeout_s=PATIENCE_S))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        speakers.stop()
        with pytest.raises(WaitError, match="stopping"):
            await waiting
        with pytest.raises(WaitError, match="stopping"):
            await speakers.run(lambda: True, timeout_s=PATIENCE_S)

    asyncio.run(main())
    gate.set()
