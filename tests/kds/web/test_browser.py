"""The page in a real browser."""

from collections.abc import Callable
from typing import Any

from .conftest import SMALL


def test_colours_are_switched_without_javascript_too(new_page: Callable[..., Any]) -> None:
    page = new_page(at="/settings", **SMALL)
    page.get_by_role("button", name="Colours: dark").click()
    assert page.locator("html").get_attribute("data-theme") == "dark"


def test_the_skip_link_is_the_first_stop_of_the_keyboard(new_page: Callable[..., Any]) -> None:
    page = new_page(at="/settings")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"
