"""The hook beside many open tabs: each side in a process of its own, run by benchmarks/web_page.py.

    python benchmarks/web_tabs.py tabs HOST PORT COUNT    # the cookie and the path come by stdin
    python benchmarks/web_tabs.py hook BRAIN COUNT        # the hook's input comes by stdin

`tabs` holds COUNT connections open at a page, says `open` once each has got something of it, and
ends with its stdin. `hook` asks as `kds-hook` does, and prints how long each call took, and how
much later than it wanted it woke before each: that is what a busy machine adds by itself.
"""

import asyncio
import json
import sys
import time
from collections.abc import Sequence

from kds.hooks.call import ask, connect

EVERY_S = 0.05
WARM_UPS = 5
WAIT_S = 60.0


def main(words: Sequence[str]) -> None:
    """Do what is asked for."""
    if words[0] == "tabs":
        asyncio.run(_tabs(words[1], int(words[2]), int(words[3])))
    else:
        sys.stdout.write(json.dumps(_hook(words[1], int(words[2]), sys.stdin.buffer.read())))


async def _tabs(host: str, port: int, count: int) -> None:
    cookie, path = sys.stdin.readline().split()
    request = f"GET {path} HTTP/1.1\r\nHost: {host}:{port}\r\nCookie: {cookie}\r\n\r\n".encode()
    heard = [asyncio.Event() for _ in range(count)]
    tabs = [asyncio.create_task(_tab(host, port, request, one)) for one in heard]
    await asyncio.wait_for(asyncio.gather(*(one.wait() for one in heard)), WAIT_S)
    print("open", flush=True)  # whoever started it waits for that
    await asyncio.to_thread(sys.stdin.read)
    for tab in tabs:
        tab.cancel()


async def _tab(host: str, port: int, request: bytes, heard: asyncio.Event) -> None:
    reader, writer = await asyncio.open_connection(host, port)
    writer.write(request)
    while True:
        if not await reader.read(65_536):
            await asyncio.sleep(WAIT_S * 10)  # the service has closed it, as it does after a while
        heard.set()


def _hook(brain: str, count: int, content: bytes) -> dict[str, list[float]]:
    took, late, said = [], [], json.loads(content)
    for number in range(-WARM_UPS, count):
        prompt = f"Make it {number + WARM_UPS} pixels wide"  # the same one again is not routed
        sent = json.dumps(said | {"prompt": prompt}).encode()
        due = time.perf_counter() + EVERY_S
        time.sleep(EVERY_S)
        began = time.perf_counter()
        ends = time.monotonic() + WAIT_S
        ask(connect(brain, ends), sent, ends)  # which says nothing as a rule
        if number >= 0:
            took.append(time.perf_counter() - began)
            late.append(began - due)
    return {"took": took, "late": late}


if __name__ == "__main__":
    main(sys.argv[1:])
