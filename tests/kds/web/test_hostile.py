"""Fifty hostile texts in every place that a page shows: none runs, none becomes HTML."""

import html
import time
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from kds.web.rendering import as_html

from ...agents.openai_server import FakeProvider, Text
from .conftest import Site, Visitor
from .furnished import archive
from .test_chat_page import say

PAYLOADS = tuple(
    text
    for run in ("alert(1)", "console.error('xss')")
    for text in (
        f"<script>{run}</script>",
        f"<img src=x onerror={run}>",
        f"<svg onload={run}>",
        f"<svg><script>{run}</script></svg>",
        f'"><script>{run}</script>',
        f"'><img src=x onerror={run}>",
        f"</textarea><script>{run}</script>",
        f"</title><script>{run}</script>",
        f"</script><script>{run}</script>",
        f"<iframe srcdoc='<script>parent.{run}</script>'></iframe>",
        f'<a href="javascript:{run}">here</a>',
        f"[here](javascript:{run})",
        f"[here](JaVaScRiPt:{run})",
        f"[here](data:text/html,<script>{run}</script>)",
        f'![x](x" onerror="{run})',
        f"![x](javascript:{run})",
        f"<javascript:{run}>",
        f"`<img src=x onerror={run}>`",
        f"```html\n<img src=x onerror={run}>\n```",
        f'```"><img src=x onerror={run}>\ncode\n```',
        f"{{{{ ''.__class__ }}}} {{% print({run}) %}}",
        f"<div hx-get=/logout hx-trigger=load hx-on:click={run}></div>",
        f"<button autofocus onfocus={run}>x</button>",
        f"<details open ontoggle={run}>x</details>",
        f"&lt;script&gt;{run}&lt;/script&gt;",
        f"<style>@import 'javascript:{run}';</style>",
    )
)

ALL = " ".join(PAYLOADS)
MARKUP = tuple(text for text in PAYLOADS if "<" in text)

TOGETHER = 13
"""Of the texts, in one address: each is escaped as if it stood alone."""

QUERIES = (
    ("/chat", ("search", "session", "before", "offset")),
    ("/chat/since", ("session", "after")),
    ("/memory", ("q", "offset")),
    ("/memory/session", ("session",)),
    ("/documents/open", ("path", "document", "section", "line")),
    ("/analytics", ("days",)),
    ("/analytics.csv", ("days", "table")),
    ("/login", ("token",)),
)


@pytest.fixture
def hostile_files(site: Site, visitor: Visitor) -> Iterator[None]:
    """A rule and a prompt with such names and texts; they go, as the profile does."""
    rule = site.workspace.brain / "rules" / "<img src=x onerror=alert(1)>.yaml"
    prompt = site.root / "prompts" / "user" / "<svg onload=alert(1)>.prompt.md"
    for path in (rule, prompt):
        path.parent.mkdir(parents=True, exist_ok=True)
    rule.write_text("".join(f"- name: {text!r}\n  when: {text!r}\n" for text in PAYLOADS))
    prompt.write_text(f"---\nname: {PAYLOADS[0]!r}\nagent: {PAYLOADS[1]!r}\n---\n{ALL}\n")
    yield
    rule.unlink()
    prompt.unlink()
    visitor.send_form("/memory/revoke")


def stays_text(answer: httpx.Response, *texts: str) -> None:
    """None of these texts is in an HTML answer as it was sent."""
    if answer.headers.get("content-type", "").startswith("text/html"):
        found = [text for text in texts or MARKUP if text in answer.text]
        assert not found, f"{answer.url}: {found}"


