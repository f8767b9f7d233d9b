"""The page in a real browser."""

from collections.abc import Callable
from typing import Any

from .conftest import SMALL, Visitor, Windows


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


AT_END = "() => document.documentElement.scrollHeight - innerHeight - scrollY < 2"


def say(page: Any, text: str) -> None:
    """Say something in the chat, and wait until it is shown."""
    before = page.locator("#turns .line.user").count()
    page.get_by_label("Message", exact=True).fill(text)
    page.get_by_role("button", name="Send").click()
    page.wait_for_function(
        "count => document.querySelectorAll('#turns .line.user').length > count && "
        "!document.querySelector('#composer button[disabled]')",
        arg=before,
    )


def test_the_chat_follows_what_arrives_unless_the_reader_has_scrolled_away(
    new_page: Callable[..., Any], visitor: Visitor
) -> None:
    page = new_page(viewport={"width": 800, "height": 500})
    for number in range(6):
        say(page, f"Add a button number {number}")
    page.wait_for_function(AT_END)
    button = page.get_by_role("button", name="To the end")
    assert not button.is_visible()
    session = page.locator("#composer input[name=session]").input_value()
    page.evaluate("scrollTo(0, 0)")
    visitor.send_form("/chat/send", message="Add a map", session=session)
    page.evaluate("dispatchEvent(new Event('focus'))")
    page.get_by_text("Add a map").first.wait_for(state="attached")
    button.wait_for()
    assert page.evaluate("scrollY") == 0
    button.click()
    page.wait_for_function(AT_END)
    button.wait_for(state="hidden")


def test_what_was_typed_is_kept_until_it_is_sent(browser: Any, windows: Windows) -> None:
    field = browser.get_by_label("Message", exact=True)
    say(browser, "Add a button")
    field.fill("Make it purple")
    browser.reload()
    assert field.input_value() == "Make it purple"
    browser.get_by_role("link", name="New chat").click()
    assert field.input_value() == ""
    browser.go_back()
    assert field.input_value() == "Make it purple"
    long = "x" * 100_001
    field.fill(long)
    browser.get_by_role("button", name="Send").click()
    refusal = browser.locator("#composer").get_by_text("100,001 characters")
    refusal.wait_for()
    windows.seen.clear()  # the browser notes every refusal
    assert field.input_value() == long
    say(browser, "Make it green")
    assert not refusal.is_visible()
    browser.reload()
    assert field.input_value() == ""
