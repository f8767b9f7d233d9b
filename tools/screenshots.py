"""The pictures of the web page in the documentation: docs/pictures/web/PAGE-light.png and -dark.

    python tools/screenshots.py [PAGE ...]

A real service, in a workspace of its own that an invented project fills, photographed in the
system's Chromium. What its model says is written here, and so are the figures of its week.
"""

import argparse
import io
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final

import httpx

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # the fake model is a test's

from PIL import Image
from tests.agents.openai_server import FakeProvider, Text, serving

from kds.brain.clock import utc_now
from kds.brain.memory.memory_store import SqliteStore

PICTURES: Final = Path(__file__).resolve().parent.parent / "docs" / "pictures" / "web"
SIZE: Final = {"width": 1000, "height": 800}
COLOURS: Final = 64
"""Of a picture: the page has few, and with them a picture takes 40 kB."""
SCHEMES: Final = ("light", "dark")

TALK: Final = ("Add a booking calendar", "Make the calendar sticky")
ANSWERS: Final = (
    "The plan has three steps:\n\n1. **A component** with a month and its berths.\n"
    "2. **A query** for the bookings of a month.\n3. **Tests** for both.\n",
    "The booking calendar now stays below the header:\n\n"
    "```css\n.booking-calendar {\n  position: sticky;\n  top: var(--header-height);\n"
    "  z-index: 2;\n}\n```\n\nOn phones it shows a week.\n",
)
EARLIER: Final = (
    ("Refunds after a storm warning", 1, 8, "Does a storm warning refund the whole stay?"),
    ("Migration of the berth table", 2, 14, "Split the berth table by pier"),
    ("Failing test of the night rate", 3, 6, "test_night_rate fails since the clock change"),
    ("CSV export for the harbour office", 5, 10, "Export the arrivals of a month as CSV"),
    ("Release notes 2.4", 6, 4, "Write the release notes for 2.4"),
)
"""Sessions of the days before: title, days ago, messages, what the first one says."""

HANDBOOK: Final = b"""\
# Harbour handbook

How the booking service of the invented harbour of Sandvik works.

## 1 Berths

A berth has a pier, a length and a depth. Boats longer than twelve metres lie at pier C.

## 2 Bookings

A booking holds a berth from noon to noon. It is confirmed once the deposit has come.

### 2.1 Refunds

A guest who cancels two days ahead gets the whole deposit back. With a storm warning of the
coast guard the deposit is refunded whenever the guest cancels, in three working days at most.

### 2.2 Night rate

From the third night on the rate falls by a fifth.

## 3 On call

The harbour office answers from six to ten; outside of that the service rings the engineer on call.
"""
RELEASES: Final = (
    b"# Release process\n\n## 1 Before\n\nAll tests pass.\n\n## 2 After\n\nTell the office.\n"
)
QUESTION: Final = "When is a deposit refunded?"
REPLY: Final = (
    "Two days ahead a guest gets the whole deposit back; with a storm warning at any time, within "
    "three working days (Harbour handbook, Section 2.1 Refunds)."
)
INTENTS: Final = {
    "PLAN": 0.86, "EXECUTE": 0.91, "TEST": 0.88, "DEBUG": 0.8, "ASK": 0.78, "REVIEW": 0.7,
}  # fmt: skip
"""How certain the turns of the week are, by intent."""


class Place:
    """A workspace with a running service, and a client of its page that runs no scripts."""

    def __init__(self, root: Path, environ: dict[str, str]) -> None:
        self.root, self.environ = root, environ
        self.url, login = self.web()
        self.page = httpx.Client(base_url=self.url, timeout=120.0, follow_redirects=True)
        self.page.get(login).raise_for_status()

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

    def send_form(self, path: str, files: Any = None, **fields: str) -> httpx.Response:
        """Send a form, with the proof that it is of this visit."""
        text = self.page.get("/chat").text
        csrf = text.split('name="csrf" value="', 1)[1].split('"', 1)[0]
        sent = self.page.post(path, data={"csrf": csrf, **fields}, files=files)
        return sent.raise_for_status()


@contextmanager
def workspace(model: str) -> Iterator[Place]:
    """A temporary workspace, whose service asks the model at this address."""
    with tempfile.TemporaryDirectory(prefix="kds") as name:
        kept = {one: value for one, value in os.environ.items() if not one.startswith("KDS_")}
        own = {
            "KDS_HOME": name, "XDG_CONFIG_HOME": f"{name}/config", "KDS_MODEL": f"{model}#m",
            "KDS_REWRITING": "rules-only",
        }  # fmt: skip
        (Path(name) / "kds-brain").mkdir()
        place = Place(Path(name), kept | own)
        try:
            yield place
        finally:
            place.kds("service", "stop")


