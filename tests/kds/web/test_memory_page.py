"""The page of the memory, and its forms: what they refuse is not lost, what they did is seen."""

from collections.abc import Callable
from typing import Any

import pytest

from kds.web.site import PAGES

from .conftest import Site, Visitor
from .furnished import PURPOSE

MARKER = "Zanzibar-Quokka"


def said(site: Site, *messages: str, title: str = "") -> str:
    """A session with these messages; returns its id."""
    with site.client() as api:
        name: str = api.post("/sessions", json={"title": title} if title else {}).json()["id"]
        for message in messages:
            answer = api.post(
                f"/sessions/{name}/messages", json={"role": "user", "content": message}
            )
            answer.raise_for_status()
    return name


def bytes_below(site: Site) -> bytes:
    return b"".join(p.read_bytes() for p in site.workspace.brain.rglob("*") if p.is_file())


def test_a_session_is_summarized_on_demand(site: Site, visitor: Visitor) -> None:
    name = said(site, "We decided to keep the export in src/jobs/export.py.")
    page = visitor.get("/memory/session", params={"session": name}).text
    assert "Summarize now" in page
    assert "src/jobs/export.py" not in page
    page = visitor.send_form("/memory/summarize", session=name).text
    assert "The session is summarized." in page
    assert "keep the export in src/jobs/export.py" in page
    assert visitor.send_form("/memory/summarize", session="nothing").status_code == 404


def test_nothing_is_kept_about_a_person_before_consent_nor_after_it_is_taken_back(
    site: Site, visitor: Visitor
) -> None:
    visitor.send_form("/memory/revoke")  # what another test has consented to
    assert "until you consent" in visitor.get("/memory").text
    refused = visitor.send_form("/memory/profile", name=MARKER)
    assert refused.status_code >= 400
    visitor.send_form("/memory/consent", purpose="knowing my stack")
    visitor.send_form("/memory/profile", name=MARKER, preferences="tests=pytest\n")
    page = visitor.get("/memory").text
    assert f'value="{MARKER}"' in page
    assert "tests=pytest" in page
    assert ": granted, knowing my stack" in page
    assert "shown to its owner on the page" in visitor.get("/memory").text
    assert MARKER.encode() in bytes_below(site)
    visitor.send_form("/memory/revoke")
    assert "until you consent" in visitor.get("/memory").text
    assert MARKER.encode() not in bytes_below(site)


def test_the_memory_is_cleaned_up_examined_and_its_index_made_anew(
    site: Site, visitor: Visitor
) -> None:
    said(site, "Staging listens on port 8443.", title="Young")
    assert "Nothing to clean up" in visitor.get("/memory/cleanup?days=90").text
    assert visitor.get("/memory/cleanup?days=-1").status_code == 400
    assert "Young" in visitor.get("/memory").text
    assert "The memory is in order." in visitor.send_form("/memory/check").text
    told = visitor.send_form("/memory/check", rebuild="yes").text
    assert "The search index has been made anew." in told


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
    page.goto(page.url.replace("/documents", "/settings"))
    row = page.locator("li", has=page.get_by_text("references.precision", exact=True))
    row.locator("summary").click()
    row.locator("input[name=value]").fill("much")
    row.get_by_role("button", name="Set here").click()
    page.locator("#alerts .alert.bad", has_text="valid number").wait_for()
    assert row.locator("input[name=value]").input_value() == "much"
    assert row.locator("input[name=value]").evaluate(IN_VIEW)


@pytest.mark.parametrize(
    "path", [one.path for page in PAGES for one in page.routes if "POST" in (one.methods or ())]
)
def test_every_form_leads_back_to_a_page_also_when_it_is_refused(
    visitor: Visitor, path: str
) -> None:
    sent = {"csrf": visitor.csrf, "session": "nothing"}
    back = {"Referer": f"{visitor.base_url}/settings?x=1"}
    answer = visitor.post(path, data=sent, headers=back, follow_redirects=False)
    assert answer.status_code == 303
    assert answer.headers["location"].startswith("/")
    answer = visitor.post(
        path, data=sent, headers={"Referer": "http://evil.example//evil.example"},
        follow_redirects=False,
    )  # fmt: skip
    assert not answer.headers.get("location", "").startswith("//")
