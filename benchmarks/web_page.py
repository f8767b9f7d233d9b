"""Measure the web page of a real service, in a real browser where there is one.

    python benchmarks/web_page.py [--hooks N]

First visit, a turn, a session with 10,000 messages, the hook beside fifty open tabs
(benchmarks/web_tabs.py), layout shift and unused files. Each figure stands beside what it must
reach. How busy the machine is, stands on top, and beside the hook how late its caller woke: the
machine's own part, which a figure of the hook cannot be below.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from html import unescape
from pathlib import Path
from typing import Final

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # the fake model is a test's

import httpx
from benchmarks.web_place import Page, Place, workspace
from common import cpu_s, ms, options
from tests.agents.openai_server import FakeProvider, Trickle, serving

MESSAGES: Final = 10_000
TABS: Final = 50
LOOKED_S: Final = 10.0
"""How long the service's processor time is looked at beside tabs, before the hook asks."""
OTHERS: Final = str(Path(__file__).with_name("web_tabs.py"))
TIMES: Final = 15
STATIC: Final = Path(__file__).resolve().parent.parent / "src/kds/web/static"
AT: Final = "2025-11-03T09:00:00Z"
ANSWERS: Final = {
    "an answer on its way": "and **more** of it.\n\n",
    "one endless paragraph": "and **more** ",
}
"""What a model says again and again, fifty times a second: blocks, of which only the last is made
up anew, and the worst there is, a single one that grows."""

PAGES: Final = (
    "/chat", "/chat?session=long", "/memory", "/documents", "/analytics", "/settings",
    "/playground",
)  # fmt: skip

SHIFTS: Final = """
window.shifted = 0;
new PerformanceObserver(list => {
  for (const one of list.getEntries()) if (!one.hadRecentInput) window.shifted += one.value;
}).observe({type: "layout-shift", buffered: true});
"""


@dataclass(frozen=True)
class Figure:
    """What was measured, and what it must not be above."""

    name: str
    value: float
    most: float | None
    unit: str

    @property
    def passes(self) -> bool:
        """Whether it is as it must be; what has no limit explains another figure."""
        return self.most is None or self.value <= self.most


def main() -> int:
    """Measure all and print it; fails when a figure is above what it must reach."""
    count = options(__doc__, hooks=200).parse_args().hooks
    load = os.getloadavg()[0]
    with ExitStack() as stack:
        provider = stack.enter_context(serving(FakeProvider()))
        place = stack.enter_context(workspace(provider.url))
        page = stack.enter_context(place.visitor())
        parts = [
            lambda: _first_page(page),
            lambda: _turn(page),
            lambda: _long(page),
            lambda: _hooks(place, page, provider, count),
            lambda: _in_browser(place) if shutil.which("chromium") else [],
        ]
        print(f"{os.cpu_count()} processors, load {load:.1f}")
        figures = []
        for part in parts:
            for one in part():
                figures.append(one)
                limit = "" if one.most is None else f"<= {one.most:g}"
                print(f"{one.name:58}{one.value:10.1f} {one.unit:3} {limit}", flush=True)
    return int(not all(one.passes for one in figures))


def _first_page(page: Page) -> list[Figure]:
    waits, sizes = [], 0
    for _ in range(TIMES):
        began = time.perf_counter()
        answer = page.get("/chat")
        sizes = _wire(answer)
        for path in re.findall(r'"(/static/[^"]+)"', answer.text):
            sizes += _wire(page.get(path))
        waits.append(time.perf_counter() - began)
    return [
        Figure("first page with all its files, p50", ms(waits, 50), 200, "ms"),
        Figure("first page over the wire", sizes / 1000, 150, "kB"),
    ]


def _wire(answer: httpx.Response) -> int:
    return answer.num_bytes_downloaded + sum(len(a) + len(b) + 4 for a, b in answer.headers.raw)


def _turn(page: Page) -> list[Figure]:
    session = page.send_form("/chat/send", message="I want to add a FAB button").url.params[
        "session"
    ]
    csrf, waits = page.csrf(), []
    for number in range(TIMES):
        data = {
            "csrf": csrf, "session": session, "message": f"Make it {number} pixels wide",
            "after": str(2 * number + 2),  # a browser says what it has shown
        }  # fmt: skip
        began = time.perf_counter()
        page.post("/chat/send", data=data, headers={"HX-Request": "true"}).raise_for_status()
        waits.append(time.perf_counter() - began)
    return [Figure("a turn, by a warm service, p50", ms(waits[3:], 50), 150, "ms")]


def _long(page: Page) -> list[Figure]:
    messages = [
        {
            "role": "assistant" if at % 2 else "user",
            "content": f"Message **{at}** of many",
            "at": AT,
        }
        for at in range(MESSAGES)
    ]
    session = {"id": "long", "title": "Long", "created_at": AT, "updated_at": AT}
    archive = json.dumps({"kds_memory": 1, "sessions": [session | {"messages": messages}]})
    page.send_form("/chat/import", files={"file": ("long.json", archive)})
    opened, paged, before = [], [], MESSAGES
    for _ in range(TIMES):
        began = time.perf_counter()
        page.get("/chat?session=long").raise_for_status()
        opened.append(time.perf_counter() - began)
        began = time.perf_counter()
        address = f"/chat?session=long&before={before // 2}"
        page.get(address, headers={"HX-Request": "true"}).raise_for_status()
        paged.append(time.perf_counter() - began)
        before -= 500
    return [
        Figure(f"a session of {MESSAGES} messages opens, p50", ms(opened, 50), 200, "ms"),
        Figure("and goes on to earlier ones, p50", ms(paged, 50), 200, "ms"),
    ]


