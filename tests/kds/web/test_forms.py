"""Forms in a real browser: what they refuse is not lost, what they did is seen, Back works."""

from collections.abc import Callable
from typing import Any

import pytest

from .conftest import Visitor
from .furnished import PURPOSE

IN_VIEW = """one => {
  const {top, bottom} = one.getBoundingClientRect();
  return top >= 0 && bottom <= innerHeight;
}"""


@pytest.fixture
def consented(visitor: Visitor) -> None:
    visitor.send_form("/memory/consent", purpose=PURPOSE)


@pytest.mark.usefixtures("consented")
def test_a_line_of_the_profile_that_is_none_is_refused_and_nothing_is_lost(
    new_page: Callable[..., Any],
) -> None:
    page = new_page(at="/memory")
    page.get_by_label("Name", exact=True).fill("Ada")
    page.get_by_label("Preferences").fill("tests=pytest\nshort answers, please")
    page.get_by_label("Anything else").fill("I am new here")
    page.get_by_role("button", name="Save").click()
    told = page.locator("#alerts .alert.bad")
    assert "“short answers, please” is not a preference" in told.inner_text()
    assert "preferences, line 2" in told.inner_text()
    assert told.evaluate(IN_VIEW)
    assert page.get_by_label("Name", exact=True).input_value() == "Ada"
    assert "short answers, please" in page.get_by_label("Preferences").input_value()
    assert page.get_by_label("Anything else").input_value() == "I am new here"
    page.get_by_label("Preferences").fill("tests=pytest\nanswers=short")
    page.get_by_role("button", name="Save").click()
    told = page.locator("#alerts .alert.good")
    assert told.inner_text() == "The profile is saved."
    assert told.evaluate(IN_VIEW)
    assert page.get_by_label("Preferences").input_value() == "tests=pytest\nanswers=short"


def test_back_and_reload_work_behind_every_form(new_page: Callable[..., Any]) -> None:
    page = new_page(at="/memory")
    posts: list[str] = []
    page.on("request", lambda one: posts.append(one.url) if one.method == "POST" else None)

    def submit(name: str, path: str) -> None:
        page.goto(page.url.partition("/memory")[0].partition("/documents")[0] + path)
        page.get_by_role("button", name=name).click()
        page.wait_for_load_state()
        before, heading = len(posts), page.locator("h1").inner_text()
        page.reload()
        assert page.locator("h1").inner_text() == heading
        page.go_back()
        assert page.locator("h1").is_visible()
        assert len(posts) == before

    for name, path in (
        ("Show them", "/memory"), ("Check that it is whole", "/memory"),
        ("Make the search index anew", "/memory"), ("Ask", "/documents"),
    ):  # fmt: skip
        submit(name, path)
    page.set_input_files("#file", {"name": "a.exe", "mimeType": "x/y", "buffer": b"MZ"})
    page.evaluate("document.querySelector('form.drop').submit()")
    page.locator("#alerts .alert.bad").wait_for()
    before = len(posts)
    page.reload()
    assert len(posts) == before
    page.get_by_role("button", name="Log out").click()
    page.get_by_text("You are logged out").wait_for()
    before = len(posts)
    page.reload()
    assert len(posts) == before
