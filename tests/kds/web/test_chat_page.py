"""The chat in a real browser: journeys from the first context on."""

import json
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from kds.activation.uses import Uses

from ...agents.openai_server import FakeProvider, Text, Trickle
from ...effort import PATIENCE_S
from ..service.conftest import wait_until
from .conftest import SMALL, Site, Visitor

FAB = "I want to add a FAB button"
VAGUE = ("login form", "look at the header again", "the design of the login", "header")
"""Messages that call for a question; one of them always does."""

MARKDOWN = (
    "# Done\n\n**Well**, it is in `button.py`:\n\n```python\ndef here():\n    return 1\n```\n"
)


def say(page: Any, message: str) -> Any:
    """Type a message and send it by the keyboard; returns what KDS shows of it."""
    page.wait_for_load_state()  # a new session is a new page
    count = page.locator(".line.user").count()
    page.locator("#message").fill(message)
    page.locator("#message").press("Enter")
    turn = page.locator(".line.user").nth(count)
    turn.locator(".chip").first.wait_for()
    return turn


def test_from_the_first_visit_to_the_first_answer(browser: Any) -> None:
    turn = say(browser, FAB)
    assert "session=" in browser.url
    assert "PLAN" in turn.locator(".chip.intent").inner_text()
    assert "work-planner" in turn.inner_text()
    assert "No model is set" in browser.locator(".no-model").inner_text()
    assert "FAB button" in browser.locator("#tail pre").inner_text()

    turn = say(browser, "Make it purple")
    assert "read as Make the FAB button purple" in turn.inner_text()
    word = turn.locator(".ref")
    assert word.evaluate("one => one.firstChild.data") == "it"
    tip = word.locator(".tip")
    assert not tip.is_visible()
    word.focus()
    assert tip.is_visible()
    assert "FAB button" in tip.inner_text()
    assert "%" in tip.inner_text()
    turn.locator("summary", has_text="Why").click()
    assert turn.locator("details[open] li").count() > 1
    turn.locator("summary", has_text="Prompt").click()
    assert "purple" in turn.locator("details[open] pre").inner_text()
    assert browser.locator(".line.user").count() == 2
    assert browser.locator("#message").input_value() == ""


def test_the_keys_do_what_the_page_says(browser: Any) -> None:
    say(browser, FAB)
    field = browser.locator("#message")
    browser.locator("h1").click()
    browser.keyboard.press("/")
    assert browser.evaluate("document.activeElement.id") == "message"
    assert field.input_value() == ""
    browser.keyboard.press("ArrowUp")
    assert field.input_value() == FAB
    field.fill("one")
    browser.keyboard.press("Shift+Enter")
    browser.keyboard.type("two")
    assert field.input_value() == "one\ntwo"
    assert browser.locator(".line.user").count() == 1


def test_two_tabs_show_one_conversation(browser: Any) -> None:
    say(browser, FAB)
    other = browser.context.new_page()
    other.goto(browser.url)
    assert other.locator(".line.user").count() == 1
    turn = say(other, "Make it purple")
    assert "the FAB button" in turn.inner_text()
    say(browser, "Now add a tooltip to it")
    said = browser.locator(".line.user .said")
    sent = [said.nth(place).get_attribute("data-source") for place in range(said.count())]
    assert sent == [FAB, "Make it purple", "Now add a tooltip to it"]
    other.evaluate("dispatchEvent(new Event('focus'))")
    other.locator(".line.user").nth(2).wait_for()
    assert other.locator(".line.user").count() == 3


def test_an_answer_streams_as_markdown_and_is_stopped(browser: Any, provider: FakeProvider) -> None:
    provider.play(Text(MARKDOWN), Trickle("and **more** "))
    say(browser, FAB)
    reply = browser.locator(".line.reply .md").first
    reply.locator("strong").wait_for()
    assert reply.locator("h1").inner_text() == "Done"
    assert reply.locator("pre .c-k").first.inner_text() == "def"
    browser.get_by_role("button", name="Hand over to code-executor").wait_for()

    say(browser, "Make it purple")
    running = browser.locator(".running")
    running.locator("strong").nth(2).wait_for()
    browser.locator("#message").focus()
    browser.keyboard.press("Escape")
    browser.locator(".line.reply", has_text="[halted]").wait_for()
    assert running.count() == 0
    browser.reload()
    assert browser.locator(".line.reply").count() == 2
    assert "[halted]" in browser.locator(".line.reply").last.inner_text()


def test_a_session_is_renamed_exported_deleted_brought_back_and_imported(
    site: Site, browser: Any, tmp_path: Path
) -> None:
    say(browser, FAB)
    browser.locator(".menu summary").click()
    browser.get_by_label("Title").fill("A button <b>of mine</b>")
    browser.get_by_role("button", name="Rename").click()
    browser.locator("h1", has_text="A button <b>of mine</b>").wait_for()

    browser.locator(".menu summary").click()
    with browser.expect_download() as download:
        browser.get_by_role("link", name="Export JSON").click()
    saved = tmp_path / download.value.suggested_filename
    download.value.save_as(saved)
    assert saved.name == "a-button-b-of-mine-b.json"
    assert json.loads(saved.read_text())["sessions"][0]["messages"][0]["content"] == FAB

    browser.get_by_role("button", name="Delete").click()
    assert browser.locator(".sessions li").count() == 0
    browser.get_by_role("button", name="Undo").click()
    browser.locator("h1", has_text="A button").wait_for()
    assert FAB in browser.locator(".line.user").inner_text()
    assert browser.locator(".sessions li").count() == 1

    browser.locator(".import summary").click()
    browser.locator("#file").set_input_files(saved)
    browser.locator(".import button").click()
    browser.get_by_text("Sessions imported: 1").wait_for()
    assert browser.locator(".sessions li").count() == 2  # a copy


