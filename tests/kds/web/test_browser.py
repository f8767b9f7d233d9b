"""The page in a real browser."""

from collections.abc import Callable
from typing import Any

from .conftest import Site


def test_colours_are_switched_without_javascript_too(new_page: Callable[..., Any]) -> None:
    page = new_page(java_script_enabled=False)
    page.get_by_role("button", name="Colours: dark").click()
    assert page.locator("html").get_attribute("data-theme") == "dark"


def test_the_skip_link_is_the_first_stop_of_the_keyboard(site: Site, browser: Any) -> None:
    browser.goto(f"{site.url}/settings")
    browser.keyboard.press("Tab")
    assert browser.evaluate("document.activeElement.className") == "skip"
    browser.keyboard.press("Enter")
    assert browser.evaluate("document.activeElement.id") == "main"
