"""A turn is stored whole: after a restart the page shows it as before."""

import os
import re
import signal
import socket
from collections.abc import Iterator
from typing import Any

import pytest

from kds.brain.workspace import Workspace
from kds.service import lifecycle
from kds.service.service_client import ServiceAddress, ServiceClient

from ...agents.openai_server import Calls, Failure, FakeProvider, Stall, Text
from .conftest import Restarted, Windows, driven
from .test_chat_page import FAB, VAGUE, say
from .test_reading import answered


def compared(one: Restarted) -> None:
    """What is shown, seen as it came, loaded anew, and after a restart, is the same."""
    answered(one.page)
    before = one.shown()
    one.page.reload()
    assert one.shown() == before
    one.restart()
    assert one.shown() == before


def test_what_kds_made_of_messages_is_the_same_after_a_restart(restarted: Restarted) -> None:
    page, love = restarted.page, "give the dashboard some love"
    taught = say(page, love)
    taught.locator("summary", has_text="Not what I meant").click()
    taught.get_by_label("The intent that was meant").select_option("PLAN")
    taught.get_by_role("button", name="Learn that").click()
    page.locator("#alerts").get_by_role("button", name="Undo").wait_for()
    for message in (FAB, "Make it purple", "Make it use DB_PASSWORD=swordfish", *VAGUE):
        if say(page, message).locator(".chip.warn", has_text="not sure").count():
            break
    page.reload()
    compared(restarted)
    assert taught.locator(".chip.good").inner_text() == "you taught: PLAN"
    assert page.locator("#tail .next button").count() >= 2
    purple, secret = page.locator(".line.user").nth(2), page.locator(".line.user").nth(3)
    assert "read as Make the FAB button purple" in purple.inner_text()
    purple.locator("summary", has_text="Why").click()
    assert "pron.it" in purple.inner_text()
    assert (purple.locator(".ref").count(), secret.locator(".ref").count()) == (1, 1)
    assert "swordfish" not in page.content()
    kept = b"".join(one.read_bytes() for one in restarted.site.root.rglob("*") if one.is_file())
    assert b"swordfish" not in kept
    page.goto(f"{restarted.site.url}/memory")
    page.get_by_role("button", name=f"Take back: '{love}' as PLAN").click()
    page.get_by_text("Taken back").wait_for()
    assert page.url.endswith("/memory#learned")
    assert love not in page.locator("section", has=page.locator("#learned")).inner_text()
    page.goto(f"{restarted.site.url}/chat")
    page.locator(".sessions a").first.click()
    assert taught.locator(".chip.good").count() == 0


FEE = "The servicing fee is 0.25% a year, paid on the Payment Date."


def test_an_answer_from_documents_and_one_that_was_stopped_are_the_same_after_a_restart(
    restarted: Restarted, model: FakeProvider
) -> None:
    page = restarted.page
    with restarted.site.visitor() as visitor:
        visitor.add_files(file=("fees.md", f"# Fees\n\n{FEE}\n".encode()))
    model.play(
        Calls(("search_documents", {"query": "servicing fee"})),
        lambda asked: Text(f"It says: {FEE} (fees.md)" if FEE in asked.newest else "Nothing."),
        Stall("Here is the beginning"),
    )  # fmt: skip
    say(page, "What is the servicing fee?")
    page.locator(".line.reply .md", has_text=FEE).first.wait_for()
    answered(page)
    page.locator(".line.user summary", has_text="Why").click()
    assert 'search_documents {"query": "servicing fee"}' in page.locator(".line.user").inner_text()
    compared(restarted)
    say(page, "Now write tests for it")
    page.get_by_text("Here is the beginning").wait_for()
    page.get_by_role("button", name="Stop").click()
    page.get_by_text("[halted]").wait_for()
    compared(restarted)
    assert page.get_by_role("button", name="Answer again").count() == 1