def test_a_correction_changes_the_next_routing_and_is_undone_in_one_click(browser: Any) -> None:
    message = "give the dashboard some love"
    turn = say(browser, message)
    assert "EXECUTE" in turn.locator(".chip.intent").inner_text()
    turn.locator("summary", has_text="Not what I meant").click()
    turn.get_by_label("The intent that was meant").select_option("PLAN")
    turn.get_by_role("button", name="Learn that").click()
    undo = browser.locator("#alerts").get_by_role("button", name="Undo")
    undo.wait_for(timeout=PATIENCE_S * 1000)
    assert "PLAN" in say(browser, message).locator(".chip.intent").inner_text()
    undo.click()
    browser.locator("#alerts", has_text="Taken back").wait_for(timeout=PATIENCE_S * 1000)
    assert "EXECUTE" in say(browser, message).locator(".chip.intent").inner_text()


RAISE = "The pod uses 480Mi of its 256Mi limit. Should I raise the memory limit to 512Mi?"


def test_questions_proposals_and_confirmations_are_buttons(
    browser: Any, model: FakeProvider
) -> None:
    say(browser, "commit this")
    browser.get_by_role("button", name="No").click()
    browser.get_by_text("was not started; nothing has changed").wait_for()
    assert browser.get_by_role("button", name="Yes, do it").count() == 0
    model.play(Text(RAISE), Text("Raised at last."))
    say(browser, "the pod gets OOMKilled every hour")
    browser.get_by_role("button", name="Yes, do it").click()
    browser.get_by_text("Raised at last.").wait_for()
    assert model.asked[1].messages[0]["content"].startswith("# Code executor")
    assert "raise the memory limit to 512Mi" in model.asked[1].newest
    for message in VAGUE:
        turn = say(browser, message)
        if turn.locator(".chip.warn", has_text="not sure").count():
            break
    choices = browser.locator("#tail .next button")
    assert choices.count() >= 2
    count = browser.locator(".line.user").count()
    choices.first.click()
    browser.locator(".line.user").nth(count).locator(".chip.intent").wait_for()


NOTES = (
    "---\nname: release-notes\n{more}description: Write release notes from merged pull requests. "
    "Use when a version is about to be published.\n---\n"
    "List what was merged since the last tag, for $ARGUMENTS.\n"
)
WISH = "write the release notes for version 2.4"


@pytest.fixture
def skill(site: Site, visitor: Visitor, request: pytest.FixtureRequest) -> Iterator[Path]:
    """A skill, or the file that a test names, once the service offers it."""
    name = getattr(request, "param", ".claude/skills/release-notes/SKILL.md")
    path = site.workspace.root / name
    path.parent.mkdir(parents=True)
    own = name.startswith("prompts/")
    text = NOTES.format(more="inputs: [message]\n" * own)
    path.write_text(text.replace("$ARGUMENTS", "{{ message }}") if own else text)
    wait_until(lambda: "Run the " in visitor.send_form("/chat/send", message=WISH).text)
    yield path
    shutil.rmtree(site.workspace.root / name.split("/")[0])


def offers(browser: Any) -> Any:
    return browser.get_by_role("button", name=re.compile("Run the .* “release-notes”"))


def test_a_skill_that_fits_is_a_button_that_has_the_model_follow_it(
    browser: Any, provider: FakeProvider, skill: Path, site: Site
) -> None:
    provider.play(Text("Which tag?"), Text("# 2.4\n\nFaster."), Text("# 2.4\n\nMuch faster."))
    say(browser, WISH)
    offers(browser).click()
    reply = browser.locator("#turns .line.reply", has_text="Faster.")
    reply.wait_for()
    assert reply.locator(".who").inner_text().startswith("release-notes")
    system, *others = provider.asked[-1].messages
    assert f"List what was merged since the last tag, for {WISH}." in system["content"]
    assert others[-1] == {"role": "user", "content": WISH}
    assert not offers(browser).count()
    used = [(use.entry, use.outcome, use.prompt) for use in Uses(site.workspace).read()]
    assert used == [("release-notes", "used", WISH)]
    browser.get_by_role("button", name="Answer again").click()
    browser.locator("#turns .line.reply", has_text="Much faster.").wait_for()
    assert "List what was merged" in provider.asked[-1].messages[0]["content"]
    assert browser.locator(".line.user").count() == 1
    say(browser, "make the button purple")
    assert not offers(browser).count()


@pytest.mark.parametrize(
    "skill",
    [".claude/skills/release-notes/SKILL.md", "prompts/user/release-notes.md"],
    indirect=True,
)
def test_a_skill_or_a_prompt_file_is_run_without_a_model_and_without_javascript(
    new_page: Callable[..., Any], skill: Path
) -> None:
    page = new_page(at="/chat", **SMALL)
    page.locator("#message").fill(WISH)
    page.get_by_role("button", name="Send").click()
    offers(page).click()
    assert f"for {WISH}." in page.locator("#tail pre").inner_text()