def main() -> None:
    """Fill a workspace, and photograph the pages that are asked for, or all of them."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("pages", nargs="*", metavar="PAGE")
    wanted = parser.parse_args().pages
    PICTURES.mkdir(parents=True, exist_ok=True)
    with serving(FakeProvider()) as provider, workspace(provider.url) as place:
        shown = _furnished(place, provider)
        for name, picture in _photographs(place, shown, wanted or list(shown)):
            (PICTURES / f"{name}.png").write_bytes(picture)


def _furnished(place: Place, provider: FakeProvider) -> dict[str, str]:
    """Fill the workspace; returns where each page is."""
    place.send_form("/chat/import", files={"file": ("sessions.json", _archive())})
    provider.play(*map(Text, ANSWERS), default=Text(REPLY))
    session = ""
    for message in TALK:
        told = place.send_form("/chat/send", message=message, session=session)
        session = told.url.params["session"]
    place.send_form("/chat/rename", session=session, title="Booking calendar")
    for name, text in (("handbook.md", HANDBOOK), ("releases.md", RELEASES)):
        place.send_form("/documents/add", files={"file": (name, text)})
    place.send_form("/memory/consent", purpose="answers that suit me")
    place.send_form(
        "/memory/profile", name="Ada", role="backend developer", languages="en, sv",
        preferences="tests=pytest\nstyle=short",
    )  # fmt: skip
    with SqliteStore(place.root / "kds-brain" / "memory.db") as store:
        for name, data, at in _week(utc_now()):
            store.metrics.add(name, data, at=at)
    return {
        "chat": f"/chat?session={session}", "memory": "/memory", "documents": "/documents",
        "analytics": "/analytics?days=7", "settings": "/settings",
    }  # fmt: skip


def _archive() -> bytes:
    sessions = []
    for title, days, count, text in EARLIER:
        at = (utc_now() - timedelta(days=days)).isoformat()
        messages = [
            {"role": "assistant" if number % 2 else "user", "content": text, "at": at}
            for number in range(count)
        ]
        times = {"created_at": at, "updated_at": at}
        sessions.append({"id": f"s{days}", "title": title, "messages": messages, **times})
    return json.dumps({"kds_memory": 1, "sessions": sessions}).encode()


def _week(now: datetime) -> Iterator[tuple[str, Mapping[str, object], datetime]]:
    """What was measured in seven invented days: the same in each run."""
    drawn = random.Random(15)
    for day in range(7):
        at = now - timedelta(days=6 - day, hours=2)
        for number in range(drawn.randint(12, 34) if day % 7 < 5 else 5):
            at += timedelta(minutes=2)
            yield "turn", _turn(drawn, f"{day}-{number // 6}"), at
            if number % 3 == 0:
                yield "recall", _recall(drawn), at


def _turn(drawn: random.Random, conversation: str) -> Mapping[str, object]:
    wrong = drawn.random() < 0.09
    intent = "CORRECT" if wrong else drawn.choices([*INTENTS], [5, 9, 4, 3, 2, 1])[0]
    certain = min(max(drawn.gauss(INTENTS.get(intent, 0.85), 0.08), 0.3), 0.99)
    action = "route" if certain > 0.6 else "clarify"
    return {
        "conversation": conversation, "intent": intent, "action": action, "confidence": certain,
        "references": drawn.choice([0, 0, 1, 1, 2]), "unresolved": drawn.choice([0, 0, 0, 1]),
        "cpu_ms": {
            step: max(drawn.gauss(usual, usual / 4), 0.1)
            for step, usual in {"resolve": 4.0, "decide": 1.5, "classify": 3.0}.items()
        },
    }  # fmt: skip


def _recall(drawn: random.Random) -> Mapping[str, object]:
    return {
        "hits": drawn.choice([0, 2, 3, 4]), "counts": {"words": 6, "vectors": 4, "recent": 3},
        "timings_ms": {"total": drawn.gauss(6, 1), "words": 1.5, "vectors": 2.5},
        "used_tokens": drawn.randint(400, 1400), "budget_tokens": 1500,
    }  # fmt: skip


def _photographs(
    place: Place, shown: Mapping[str, str], wanted: list[str]
) -> Iterator[tuple[str, bytes]]:
    from playwright.sync_api import sync_playwright  # of those who develop

    url, link = place.web()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"]
        )
        page = browser.new_page(viewport=SIZE)
        page.goto(link)
        for name in wanted:
            page.emulate_media(reduced_motion="reduce")
            page.goto(f"{url}{shown[name]}")
            if name == "documents":  # where it says most
                page.get_by_role("searchbox").fill(QUESTION)
                page.get_by_role("button", name="Ask").click()
                page.locator("article").first.wait_for()
            page.evaluate("document.activeElement.blur()")
            if name == "chat":
                page.locator(".ref").first.hover()
            else:
                page.evaluate("scrollTo(0, 0)")
            for scheme in SCHEMES:
                page.emulate_media(color_scheme=scheme)
                yield f"{name}-{scheme}", _small(page.screenshot())
        browser.close()


def _small(picture: bytes) -> bytes:
    """The same picture in fewer colours."""
    out = io.BytesIO()
    image = Image.open(io.BytesIO(picture)).convert("RGB")
    image.quantize(COLOURS, dither=Image.Dither.NONE).save(out, "PNG", optimize=True)
    return out.getvalue()


if __name__ == "__main__":
    main()
