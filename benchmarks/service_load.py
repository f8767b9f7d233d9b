"""What the resident service bears: many clients, an even load, long life, sudden death.

    python benchmarks/service_load.py clients     8 clients x 500 messages, a conversation each
    python benchmarks/service_load.py pace        50 requests a second for 20 s: latency
    python benchmarks/service_load.py memory      20,000 turns: resident memory
    python benchmarks/service_load.py kill        50 rounds of SIGKILL in the middle of requests

Real `kds serve` processes in a temporary workspace, asked over their unix socket. `--json`
prints the figures alone; `--count N` shortens a run.
"""

import argparse
import json
import os
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from kds.brain.errors import KdsError
from kds.brain.journal import ContextJournal
from kds.brain.workspace import Workspace
from kds.conversations import conversation_path
from kds.service.background import health
from kds.service.client import ServiceClient

START_S: Final = 60.0
THINGS: Final = ("FAB button", "progress bar", "login form", "search box", "date picker",
                 "side menu", "user table", "footer")  # fmt: skip
COLORS: Final = ("purple", "green", "teal", "orange")


def main() -> int:
    """Run one of the loads and print its figures."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("load", choices=sorted(LOADS))
    parser.add_argument("--count", type=int, help="messages a client, seconds, turns or rounds")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "kds-brain").mkdir(mode=0o700)
        figures = LOADS[given.load](Workspace.find(Path(folder)), given.count)
    print(json.dumps(figures) if given.json else _table(figures))
    return 0


def clients(place: Workspace, count: int | None) -> dict[str, Any]:
    """Eight clients at once, each in a conversation of its own; every context is checked."""
    number = count or 500
    errors: list[str] = []
    mixed: list[str] = []
    with _service(place):
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
    with _service(place) as pid:
        begin = time.monotonic() + 0.5
        busy = _cpu_s(pid)

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
        busy = _cpu_s(pid) - busy
    return {
        "requests": len(waits), "per_s": rate, "p50_ms": _ms(waits, 50), "p99_ms": _ms(waits, 99),
        "max_ms": round(max(waits) * 1e3, 1), "client_late_p99_ms": _ms(late, 99),
        "service_cpu_share": round(busy / seconds, 2),
    }  # fmt: skip


def memory(place: Workspace, count: int | None) -> dict[str, Any]:
    """Resident memory over many turns of ever new words, sampled twenty times."""
    turns = count or 20_000
    generator, samples = random.Random(1), []
    with _service(place) as pid:
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
        with _service(place) as pid:
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
        with _service(place):
            unserved += ServiceClient(place).route("Make it purple").intent != "EXECUTE"
    return {"rounds": rounds, "context_unreadable": unreadable, "next_start_failed": unserved}


LOADS: Final[dict[str, Callable[[Workspace, int | None], dict[str, Any]]]] = {
    "clients": clients, "pace": pace, "memory": memory, "kill": kill,
}  # fmt: skip


@contextmanager
def _service(place: Workspace) -> Iterator[int]:
    """A `kds serve` that answers; yields its process id."""
    process = subprocess.Popen(
        [sys.executable, "-m", "kds", "serve", "--workspace", str(place.root)],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        deadline = time.monotonic() + START_S
        while (answer := health(place)) is None or answer["pid"] != process.pid:
            if time.monotonic() > deadline or process.poll() is not None:
                raise SystemExit("the service did not start")
            time.sleep(0.02)
        yield process.pid
    finally:
        process.terminate()
        process.wait(timeout=30)


def _in_threads(work: Callable[[int], None], number: int) -> None:
    threads = [threading.Thread(target=work, args=(who,)) for who in range(number)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _new_words(generator: random.Random, index: int) -> str:
    word = "".join(generator.choice("abcdefghijklmnopqrstuvwxyz") for _ in range(9))
    return f"I want to add a {word} button" if index % 2 == 0 else f"Make it {word}"


def _cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _rss_mb(pid: int) -> float:
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def _ms(seconds: Sequence[float], percentile: int) -> float:
    return round(statistics.quantiles(seconds, n=100)[percentile - 1] * 1e3, 1)


def _table(figures: dict[str, Any]) -> str:
    return "\n".join(f"{name:<26}{value}" for name, value in figures.items())


if __name__ == "__main__":
    sys.exit(main())
