"""The page, really served: one service and one browser for a whole run of tests.

`site` is a running page with a fresh workspace for this test's module; `visitor` an httpx client
that has logged in by the link; `browser` a page of a real browser that has, too, and that fails
the test when a script, a dialog or a violation of the policy is seen.
"""

import asyncio
import os
import re
import shutil
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

import httpx
import pytest

from kds.service.server import ServiceOptions
from kds.service.service_client import ServiceAddress, ServiceClient
from kds.web.site import open_site

from ...effort import PATIENCE_S
from ..service.conftest import Running, wait_until

FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
)  # fmt: skip

SMALL = {"viewport": {"width": 360, "height": 640}, "java_script_enabled": False}
"""A window of a phone, without JavaScript."""

INSTALL_S = 300.0
"""How long a browser is waited for that is being installed."""

POLICY_WATCH = """
document.addEventListener("securitypolicyviolation",
  (event) => console.error(`policy: ${event.violatedDirective} ${event.blockedURI}`));
"""


class Site(Running):
    """A service with its page."""

    def __init__(self, folder: Path, runtime: Path) -> None:
        super().__init__((folder,), ServiceOptions(), open_site, ServiceAddress(runtime))
        self.workspace = self.workspaces[0]

    def link(self) -> str:
        """A link that lets one browser in."""
        return ServiceClient(self.workspace, address=self.address).web()[1]

    @property
    def url(self) -> str:
        return ServiceClient(self.workspace, address=self.address).web()[0]

    @contextmanager
    def visitor(self) -> "Iterator[Visitor]":
        """A client that has logged in."""
        with Visitor(base_url=self.url, timeout=PATIENCE_S, follow_redirects=True) as visitor:
            answer = visitor.get(self.link())
            assert answer.status_code == 200, answer.text
            yield visitor


class Visitor(httpx.Client):
    """A browser without JavaScript: it sends forms with the field that the pages have."""

    def send_form(self, path: str, /, files: Any = None, **fields: str) -> httpx.Response:
        """Send a form of the page that was seen first, as a browser would."""
        return self.post(path, data={"csrf": self.csrf, **fields}, files=files)

    def add_files(self, **files: tuple[str, bytes]) -> str:
        """Send files to the page of documents; returns the page once they are read."""
        page = self.send_form("/documents/add", files=files).text
        while 'id="reading"' in page:
            time.sleep(0.05)
            page = self.get("/documents").text
        return page

    @cached_property
    def csrf(self) -> str:
        """What shows that a form is of this context; every page has the same."""
        page: str = self.get("/chat").text
        return page.split('name="csrf" value="', 1)[1].split('"', 1)[0]


@pytest.fixture(scope="session")
def site_of_run(tmp_path_factory: pytest.TempPathFactory, fitted_brain: Path) -> Iterator[Site]:
    """The one service of this run."""
    if not hasattr(socket, "AF_UNIX"):
        pytest.skip("no unix sockets here")
    folder = tmp_path_factory.mktemp("web")
    shutil.copytree(fitted_brain, folder / "kds-brain")
    site = Site(folder, tmp_path_factory.mktemp("runtime") / "kds").start()
    yield site
    site.stop()
    assert not [line for line in site.lines if "internal error" in line]


