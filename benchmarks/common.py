"""What the benchmarks share: options, figures, times, processes, servers and made-up words."""

import argparse
import atexit
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import accumulate
from pathlib import Path
from time import perf_counter, process_time
from typing import Final

from kds.api.measures import percentile
from kds.brain.timeouts import Deadline
from kds.brain.workspace import Workspace
from kds.service.lifecycle import health

START_S: Final = 120.0
"""How long a service may take to load."""

POLL_S: Final = 0.02

_RUNTIME: Final = tempfile.mkdtemp(prefix="kds-runtime-")
atexit.register(shutil.rmtree, _RUNTIME, ignore_errors=True)
os.environ["XDG_RUNTIME_DIR"] = _RUNTIME  # a benchmark leaves the user's own service alone


def options(about: str | None, *flags: str, **numbers: int) -> argparse.ArgumentParser:
    """A parser that takes ``flags`` without a value, such as ``--json``, and numbers, as
    ``rounds=30`` does with ``--rounds``.
    """
    parser = argparse.ArgumentParser(description=(about or "").split("\n")[0])
    for flag in flags:
        parser.add_argument(flag, action="store_true")
    for name, usual in numbers.items():
        parser.add_argument(f"--{name}", type=int, default=usual, help=f"[{usual}]")
    return parser


def show(figures: Mapping[str, object], *, as_json: bool) -> None:
    """Print figures, one a line, or all of them as JSON."""
    if as_json:
        print(json.dumps(figures))
        return
    for name, value in figures.items():
        print(f"{name:<36} {value}")


def write_between(page: Path, part: str, text: str) -> None:
    """Put a text between the marks that ``page`` has for a part of it."""
    begin, end = f"<!-- {part}: begin -->", f"<!-- {part}: end -->"
    before, _, rest = page.read_text(encoding="utf-8").partition(begin)
    _, found, after = rest.partition(end)
    if not found:
        raise SystemExit(f"{page} has no marks {begin} and {end}")
    page.write_text(f"{before}{begin}\n{text}{end}{after}", encoding="utf-8")


def cpu_ms(call: Callable[[], object]) -> float:
    """CPU milliseconds of this process in a call."""
    started = process_time()
    call()
    return (process_time() - started) * 1000.0


def spent(call: Callable[[], object]) -> tuple[float, float]:
    """CPU milliseconds of this process in a call, and those on the clock."""
    started = perf_counter()
    cpu = cpu_ms(call)
    return cpu, (perf_counter() - started) * 1000.0


def costs(what: str, times: Sequence[tuple[float, float]]) -> Iterator[tuple[str, object]]:
    """The figures of calls whose times `spent` gave."""
    for name, values in zip(("cpu", "wall"), zip(*times, strict=True), strict=True):
        yield f"{what}_{name}_ms", ranks(values, 50, 95, 99)


def ranks(values: Sequence[float], *percents: int, digits: int = 2) -> dict[str, float]:
    """The percentiles of some values, by their names: p50, p95."""
    return {f"p{one}": round(percentile(values, one), digits) for one in percents}


@contextmanager
def served(
    place: Workspace, *words: str, environ: Mapping[str, str] = os.environ
) -> Iterator[tuple[int, int]]:
    """A `kds serve` that answers; yields its process id, and its port if it has one."""
    command = [sys.executable, "-P", "-m", "kds", "serve", "--workspace", str(place.root), *words]
    with tempfile.NamedTemporaryFile() as log:
        process = subprocess.Popen(command, env=dict(environ), stdout=log, stderr=log)
        try:

            def answers() -> bool:
                return process.poll() is not None or (
                    (found := health(place)) is not None and found["pid"] == process.pid
                )

            in_time = Deadline(START_S).until(answers, pause_s=POLL_S)
            said = Path(log.name).read_text()
            if not in_time or process.poll() is not None:
                raise SystemExit(f"{said}the service did not start")
            port = re.search(r"http://[^\s:]+:(\d+)", said)
            yield process.pid, int(port[1]) if port else 0
        finally:
            process.terminate()
            process.wait(timeout=30)


class Words:
    """Made-up words, as frequent as those of a language are (Zipf); the same for the same seed."""

    def __init__(self, seed: int, count: int, first: Sequence[str] = ()) -> None:
        self.random = random.Random(seed)
        syllables = [a + b for a in "bcdfgklmnprstvz" for b in "aeiou"]
        made = {"".join(self.random.choices(syllables, k=2 + n % 3)) for n in range(count)}
        self.words = [*first, *sorted(made)]
        self.random.shuffle(self.words)
        self._weights = list(accumulate(1 / rank for rank in range(1, len(self.words) + 1)))

    def some(self, count: int) -> list[str]:
        """Return words, the frequent ones more often."""
        return self.random.choices(self.words, cum_weights=self._weights, k=count)
