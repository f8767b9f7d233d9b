"""What the resident service bears: many clients, an even load, long life, sudden death.

    python benchmarks/service_load.py clients     8 clients x 500 messages, a conversation each
    python benchmarks/service_load.py pace        50 requests a second for 20 s: latency
    python benchmarks/service_load.py memory      20,000 turns: resident memory
    python benchmarks/service_load.py kill        50 rounds of SIGKILL in the middle of requests
    python benchmarks/service_load.py query       200 clients ask for 60 s, a hook beside them
    python benchmarks/service_load.py query-tcp   the same over loopback TCP, with the token

Real `kds serve` processes in a temporary workspace, asked over their unix socket. `--json`
prints the figures alone; `--count N` shortens a run.
"""

import asyncio
import itertools
import os
import random
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from common import add_documents, cpu_s, ms, options, post, served, show

from kds.brain.context.conversations import conversation_path
from kds.brain.context.journal import ContextJournal
from kds.brain.errors import KdsError
from kds.brain.workspace import Workspace
from kds.service.resident.address import ServiceAddress
from kds.service.resident.service_client import ServiceClient

THINGS: Final = ("FAB button", "progress bar", "login form", "search box", "date picker",
                 "side menu", "user table", "footer")  # fmt: skip
QUERY_CLIENTS: Final = 200
TALK: Final = (
    "What is the Determination Date?", "And what happens if it falls on a weekend?",
    "What about the Closing Date?", "So which comes first?", "Who must send the Servicer Report?",
    "When is it due?", "How is the servicing fee calculated?", "Who pays it?",
)  # fmt: skip
COLORS: Final = ("purple", "green", "teal", "orange")


def main() -> int:
    """Run one of the loads and print its figures."""
    parser = options(__doc__, "--json")
    parser.add_argument("load", choices=sorted(LOADS))
    parser.add_argument("--count", type=int, help="messages a client, seconds, turns or rounds")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "kds-brain").mkdir(mode=0o700)
        figures = LOADS[given.load](Workspace.find(Path(folder)), given.count)
    show(figures, as_json=given.json)
    return 0


def clients(place: Workspace, count: int | None) -> dict[str, Any]:
    """Eight clients at once, each in a conversation of its own; every context is checked."""
    number = count or 500
    errors: list[str] = []
    mixed: list[str] = []
    with served(place):
        started = time.monotonic()

        def talk(who: int) -> None:
            client, thing = ServiceClient(place), THINGS[who]
            for index in range(number):
                color = COLORS[index % len(COLORS)]
                message = f"I want to add a {thing}" if index % 50 == 0 else f"Make it {color}"
                try:
                    turn = client.route(message, conversation=f"client-{who}")
                except KdsError as error:
                    errors.append(str(error))
                    continue
                if index % 50 and turn.expanded != f"Make the {thing} {color}":
                    mixed.append(f"{thing}: {turn.expanded}")

        _in_threads(talk, len(THINGS))
        elapsed = time.monotonic() - started
    short = [
        who for who in range(len(THINGS))
        if len(ContextJournal(conversation_path(place, f"client-{who}")).load().entries) != 10
    ]  # fmt: skip
    return {
        "clients": len(THINGS), "messages": number * len(THINGS), "errors": len(errors),
        "mixed_up": len(mixed), "contexts_incomplete": len(short),
        "turns_per_s": round(number * len(THINGS) / elapsed, 1),
    }  # fmt: skip


def pace(place: Workspace, count: int | None) -> dict[str, Any]:
    """Fifty requests a second from eight clients, each sent on time whatever came before."""
    seconds = count or 20
    rate, waits = 50, []
    late: list[float] = []
    with served(place) as (pid, _):
        begin = time.monotonic() + 0.5
        busy = cpu_s(pid)

        def talk(who: int) -> None:
            client = ServiceClient(place)
            for index in range(who, rate * seconds, len(THINGS)):
                due = begin + index / rate
                time.sleep(max(0.0, due - time.monotonic()))
                sent = time.monotonic()
                late.append(sent - due)
                message = f"I want to add a {THINGS[who]}" if index % 9 == 0 else "Make it purple"
                client.route(message, conversation=f"client-{who}")
                waits.append(time.monotonic() - sent)

        _in_threads(talk, len(THINGS))
        busy = cpu_s(pid) - busy
    return {
        "requests": len(waits), "per_s": rate, "p50_ms": ms(waits, 50), "p99_ms": ms(waits, 99),
        "max_ms": round(max(waits) * 1e3, 1), "client_late_p99_ms": ms(late, 99),
        "service_cpu_share": round(busy / seconds, 2),
    }  # fmt: skip