@pytest.fixture
def lasting(served_place: Workspace, windows: Windows) -> Iterator[Any]:
    """A window that outlives services, which are processes of their own here."""
    with driven(windows.loop):
        yield windows.open()
        windows.seen.clear()  # the browser notes what did not answer
        windows.close()


def test_a_page_that_is_open_when_the_service_is_killed_says_so_and_goes_on_behind_its_next_start(
    served_place: Workspace, model: FakeProvider, lasting: Any
) -> None:
    page, client, place = lasting, ServiceClient(served_place), ServiceAddress()
    with socket.create_server(("127.0.0.1", 0)) as found:  # one that no other service takes
        port = found.getsockname()[1]
    place.ensure()
    place.page_path.write_text(str(port))
    pid = lifecycle.start(served_place, idle_minutes=5)["pid"]
    url, link = client.web()
    page.goto(link)
    model.play(Stall("Well,"), Text("Here it is."))
    say(page, FAB)
    page.get_by_text("Well,").wait_for()
    page.locator("#message").fill("Make it purple")
    os.kill(pid, signal.SIGKILL)
    page.get_by_text("its service has ended. Start it again: kds web").wait_for()
    lifecycle.start(served_place, idle_minutes=5)
    assert client.web()[0] == url
    page.get_by_text("You are not logged in.").wait_for()
    page.context.request.get(client.web()[1])
    page.get_by_text("KDS was ended before it came").wait_for()
    assert page.locator(".running").count() == 0
    assert page.locator(".line.user .chip.intent").inner_text().startswith("PLAN")
    assert page.locator("#message").input_value() == "Make it purple"
    page.get_by_role("button", name="Answer again").click()
    page.locator(".line.reply .md", has_text="Here it is.").wait_for()
    answered(page)
    assert "KDS was ended" not in page.content()


def test_answers_errors_tools_and_times_are_the_same_after_a_restart(
    restarted: Restarted, provider: FakeProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KDS_REWRITING", "rules-only")
    page = restarted.page
    provider.play(
        Calls(("search_memory", {"query": "buttons"})), Text("Shall I make it round?"),
        Failure(401, "no such key"),
    )  # fmt: skip
    say(page, "Where is the FAB button described?")
    page.locator(".line.reply .md p").first.wait_for()
    answered(page)
    turn = page.locator(".line.user").first
    turn.locator("summary", has_text="Why").click()
    assert "answered with fake" in turn.inner_text()
    assert re.search(r"answered in \d+\.\d s", turn.inner_text())
    compared(restarted)
    say(page, "Make it purple")
    page.locator("#tail .alert.bad").wait_for()
    compared(restarted)
    say(page, "Now write tests for it")
    answered(page)
    assert page.locator("#turns .alert.bad").count() == 1
    compared(restarted)


def test_what_profile_and_memory_put_into_a_prompt_stands_in_why_until_it_is_erased(
    restarted: Restarted,
) -> None:
    page = restarted.page
    with restarted.site.visitor() as visitor:
        visitor.send_form("/memory/consent", purpose="answers that suit me")
        visitor.send_form("/memory/profile", constraints="Zanzibar only")
        staging = visitor.send_form("/chat/send", message="Staging uses port 8443").url
    say(page, "Add a health check for the staging port")
    answered(page)
    turn = page.locator(".line.user")
    turn.locator("summary", has_text="Why").click()
    why = turn.inner_text()
    assert "from your profile: Constraints: Zanzibar only" in why
    assert "Staging uses port 8443" in turn.locator("blockquote").inner_text()
    assert "8443" in page.locator("#tail pre").inner_text()
    compared(restarted)
    with restarted.site.visitor() as visitor:
        visitor.send_form("/chat/delete", session=staging.params["session"])
        visitor.send_form("/memory/revoke")
    page.reload()
    assert "quoted what is erased by now" in turn.inner_html()
    assert "Zanzibar" not in page.content()
    assert "8443" not in page.content()
    kept = b"".join(p.read_bytes() for p in restarted.site.workspace.brain.rglob("*.db*"))
    assert b"Zanzibar" not in kept
    assert b"8443" not in kept
