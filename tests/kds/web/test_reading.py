"""What people read in the chat: Markdown of models, times, the list of sessions."""

from collections.abc import Callable
from typing import Any

import pytest

from ...agents.openai_server import Failure, FakeProvider, Text, Trickle
from .conftest import SMALL, Visitor, Windows
from .furnished import MARKDOWN, archive
from .test_chat_page import FAB, say


def answered(page: Any) -> None:
    page.wait_for_function("() => !document.querySelector('.running, [class*=htmx-]')")


def test_tables_tasks_directions_and_code_are_as_they_are_meant(
    browser: Any, model: FakeProvider
) -> None:
    model.play(Text(MARKDOWN))
    say(browser, FAB)
    reply = browser.locator(".line.reply").last
    reply.locator("pre").first.wait_for()
    answered(browser)
    cell = reply.locator("td").nth(1)
    assert cell.evaluate("one => getComputedStyle(one).textAlign") == "right"
    boxes = reply.locator("li input")
    assert [boxes.nth(at).is_checked() for at in range(boxes.count())] == [True, False]
    for part in (reply.locator("p", has_text="to all"), reply.locator("ul").nth(1)):
        assert part.evaluate("one => getComputedStyle(one).direction") == "rtl"
    for wide in (reply.locator("pre").first, reply.locator(".scroll").nth(1)):
        wide.focus()
        assert wide.evaluate(
            "one => document.activeElement === one && one.scrollWidth > one.clientWidth"
        )
    browser.set_viewport_size({"width": 360, "height": 640})
    assert browser.evaluate("document.documentElement.scrollWidth") == 360
    heads = reply.locator("th").evaluate_all("all => all.map(one => one.clientHeight)")
    assert max(heads) < 40  # in one line, however narrow the page is
    browser.context.grant_permissions(["clipboard-read", "clipboard-write"])
    reply.locator(".code button").first.click()
    reply.get_by_text("Copied").wait_for()
    copied = browser.evaluate("navigator.clipboard.readText()")
    assert copied.startswith("def here():\n    return 11")


@pytest.mark.parametrize(("path", "reached"), [("/settings", "main"), ("/chat", "message")])
def test_the_first_stop_of_the_keyboard_skips_the_header(
    new_page: Callable[..., Any], path: str, reached: str
) -> None:
    page = new_page(at=path)
    if path == "/chat":
        say(page, FAB)
        page.reload()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == reached


def test_the_list_of_sessions_is_of_now_in_local_time_and_finds_what_was_said(
    new_page: Callable[..., Any], visitor: Visitor
) -> None:
    page = new_page(at="/chat", timezone_id="Asia/Tokyo", locale="en-GB")
    say(page, FAB)
    first = page.locator(".sessions li").first
    assert first.locator("time").get_attribute("title").endswith("UTC")
    assert "UTC" not in first.inner_text()
    shift = first.locator("time").evaluate("one => new Date(one.dateTime).getHours()")
    assert f" {shift:02}:" in first.locator("time").inner_text()
    say(page, "Make it purple")
    page.locator(".sessions li", has_text="· 2").wait_for()
    visitor.send_form("/chat/send", message="Our zebra crossing needs paint")
    page.evaluate("dispatchEvent(new Event('focus'))")
    page.locator(".sessions li").nth(1).wait_for()
    visitor.send_form("/chat/rename", session=session_of(page), title="Painting")
    page.goto(f"{page.url}&offset=1")
    assert page.locator(".sessions li").count() == 1
    with page.expect_response("**/chat/sessions**"):
        page.evaluate("dispatchEvent(new Event('focus'))")
    assert page.locator(".sessions li").count() == 1
    page.get_by_role("link", name="The latest").click()
    assert page.locator(".sessions li").count() == 2
    page.get_by_label("Search sessions").fill("purple")
    page.get_by_label("Search sessions").press("Enter")
    assert page.locator(".sessions li").count() == 1
    assert "Make it purple" in page.locator(".sessions li").inner_text()


def session_of(page: Any) -> str:
    return str(page.locator("#composer input[name=session]").input_value())


def test_a_message_is_answered_again_and_edited(browser: Any, model: FakeProvider) -> None:
    model.play(Failure(500, "out of order"), Text("Here is the plan."), Text("Another plan."))
    say(browser, FAB)
    browser.locator("#tail .alert.bad").wait_for()
    again = browser.get_by_role("button", name="Answer again")
    again.click()
    browser.get_by_text("Here is the plan.").wait_for()
    assert browser.locator("#tail .alert.bad").count() == 0
    answered(browser)
    again.click()
    browser.get_by_text("Another plan.").wait_for()
    assert browser.locator(".line.user").count() == 1
    browser.get_by_role("button", name="Edit").click()
    field = browser.locator("#message")
    assert field.input_value() == FAB
    assert browser.evaluate("document.activeElement.id") == "message"
    field.fill("something else")
    browser.get_by_role("button", name="Edit").click()
    assert field.input_value() == FAB
    field.press("Control+z")
    assert field.input_value() == "something else"
    field.fill("")


def test_a_message_sent_during_an_answer_halts_it_and_both_stay_in_order(
    browser: Any, model: FakeProvider
) -> None:
    model.play(Trickle("on and on "), Text("Green it is."))
    say(browser, FAB)
    browser.locator(".running .md p").wait_for()
    say(browser, "Make it green")
    browser.get_by_text("Green it is.").wait_for()
    answered(browser)
    for _ in ("as it came", "anew"):
        one, halted, two, reply = browser.locator(".line").all_inner_texts()
        assert (FAB in one, "Make it green" in two) == (True, True)
        assert halted.endswith("[halted]")
        assert reply.endswith("Green it is.")
        browser.reload()