@pytest.mark.usefixtures("hostile_files")
def test_what_is_kept_stays_text_on_every_page(
    site: Site, visitor: Visitor, new_page: Callable[..., Any]
) -> None:
    sessions = [(f"s-{at}", text, [text, text]) for at, text in enumerate(PAYLOADS)]
    file = archive(*sessions, ("all", PAYLOADS[0], [*PAYLOADS]))
    stays_text(visitor.send_form("/chat/import", files={"file": (f"{MARKUP[0]}.json", file)}))
    guide = "".join(f"# {text}\n\nThe text {text} is here.\n\n" for text in PAYLOADS)
    files = [("file", (f"{text}.md", f"# {text}\n\n{text}\n")) for text in PAYLOADS[::10]]
    sent = [("file", ("all.md", guide)), *files]
    stays_text(visitor.post("/documents/add", data={"csrf": visitor.csrf}, files=sent))
    while 'id="reading"' in visitor.get("/documents").text:
        time.sleep(0.05)
    visitor.send_form("/memory/consent", purpose=ALL[:1000])
    preferences = "\n".join(f"{text.replace('=', ' ')}={text}" for text in PAYLOADS)
    stays_text(
        visitor.send_form("/memory/profile", name=ALL[:100], preferences=preferences, about=ALL)
    )
    for text in (MARKUP[0], ALL):
        stays_text(visitor.send_form("/chat/learn", message=text, intent="PLAN"))
        stays_text(visitor.send_form("/chat/learn", message="give it some love", intent=text))
    for _ in range(100):  # the files are read again beside the next messages
        visitor.send_form("/chat/learn", message=MARKUP[0], intent="PLAN")
        if "<svg onload=alert(1)>" in html.unescape(visitor.get("/settings").text):
            break
        time.sleep(0.1)
    else:
        pytest.fail("the page of settings names no prompt that is wrong")
    documents = [
        part.split('"', 1)[0] for part in visitor.get("/documents").text.split("document=")
    ]
    places = [
        "/chat?session=all", "/memory", "/memory?q=alert", "/memory/session?session=s-1",
        "/documents", "/chat", *(f"/documents/open?document={name}" for name in documents[1:3]),
        "/settings", "/analytics",
    ]  # fmt: skip
    page = new_page()
    for place in places:
        stays_text(visitor.get(place))
        page.goto(f"{site.url}{place}")
        assert page.locator("main iframe, main img, main object, main script").count() == 0, place
    for at in range(len(PAYLOADS)):
        stays_text(visitor.get(f"/memory/session?session=s-{at}"))
    assert page.url.startswith(site.url)


def test_nothing_that_a_model_says_or_a_long_chat_shows_runs(
    site: Site, visitor: Visitor, new_page: Callable[..., Any], provider: FakeProvider
) -> None:
    said = [text for text in PAYLOADS for _ in ("by the user", "by an agent")]
    file = archive(("all", PAYLOADS[0], said))
    visitor.send_form("/chat/import", files={"file": ("<b>.json", file)})
    page = new_page(at="/chat?session=all")
    while (more := page.locator(".earlier a")).count():
        shown = page.locator(".line").count()
        more.click()
        page.locator(".line").nth(shown).wait_for()
    assert page.locator(".line").count() == len(said)
    provider.play(*(Text(text) for text in PAYLOADS[:3]))
    for text in PAYLOADS[:3]:
        say(page, text.replace("\n", " "))
        page.locator("#tail:not(:has(.running))").wait_for()
    assert page.locator("#turns script, #turns img, #turns iframe, #turns style").count() == 0
    assert page.url.startswith(site.url)


@pytest.mark.parametrize(
    "text",
    [
        "```python\n" + "(" * 501 + "\n```",
        "|".join("a" * 102) + "\n" + "|".join("-" * 102) + "\n" + "a\n" * 1000,
        "*a*" * 20_000,
    ],
    ids=["code", "table", "emphasis"],
)
def test_markdown_that_would_take_seconds_to_render_is_shown_as_it_stands(text: str) -> None:
    made = as_html(text)
    assert not any(tag in made for tag in ("<span", "<table", "<em>"))
    assert len(made) < len(text) + 250


def test_a_link_leads_away_without_a_hold_on_the_page() -> None:
    assert 'rel="noopener noreferrer nofollow"' in as_html("[y](https://a.example)")


def test_what_a_query_says_stays_text(
    site: Site, visitor: Visitor, new_page: Callable[..., Any]
) -> None:
    page = new_page(at="/settings")
    for path, names in QUERIES:
        for at in range(0, len(PAYLOADS), TOGETHER):
            text = " ".join(PAYLOADS[at : at + TOGETHER])
            stays_text(visitor.get(path, params=dict.fromkeys(names, text)))
        if path not in ("/chat/since", "/analytics.csv"):
            page.goto(f"{site.url}{path}?" + "&".join(f"{one}={quote(ALL)}" for one in names))
            assert page.locator("main iframe, main img, main script").count() == 0, path