@pytest.fixture
def site(site_of_run: Site, monkeypatch: pytest.MonkeyPatch) -> Site:
    """The service, which commands find, with nothing remembered."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(site_of_run.address.folder.parent))
    with site_of_run.client() as api:
        api.delete("/context").raise_for_status()
        while found := api.get("/sessions").json()["sessions"]:
            for one in found:
                api.delete(f"/sessions/{one['id']}").raise_for_status()
    return site_of_run


@pytest.fixture
def visitor(site: Site) -> Iterator[Visitor]:
    """A client that has logged in."""
    with site.visitor() as found:
        yield found


@contextmanager
def driven(loop: asyncio.AbstractEventLoop) -> Iterator[None]:
    """Let the browser be driven: for Playwright its event loop runs in this thread all the time,
    and nobody else could run one, as other tests do."""
    asyncio._set_running_loop(loop)
    try:
        yield
    finally:
        asyncio._set_running_loop(None)


@pytest.fixture(scope="session")
def chromium() -> Iterator[tuple[Any, asyncio.AbstractEventLoop]]:
    """The one browser of this run, and what it is driven by: that of the system, by Playwright.

    Where ``KDS_TEST_CHROMIUM`` names a file, it is being installed, and that will say where it is.
    """
    program = shutil.which("chromium")
    if noted := os.environ.get("KDS_TEST_CHROMIUM"):
        wait_until(Path(noted).exists, deadline_s=INSTALL_S)
        program = Path(noted).read_text(encoding="utf-8").strip()
    if not program:
        pytest.skip("there is no chromium here: apt-get install chromium")
    sync = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with sync.sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=program, args=list(FLAGS), headless=True
        )
        loop = asyncio.get_running_loop()
        asyncio._set_running_loop(None)
        yield browser, loop
        asyncio._set_running_loop(loop)
        browser.close()


class Windows:
    """Windows of the browser, each with cookies of its own. One that was closed is used again for
    the next test that wants its like: to make one takes a second."""

    def __init__(self, browser: Any, loop: asyncio.AbstractEventLoop) -> None:
        self.seen: list[str] = []
        """What the pages complained of."""
        self.loop = loop
        self._browser = browser
        self._free: dict[str, list[Any]] = {}
        self._open: list[tuple[str, Any, Any]] = []

    def open(self, **options: Any) -> Any:
        """A window that nobody is logged in at."""
        kind = repr(sorted(options.items()))
        free = self._free.setdefault(kind, [])
        page = free.pop() if free else self._made(options)
        self._open.append((kind, page.viewport_size, page))
        return page

    def close(self) -> None:
        """Put the windows away, logged out; after a complaint for good."""
        for kind, size, page in self._open:
            if self.seen:
                page.context.close()
                continue
            for other in [one for one in page.context.pages if one != page]:
                other.close()
            page.context.clear_cookies()
            page.emulate_media(color_scheme="light", reduced_motion="no-preference")
            page.set_viewport_size(size)
            self._free[kind].append(page)
        self._open.clear()
        self.seen.clear()

    def _made(self, options: dict[str, Any]) -> Any:
        context = self._browser.new_context(**options)
        context.add_init_script(POLICY_WATCH)
        context.set_default_timeout(PATIENCE_S * 1000)
        context.on("page", lambda page: watch(page, self.seen))
        return context.new_page()


@pytest.fixture(scope="session")
def windows(chromium: tuple[Any, asyncio.AbstractEventLoop]) -> Windows:
    """The windows of this run."""
    return Windows(*chromium)


_OF_THIS_RUN = re.compile(r'(name="csrf" value=|telling=)"?[\w-]+"?| open=""| class=""')
"""What differs from one look to the next: the marks of forms, and what is unfolded."""


class Restarted:
    """A service that a test may restart, and a window at it."""

    def __init__(self, folder: Path, runtime: Path, page: Any) -> None:
        self._folder, self._runtime = folder, runtime
        self.page = page
        self.site = Site(folder, runtime).start()
        self._enter("/chat")

    def restart(self) -> None:
        """Stop the service, start another one, and look at the same page again."""
        path = self.page.url.partition(self.site.url)[2]
        self.site.stop()
        self.site = Site(self._folder, self._runtime).start()
        self._enter(path)

    def shown(self) -> list[str]:
        """The conversation as it stands on the page."""
        found = self.page.evaluate(
            """() => (turns.innerHTML + tail.innerHTML).replace(/\\s+/g, " ")"""
        )
        return _OF_THIS_RUN.sub("", found).split("<")

    def _enter(self, path: str) -> None:
        self.page.context.request.get(self.site.link())
        self.page.goto(f"{self.site.url}{path}")


@pytest.fixture
def restarted(
    tmp_path: Path, fitted_brain: Path, windows: Windows, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Restarted]:
    shutil.copytree(fitted_brain, tmp_path / "kds-brain")
    runtime = tmp_path_factory.mktemp("runtime") / "kds"
    with driven(windows.loop):
        one = Restarted(tmp_path, runtime, windows.open())
        yield one
        seen = [*windows.seen]
        windows.close()
    one.site.stop()
    assert not seen


@pytest.fixture
def new_page(site: Site, windows: Windows) -> Iterator[Callable[..., Any]]:
    """Opens windows that have logged in, at a page; what they complain of fails."""

    def opened(*, at: str | None = None, **options: Any) -> Any:
        page = windows.open(**options)
        if at is None:
            page.goto(site.link())
            assert "token" not in page.url
        else:
            page.context.request.get(site.link())
            page.goto(f"{site.url}{at}")
        return page

    with driven(windows.loop):
        yield opened
        seen = [*windows.seen]
        windows.close()
    assert not seen


@pytest.fixture
def browser(new_page: Callable[..., Any]) -> Any:
    """A window that has logged in."""
    return new_page()


def watch(page: Any, seen: list[str]) -> None:
    """Note errors and warnings on the console of a page, and every dialog."""

    def said(one: Any) -> None:
        refused = one.text.startswith("Failed to load resource") and one.location["url"] == page.url
        if one.type in ("error", "warning") and not refused:  # an error that is itself a page
            seen.append(one.text)

    page.on("console", said)
    page.on("pageerror", lambda error: seen.append(f"script: {error}"))

    def dialog(found: Any) -> None:
        seen.append(f"dialog: {found.message}")
        found.dismiss()

    page.on("dialog", dialog)