def test_sessions_on_a_phone_stand_above_the_conversation(new_page: Callable[..., Any]) -> None:
    page = new_page(at="/chat", **{**SMALL, "java_script_enabled": True})
    say(page, "I want to add a " + "very" * 60 + " long button")
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    page.get_by_text("Sessions", exact=True).click()
    side, talk = (page.locator(one).bounding_box() for one in (".side", ".talk"))
    assert side["y"] + side["height"] <= talk["y"] + 1


AT_END = "() => document.documentElement.scrollHeight - innerHeight - scrollY < 2"


def test_the_chat_follows_what_arrives_unless_the_reader_has_scrolled_away(
    new_page: Callable[..., Any], visitor: Visitor
) -> None:
    page = new_page(viewport={"width": 800, "height": 500})
    for number in range(6):
        say(page, f"Add a button number {number}")
    page.wait_for_function(AT_END)
    button = page.get_by_role("button", name="To the end")
    assert not button.is_visible()
    session = session_of(page)
    page.evaluate("scrollTo(0, 0)")
    visitor.send_form("/chat/send", message="Add a map", session=session)
    page.evaluate("dispatchEvent(new Event('focus'))")
    page.get_by_text("Add a map").first.wait_for(state="attached")
    button.wait_for()
    assert page.evaluate("scrollY") == 0
    button.click()
    page.wait_for_function(AT_END)
    button.wait_for(state="hidden")


def test_what_is_unfolded_stays_in_view_while_an_answer_comes(
    browser: Any, model: FakeProvider
) -> None:
    model.play(Trickle("on and on\n\n"))
    say(browser, FAB)
    browser.wait_for_function(f"() => scrollY > 0 && ({AT_END})()")
    turn = browser.locator(".line.user")
    turn.locator("summary", has_text="Prompt").click()
    top = turn.bounding_box()["y"]
    shown = browser.locator(".running .md p").count()
    browser.locator(".running .md p").nth(shown + 3).wait_for(state="attached")
    assert turn.bounding_box()["y"] == top
    browser.keyboard.press("End")
    browser.locator(".running .md p").nth(shown + 9).wait_for(state="attached")
    browser.wait_for_function(AT_END)
    browser.keyboard.press("Escape")
    browser.locator(".line.reply", has_text="[halted]").wait_for()


def test_earlier_messages_come_above_what_is_read(
    new_page: Callable[..., Any], visitor: Visitor
) -> None:
    file = archive(("long", "Long", [f"number {at}" for at in range(120)]))
    visitor.send_form("/chat/import", files={"file": ("a.json", file)})
    page = new_page(at="/chat?session=long")
    page.evaluate("scrollTo(0, 0)")
    first = page.locator(".line").first
    seq, top = first.get_attribute("data-seq"), first.bounding_box()["y"]
    page.locator(".earlier a").click()
    page.locator(".line").nth(99).wait_for()
    answered(page)
    assert abs(page.locator(f"#m-{seq}").bounding_box()["y"] - top) < 60
    assert page.evaluate("document.activeElement.innerText") == "Earlier messages"


def test_the_theme_changes_where_one_is_and_leaving_with_a_text_unsent_is_asked(
    new_page: Callable[..., Any], visitor: Visitor, windows: Windows
) -> None:
    visitor.send_form("/memory/consent", purpose="answers that suit me")
    page = new_page(at="/memory")
    field = page.get_by_label("Anything else")
    field.fill("I am new here")
    page.get_by_label("Colours: dark").click()
    assert page.evaluate("getComputedStyle(document.body).colorScheme") == "dark"
    assert page.get_by_label("Colours: dark").get_attribute("aria-pressed") == "true"
    assert field.input_value() == "I am new here"
    with page.expect_event("dialog"):
        page.get_by_role("link", name="Settings").click()
    windows.seen.clear()  # it was to be asked
    assert field.input_value() == "I am new here"
    page.get_by_role("button", name="Save").click()
    page.get_by_text("The profile is saved.").wait_for()
    page.get_by_role("link", name="Settings").click()
    page.wait_for_url("**/settings")
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    visitor.send_form("/memory/revoke")


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


@pytest.mark.parametrize("begun", [True, False])
def test_what_is_typed_while_a_message_is_sent_is_the_next_one(
    browser: Any, *, begun: bool
) -> None:
    field = browser.get_by_label("Message", exact=True)
    if begun:
        say(browser, "Add a button")
    typed = iter(["Make it purple", ""])

    def type_on(route: Any) -> None:
        if rest := next(typed):
            browser.evaluate("text => { message.value += ' ' + text; "
                "message.dispatchEvent(new Event('input', {bubbles: true})); }", rest)  # fmt: skip
        route.continue_()

    browser.route("**/chat/send", type_on)
    say(browser, FAB)
    browser.wait_for_load_state()
    browser.wait_for_function("() => message.value === 'Make it purple'")
    browser.reload()
    assert field.input_value() == "Make it purple"
    browser.unroute("**/chat/send")
    say(browser, "Make it purple")


def test_who_is_not_logged_in_any_more_is_told_so_beside_the_text(
    browser: Any, windows: Windows
) -> None:
    say(browser, FAB)
    browser.wait_for_load_state()
    browser.context.clear_cookies()
    field = browser.get_by_label("Message", exact=True)
    field.fill("Make it purple")
    field.press("Enter")
    refusal = browser.locator("#composer").get_by_text("You are not logged in.")
    refusal.wait_for()
    with browser.expect_response("**/chat/since**"):
        browser.evaluate("dispatchEvent(new Event('focus'))")
    answered(browser)
    assert refusal.count() == 1
    assert browser.locator("main").count() == 1
    assert field.input_value() == "Make it purple"
    windows.seen.clear()  # the browser notes every refusal
