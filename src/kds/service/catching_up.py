"""What a shared service heard during an outage is stored soon after it.

The next message of that conversation may come to another service, which should know.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Final

from kds.brain.errors import KdsError
from kds.service.worker import Worker
from kds.service.workspaces import ServedWorkspace

PAUSE_S: Final = 2.0
"""Between two looks, which cost nothing while nothing waits."""


async def catch_up(
    served: Sequence[ServedWorkspace], reachable: Callable[[], Awaitable[bool]], worker: Worker
) -> None:
    """Store what waits whenever the database is back, until cancelled."""
    while True:
        await asyncio.sleep(PAUSE_S)
        late = [one for each in served for one in each.contexts if one.late]
        if late and await reachable():
            for one in late:
                with suppress(KdsError):  # away again, or busy: next time
                    await worker.run(one.catch_up, patient=True)
