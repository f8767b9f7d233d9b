"""What holds on every page: for the eyes, the keyboard, small screens, and without scripts."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kds.web.site import PAGES

from .conftest import SMALL, Site, Visitor
from .furnished import furnish

AXE = (Path(__file__).parent / "vendor" / "axe.min.js").read_text(encoding="utf-8")

JUDGED = """() => axe.run(document, {
  preload: false, selectors: false, resultTypes: ["violations"],
}).then(found => found.violations
  .map(one => `${one.id}: ${one.nodes.map(node => node.html.slice(0, 200)).join(" | ")}`))"""
"""The findings. `preload` would fetch the style sheets anew, and selectors of what was
found are not shown."""

TO_BE_REACHED = """whole => {
  window.reached = new Set();
  document.activeElement.blur();
  if (!whole) document.getElementById("main")?.focus();
  const kinds = "a[href], button, input, select, textarea, summary, [tabindex='0']";
  return [...(whole ? document : document.querySelector("main")).querySelectorAll(kinds)]
    .filter(one => one.type !== "hidden" && one.checkVisibility() && !one.disabled)
    .filter(one => !one.closest("#to-end")); // which goes when the end is reached
}"""
"""What is on a page; not ``whole``: below the header, which is the same on every page."""

HEADED = ("a new chat", "memory")
"""Pages whose header is looked at, too: one of either layout."""

FOCUSED = """() => {
  const one = document.activeElement;
  if (one === document.body || window.reached.has(one)) return null;
  window.reached.add(one);
  const shown = one.id === "side-open" ? document.querySelector(".side-switch") : one;
  const {outlineStyle, outlineWidth} = getComputedStyle(shown);
  const box = shown.getBoundingClientRect(), hidden = shown.checkVisibility() === false;
  const cover = document.getElementById("composer");
  const below = cover && !cover.contains(one) ? cover.getBoundingClientRect().top : innerHeight;
  return {
    what: one.outerHTML.slice(0, 120),
    outlined: hidden || (outlineStyle !== "none" && parseFloat(outlineWidth) >= 2),
    seen: hidden || (box.top >= -1 && Math.min(box.bottom, box.top + 20) <= below + 1),
  };
}"""
"""What has the focus, the first time; a box that is taller than the window shows its top."""

READ = {
    "a new chat": "What is to be done?",
    "a chat": "Make the FAB button purple",
    "code, tables and tasks": "def here",
    "sessions searched": "What is to be done?",
    "what was meant": "I wanted to",
    "memory": "A button",
    "memory searched": "Staging listens on port 8443",
    "a session": "messages: ",
    "upkeep": "Erase them",
    "documents": "Deploy Guide",
    "documents asked": "The retry policy",
    "a document": "Staging listens on port 8443",
    "a cited page": "page 2",
    "a passage that is gone": "has changed since",
    "analytics": "Turns and recalls",
    "settings": "model.temperature",
    "an error": "nothing",
    "no page": "no such page",
    "login refused": "kds web",
    "logged out": "kds web",
}
PARTS = frozenset(
    "/chat/sessions /chat/since /chat/answer /chat/export /memory/backup /documents/reading "
    "/analytics.csv".split()
)
"""Paths of what is part of a page, or is downloaded."""


@pytest.fixture
def places(visitor: Visitor) -> dict[str, str]:
    """Every page, with something on it; those that refuse, too."""
    return furnish(visitor)


def test_every_page_pleases_axe_and_the_keyboard_reaches_everything_on_it(
    site: Site, places: dict[str, str], new_page: Callable[..., Any]
) -> None:
    page = new_page(at="/settings")
    gets = {one.path for page in PAGES for one in page.routes if "GET" in (one.methods or ())}
    assert gets - PARTS <= {place.partition("?")[0] for place in places.values()}
    faults = []
    for name, place in places.items():
        page.goto(f"{site.url}{place}")
        whole = name in HEADED
        faults += [f"{name}: {one}" for one in missed_by_keyboard(page, whole=whole)]
        open_all(page)
        faults += [f"{name}, {one}" for one in found_by_axe(page)]
    assert not faults, "\n".join(faults)
    page.evaluate("document.querySelector('h1').style.color = '#444'")
    assert any("color-contrast" in one for one in page.evaluate(JUDGED))


def found_by_axe(page: Any) -> list[str]:
    """What axe finds fault with, in light and in dark."""
    page.evaluate(AXE)
    faults = []
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        faults += [f"{scheme}: {one}" for one in page.evaluate(JUDGED)]
    return faults


def missed_by_keyboard(page: Any, *, whole: bool) -> list[str]:
    """What the key leads to without showing where it is, or not at all."""
    faults = []
    count = len(page.evaluate(TO_BE_REACHED, whole))
    for _ in range(count + 2):  # once around, with the window's own stops
        page.keyboard.down("Tab")
        found = page.evaluate(FOCUSED)
        if found and not (found["outlined"] and found["seen"]):
            faults.append(str(found))
    page.keyboard.up("Tab")
    missed = page.evaluate(
        f"whole => ({TO_BE_REACHED.replace('window.reached = new Set();', '')})(whole)"
        ".filter(one => !window.reached.has(one)).map(one => one.outerHTML.slice(0, 120))",
        whole,
    )
    return [*faults, *(f"not reached: {one}" for one in missed)]


def test_every_page_is_read_on_a_small_screen_and_without_javascript(
    site: Site, places: dict[str, str], new_page: Callable[..., Any]
) -> None:
    page = new_page(at="/settings", **SMALL)
    wide = []
    for name, place in places.items():
        page.goto(f"{site.url}{place}")
        assert page.locator("h1").is_visible(), name
        assert READ[name] in page.locator("main").inner_text(), name
        open_all(page)
        if (width := page.evaluate("document.documentElement.scrollWidth")) > 360:
            wide.append(f"{name}: {width}")
    assert not wide
    page.goto(f"{site.url}{places['a chat']}")
    assert page.evaluate("(({scrollWidth, clientWidth}) => scrollWidth <= clientWidth)"
                         "(document.querySelector('.top nav'))")  # fmt: skip
    while page.evaluate("document.activeElement.id") != "side-open":
        page.keyboard.press("Tab")
    page.keyboard.press("Space")
    assert page.locator(".sessions a").first.is_visible()


def open_all(page: Any) -> None:
    """Unfold all that is folded, so that it is judged, too."""
    page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true; })")