def memory(place: Workspace, count: int | None) -> dict[str, Any]:
    """Resident memory over many turns of ever new words, sampled twenty times."""
    turns = count or 20_000
    generator, samples = random.Random(1), []
    with served(place) as (pid, _):
        client = ServiceClient(place)
        for index in range(turns + 1):
            if index % max(1, turns // 20) == 0:
                samples.append(_rss_mb(pid))
            client.route(_new_words(generator, index), conversation=f"c{index // 40}")
    settled = samples[2:]  # the first tenth fills bounded caches
    return {
        "turns": turns, "mb": [round(sample, 1) for sample in samples],
        "change_percent": round(100 * (max(settled) / settled[0] - 1), 1),
        "change_percent_from_start": round(100 * (samples[-1] / samples[0] - 1), 1),
    }  # fmt: skip


def kill(place: Workspace, count: int | None) -> dict[str, Any]:
    """Kill the service while eight clients ask; start it again and look at the context."""
    rounds = count or 50
    generator = random.Random(2)
    unreadable = unserved = 0
    for _ in range(rounds):
        with served(place) as (pid, _):
            stop = threading.Event()

            def talk(who: int, stop: threading.Event = stop) -> None:
                client = ServiceClient(place)
                while not stop.is_set():
                    try:
                        client.route(f"I want to add a {THINGS[who]}")
                    except KdsError:
                        return  # it died under our hands: that is the point

            threads = [threading.Thread(target=talk, args=(who,)) for who in range(len(THINGS))]
            for thread in threads:
                thread.start()
            time.sleep(generator.uniform(0.05, 0.4))
            os.kill(pid, signal.SIGKILL)
            stop.set()
            for thread in threads:
                thread.join()
        loaded = ContextJournal(place.context_path).load()
        unreadable += bool(loaded.warnings) or not loaded.entries
        with served(place):
            unserved += ServiceClient(place).route("Make it purple").intent != "EXECUTE"
    return {"rounds": rounds, "context_unreadable": unreadable, "next_start_failed": unserved}


def query(place: Workspace, count: int | None) -> dict[str, Any]:
    """Two hundred clients that keep their connections and ask one question after the other."""
    return _queries(place, count or 60, over_tcp=False)


def query_tcp(place: Workspace, count: int | None) -> dict[str, Any]:
    """The same over TCP."""
    return _queries(place, count or 60, over_tcp=True)


def _queries(place: Workspace, seconds: int, *, over_tcp: bool) -> dict[str, Any]:
    add_documents(place)
    with served(place, *(["--http", "0"] if over_tcp else [])) as (pid, port):
        run = _QueryLoad(place, pid, seconds, port)
        asyncio.run(run.run())
        return run.figures()


class _QueryLoad:
    """Clients on one event loop, raw sockets: a client must cost less than what it measures."""

    def __init__(self, place: Workspace, pid: int, seconds: int, port: int) -> None:
        self._pid, self._seconds = pid, seconds
        address = ServiceAddress(place.brain)
        self._port, self._socket = port, str(address.socket_path)
        self._token = address.token_path.read_text().strip() if port else ""
        self._waits: list[float] = []
        self._hooks: list[float] = []
        self._errors: list[str] = []
        self._rss: list[float] = [_rss_mb(pid)]

    async def run(self) -> None:
        self._end = time.monotonic() + self._seconds
        clients = [self._client(who) for who in range(QUERY_CLIENTS)]
        await asyncio.gather(*clients, self._hook(), self._watch())
        self._rss.append(_rss_mb(self._pid))

    def figures(self) -> dict[str, Any]:
        warm = self._rss[len(self._rss) // 4]
        return {
            "clients": QUERY_CLIENTS, "seconds": self._seconds, "queries": len(self._waits),
            "per_s": round(len(self._waits) / self._seconds, 1),
            "errors": len(self._errors), "error_kinds": sorted(set(self._errors))[:5],
            "p50_ms": ms(self._waits, 50), "p99_ms": ms(self._waits, 99),
            "hook_p50_ms": ms(self._hooks, 50), "hook_p99_ms": ms(self._hooks, 99),
            "rss_mb_start": round(self._rss[0], 1), "rss_mb_warm": round(warm, 1),
            "rss_mb_end": round(self._rss[-1], 1),
            "rss_change_percent": round(100 * (self._rss[-1] / warm - 1), 1),
        }  # fmt: skip

    async def _client(self, who: int) -> None:
        """Every other one has a session; the rest send their context along."""
        reader, writer = await self._connect()
        said: list[dict[str, str]] = []
        for question in itertools.cycle(TALK[who % len(TALK) :] + TALK[: who % len(TALK)]):
            if time.monotonic() > self._end:
                break
            body: dict[str, Any] = {"query": question}
            body |= {"session_id": f"s{who}"} if who % 2 else {"conversation_context": said}
            sent = time.monotonic()
            try:
                status, _ = await post(reader, writer, "/query", body, token=self._token)
            except (OSError, EOFError) as error:
                self._errors.append(type(error).__name__)
                reader, writer = await self._connect()
                continue
            self._waits.append(time.monotonic() - sent)
            if status != 200:
                self._errors.append(str(status))
            said = [*said, {"role": "user", "content": question}][-10:]
        writer.close()

    async def _hook(self) -> None:
        """A person who types a prompt twice a second meanwhile."""
        reader, writer = await self._connect()
        while time.monotonic() < self._end:
            sent = time.monotonic()
            body = {"session_id": "person", "prompt": "I want to add a FAB button"}
            status, _ = await post(reader, writer, "/hook", body, token=self._token)
            if status not in (200, 204):
                self._errors.append(f"hook {status}")
            self._hooks.append(time.monotonic() - sent)
            await asyncio.sleep(0.5)
        writer.close()

    async def _watch(self) -> None:
        while time.monotonic() < self._end:
            await asyncio.sleep(max(self._seconds / 20, 0.1))
            self._rss.append(_rss_mb(self._pid))

    async def _connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        if self._port:
            return await asyncio.open_connection("127.0.0.1", self._port)
        return await asyncio.open_unix_connection(self._socket)


LOADS: Final[dict[str, Callable[[Workspace, int | None], dict[str, Any]]]] = {
    "clients": clients, "pace": pace, "memory": memory, "kill": kill,
    "query": query, "query-tcp": query_tcp,
}  # fmt: skip


def _in_threads(work: Callable[[int], None], number: int) -> None:
    threads = [threading.Thread(target=work, args=(who,)) for who in range(number)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _new_words(generator: random.Random, index: int) -> str:
    word = "".join(generator.choice("abcdefghijklmnopqrstuvwxyz") for _ in range(9))
    return f"I want to add a {word} button" if index % 2 == 0 else f"Make it {word}"


def _rss_mb(pid: int) -> float:
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


if __name__ == "__main__":
    sys.exit(main())
