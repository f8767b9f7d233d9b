"""Measure the web page of a real service, in a real browser where there is one.

    python benchmarks/web_page.py

First visit, a turn, a session with 10,000 messages, layout shift and unused files. Each figure
stands beside what it must reach; how busy the machine is, stands on top.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # the fake model is a test's

import httpx
from tests.agents.openai_server import FakeProvider, serving

from kds.api.measures import percentile

MESSAGES: Final = 10_000
TIMES: Final = 15
WAIT_S: Final = 120.0
STATIC: Final = Path(__file__).resolve().parent.parent / "src/kds/web/static"
AT: Final = "2025-11-03T09:00:00Z"

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
    most: float
    unit: str


class Page(httpx.Client):
    """A browser that runs no scripts."""

    def csrf(self) -> str:
        """The proof that a form is of this visit."""
        return self.get("/chat").text.split('name="csrf" value="', 1)[1].split('"', 1)[0]

    def send_form(self, path: str, files: Any = None, **fields: str) -> httpx.Response:
        """Send a form."""
        return self.post(path, data={"csrf": self.csrf(), **fields}, files=files).raise_for_status()


def main() -> int:
    """Measure all and print it; fails when a figure is above what it must reach."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.parse_args()
    load = os.getloadavg()[0]
    with ExitStack() as stack:
        provider = stack.enter_context(serving(FakeProvider()))
        place = stack.enter_context(workspace(provider.url))
        page = stack.enter_context(place.visitor())
        parts = [
            lambda: _first_page(page),
            lambda: _turn(page),
            lambda: _long(page),
            lambda: _in_browser(place) if shutil.which("chromium") else [],
        ]
        print(f"{os.cpu_count()} processors, load {load:.1f}")
        figures = []
        for part in parts:
            for one in part():
                figures.append(one)
                print(f"{one.name:58}{one.value:10.1f} {one.unit:3} <= {one.most:g}", flush=True)
    return int(any(one.value > one.most for one in figures))


class Place:
    """A workspace with a running service."""

    def __init__(self, root: Path, environ: dict[str, str]) -> None:
        self.root, self.environ = root, environ

    def kds(self, *words: str) -> str:
        """What a command of KDS prints."""
        command = [sys.executable, "-P", "-m", "kds", *words]
        done = subprocess.run(
            command, env=self.environ, cwd=self.root, check=True, stdout=subprocess.PIPE, text=True
        )
        return done.stdout

    def web(self) -> tuple[str, str]:
        """The page's address, and a link that lets one browser in."""
        told = json.loads(self.kds("web", "--no-open", "--json"))
        return told["url"], told["login"]

    @contextmanager
    def visitor(self) -> Iterator[Page]:
        """A client that has logged in."""
        url, link = self.web()
        with Page(base_url=url, timeout=WAIT_S, follow_redirects=True) as page:
            page.get(link).raise_for_status()
            yield page


@contextmanager
def workspace(model: str) -> Iterator[Place]:
    """A temporary workspace, whose service asks the model at this address."""
    with tempfile.TemporaryDirectory(prefix="kds") as name:
        environ = {one: value for one, value in os.environ.items() if not one.startswith("KDS_")}
        environ |= {
            "KDS_HOME": name, "XDG_CONFIG_HOME": f"{name}/config", "KDS_MODEL": f"{model}#m",
        }  # fmt: skip
        place = Place(Path(name), environ)
        (place.root / "kds-brain").mkdir()
        try:
            yield place
        finally:
            place.kds("service", "stop")


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
        Figure("first page with all its files, p50", _ms(waits, 50), 200, "ms"),
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
        data = {"csrf": csrf, "session": session, "message": f"Make it {number} pixels wide"}
        began = time.perf_counter()
        page.post("/chat/send", data=data, headers={"HX-Request": "true"}).raise_for_status()
        waits.append(time.perf_counter() - began)
    return [Figure("a turn, by a warm service, p50", _ms(waits[3:], 50), 150, "ms")]


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
        Figure(f"a session of {MESSAGES} messages opens, p50", _ms(opened, 50), 200, "ms"),
        Figure("and goes on to earlier ones, p50", _ms(paged, 50), 200, "ms"),
    ]


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
        Figure(
            "a turn in the browser, from Enter to its chips, p50", _ms(waits[3:], 50), 150, "ms"
        ),
        Figure("layout shift of the worst page", worst, 0.1, ""),
        Figure("files that no page asks for", len(unused), 0, ""),
    ]


def _ms(seconds: Sequence[float], share: int) -> float:
    return round(percentile([one * 1000 for one in seconds], share), 1)


if __name__ == "__main__":
    sys.exit(main())