def _hooks(place: Place, page: Page, provider: FakeProvider, count: int) -> list[Figure]:
    """The hook while nobody looks, beside tabs that are read, and beside those that are told."""
    figures = list(_waits("no tab open", place, count))
    with _tabs(page, "/chat?session=long"):
        figures.append(_share(f"{TABS} tabs that are read", place, 1))
        figures += _waits(f"{TABS} tabs that are read", place, count)
    for name, text in ANSWERS.items():
        provider.play(Trickle(text))
        data = {"csrf": page.csrf(), "session": "long", "message": "I want to add a FAB button"}
        told = page.post("/chat/send", data=data, headers={"HX-Request": "true"}).text
        with _tabs(page, unescape(told.split('sse-connect="', 1)[1].split('"', 1)[0])):
            figures.append(_share(f"{TABS} tabs with {name}", place, 50))
            figures += _waits(f"{TABS} tabs with {name}", place, count)
        page.send_form("/chat/stop", session="long")
    return figures


@contextmanager
def _tabs(page: Page, path: str) -> Iterator[None]:
    """Tabs at a page, held open by another process."""
    host, port = page.base_url.host, page.base_url.port
    cookie = "; ".join(f"{name}={value}" for name, value in page.cookies.items())
    command = [sys.executable, "-P", OTHERS, "tabs", host, str(port), str(TABS)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as tabs:
        assert tabs.stdin is not None
        assert tabs.stdout is not None
        print(cookie, path, file=tabs.stdin, flush=True)
        if tabs.stdout.readline().strip() != "open":
            raise SystemExit("not every tab was answered")
        yield
        tabs.stdin.close()


def _waits(beside: str, place: Place, count: int) -> Iterator[Figure]:
    content = json.dumps({
        "session_id": "hook-and-page", "transcript_path": str(place.root / "none.jsonl"),
        "cwd": str(place.root), "hook_event_name": "UserPromptSubmit",
    })  # fmt: skip
    command = [sys.executable, "-P", OTHERS, "hook", str(place.root / "kds-brain"), str(count)]
    done = subprocess.run(command, input=content, check=True, stdout=subprocess.PIPE, text=True)
    found = json.loads(done.stdout)
    yield Figure(f"hook, {beside}, p50", ms(found["took"], 50), 60, "ms")
    yield Figure(f"hook, {beside}, p99", ms(found["took"], 99), 60, "ms")
    yield Figure("  its caller woke too late by, p99", ms(found["late"], 99), None, "ms")


def _share(beside: str, place: Place, most: float) -> Figure:
    """How much of a processor the service takes while nobody asks it for anything else."""
    before, began = _busy_s(place), time.perf_counter()
    time.sleep(LOOKED_S)
    share = (_busy_s(place) - before) / (time.perf_counter() - began)
    return Figure(f"{beside}, of a processor", 100 * share, most, "%")


def _busy_s(place: Place) -> float:
    """Processor seconds of the service until now."""
    return cpu_s(json.loads(place.kds("service", "status", "--json"))["pid"])


def _in_browser(place: Place) -> list[Figure]:
    from playwright.sync_api import sync_playwright  # of those who develop

    url, link = place.web()
    asked: set[str] = set()
    worst = 0.0
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"]
        )
        page = browser.new_page()
        page.on("request", lambda one: asked.add(one.url.rpartition("/static/")[2][13:]))
        page.add_init_script(SHIFTS)
        page.goto(link)
        for path in PAGES:
            page.goto(f"{url}{path}", wait_until="networkidle")
            worst = max(worst, page.evaluate("window.shifted"))
        waits = []
        page.goto(f"{url}/chat?session=long")
        for number in range(TIMES):
            count = page.locator(".line.user").count()
            page.locator("#message").fill(f"Make it {number} pixels high")
            began = time.perf_counter()
            page.locator("#message").press("Enter")
            page.locator(".line.user").nth(count).locator(".chip").first.wait_for()
            waits.append(time.perf_counter() - began)
        browser.close()
    files = {
        path.relative_to(STATIC).as_posix() for path in STATIC.rglob("*")
        if path.is_file() and path.suffix != ".txt" and path.name != "icon.svg"
    }  # fmt: skip
    if unused := files - asked:
        print(f"no page asks for {', '.join(sorted(unused))}", file=sys.stderr)
    return [
        Figure("a turn in the browser, from Enter to its chips, p50", ms(waits[3:], 50), 150, "ms"),
        Figure("layout shift of the worst page", worst, 0.1, ""),
        Figure("files that no page asks for", len(unused), 0, ""),
    ]


if __name__ == "__main__":
    sys.exit(main())
