"""The playground: nothing is remembered, nothing is saved that does not load, nothing leaves."""

import shutil
import stat
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest

from kds.api.routing import rehearsed
from kds.api.workspace_parts import Parts
from kds.service.service_client import ServiceClient
from kds.testing.dialogues import read_dialogues
from kds.testing.playing import play
from kds.web import playground_page

from ...effort import PATIENCE_S
from ..service.conftest import wait_until
from .conftest import SMALL, Site, Visitor

RULE = """\
rules:
  - id: my.usual-place
    description: '"the usual place" stands for what it names here'
    signal:
      kind: pattern
      cues: ['\\bthe usual place\\b']
    render: {text: the corner table}
    tests:
      - {in: Open the usual place, out: Open the corner table}
      - {in: Open the settings page, out: unchanged}
"""
MESSAGE = "Open the usual place"
FILE = "rules/usual-place.yaml"
HOSTILE = "<script>alert(1)</script>"


@pytest.fixture(autouse=True)
def plain(site: Site) -> Iterator[None]:
    """The service serves other tests, too."""
    yield
    for folder in ("kds-brain/rules", "kds-brain/english", "prompts", "tests"):
        place = site.root / folder
        place.unlink() if place.is_symlink() else shutil.rmtree(place, ignore_errors=True)
    client = ServiceClient(site.workspace)
    wait_until(lambda: client.route(MESSAGE, log=False).expanded == MESSAGE)


def work(visitor: Visitor, do: str, **fields: str) -> httpx.Response:
    """Press a button of the page."""
    return visitor.send_form("/playground", do=do, **fields)


def stamp_of(page: str) -> str:
    return page.split('name="stamp" value="', 1)[1].split('"', 1)[0]


def test_a_conversation_is_shown_step_by_step_and_never_remembered(
    site: Site, visitor: Visitor
) -> None:
    assert "Make it purple" in visitor.get("/playground").text
    page = work(visitor, "run", conversation="I want to add a FAB button\nMake it purple").text
    assert "Make the FAB button purple" in page
    assert "by <code>pron.it</code>" in page
    assert '<span class="chip good">written</span>' in page
    assert "a careful reader accepts it with" in page
    doubtful = work(
        visitor, "run", conversation="Add a star widget and a vote widget\nMake it wide"
    )
    assert "or &#39;vote widget&#39; 1.00 is not clear enough" in doubtful.text
    for step in ("load", "resolve", "decide", "expand", "classify", "dispatch"):
        assert f"<dt>{step} " in page
    with site.client() as api:
        assert api.get("/context").json()["entries"] == []


@pytest.mark.parametrize(
    "conversation",
    [
        "user: I want to add a FAB button\nassistant: Done.\nIt is green.\nUSER: Make it purple",
        "- id: fab\n  turns:\n    - user: I want to add a FAB button\n    - {user: Make it purple}",
    ],
)
def test_a_conversation_may_say_who_says_what_or_be_a_dialogue_test(
    visitor: Visitor, conversation: str
) -> None:
    page = work(visitor, "run", conversation=conversation).text
    assert page.count('<p class="said">') == 2


@pytest.mark.parametrize(
    ("conversation", "told"),
    [
        ("", "this one 0"),
        ("assistant: Hello", "the assistant speaks first"),
        ("hello\n" * 51, "this one 51"),
        ("- id: a\n  turns: []", "must have at least 1 items"),
        ("x" * 100_001, "more than 100,000 characters"),
    ],
)
def test_what_is_no_conversation_is_said_and_stays_in_the_page(
    visitor: Visitor, conversation: str, told: str
) -> None:
    answer = work(visitor, "run", conversation=conversation)
    assert answer.status_code == 400
    assert told in answer.text
    assert f'aria-describedby="how">\n{conversation}' in answer.text


def test_a_change_is_tried_beside_what_holds_and_saves_nothing(
    site: Site, visitor: Visitor
) -> None:
    page = work(visitor, "try", file=FILE, text=RULE, stamp="", conversation=MESSAGE).text
    assert "<del>Open the usual place</del> <ins>Open the corner table</ins>" in page
    assert "2 tests passed" in page
    assert not (site.workspace.rules_dir / "usual-place.yaml").exists()
    assert ServiceClient(site.workspace).route(MESSAGE, log=False).expanded == MESSAGE


@pytest.mark.parametrize("held", ["try_change", "turn_by_turn"])
def test_hooks_are_answered_while_a_change_is_tried(
    site: Site, visitor: Visitor, monkeypatch: pytest.MonkeyPatch, held: str
) -> None:
    entered, go_on, done = threading.Event(), threading.Event(), getattr(playground_page, held)
    served = ServiceClient(site.workspace)

    def waits(*given: Any, **named: Any) -> Any:
        if threading.current_thread().name.startswith("asyncio_"):  # of `asyncio.to_thread`
            entered.set()
            assert go_on.wait(PATIENCE_S)
        return done(*given, **named)

    monkeypatch.setattr(playground_page, held, waits)
    with ThreadPoolExecutor() as pool:
        fields = {"file": FILE, "text": RULE, "stamp": "", "conversation": MESSAGE}
        tried = pool.submit(work, visitor, "try", **fields)
        assert entered.wait(PATIENCE_S)
        assert served.route(MESSAGE, log=False).expanded == MESSAGE
        go_on.set()
        assert "2 tests passed" in tried.result(PATIENCE_S).text


def test_the_tests_of_a_rule_and_the_dialogues_of_the_workspace_tell_how_they_fail(
    site: Site, visitor: Visitor
) -> None:
    folder = site.root / "tests" / "dialogues"
    folder.mkdir(parents=True)
    (folder / "place.yaml").write_text(f"- {{id: place, turns: [{{user: {MESSAGE}}}]}}\n")
    wrong = RULE.replace("out: Open the corner table", "out: Open the bar")
    page = work(visitor, "try", file=FILE, text=wrong, stamp="").text
    assert "2 failed" in page
    assert f"{site.workspace.rules_dir}/usual-place.yaml:9: my.usual-place" in page
    assert "place.yaml:1: place, turn 1 of 1" in page


def test_tests_end_when_the_time_is_up(visitor: Visitor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(playground_page, "TESTS_S", 0.0)
    page = work(visitor, "try", file=FILE, text=RULE, stamp="").text
    assert "The time for tests was up: 1 groups of them did not run." in page


def test_a_file_that_does_not_load_is_told_by_its_lines_and_not_saved(
    site: Site, visitor: Visitor
) -> None:
    broken = RULE.replace("kind: pattern", "kind: patern").replace("out: unchanged", "out: 7")
    for do in ("try", "save"):
        answer = work(visitor, do, file=FILE, text=broken, stamp="")
        assert answer.status_code == 400
        assert f"{site.workspace.rules_dir}/usual-place.yaml:5" in answer.text
        assert f"{site.workspace.rules_dir}/usual-place.yaml:10" in answer.text
        assert "To mend it" in answer.text
        assert "kind: patern" in answer.text
    assert not site.workspace.rules_dir.exists()


def test_a_saved_file_is_private_and_counts_from_the_next_message_on(
    site: Site, visitor: Visitor
) -> None:
    page = work(visitor, "save", file=FILE, text=RULE.replace("\n", "\r\n"), stamp="").text
    assert f"{FILE} is saved" in page
    path = site.workspace.rules_dir / "usual-place.yaml"
    assert path.read_text(encoding="utf-8") == RULE
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    route = ServiceClient(site.workspace).route(MESSAGE, log=False)
    assert route.expanded == "Open the corner table"
    opened = work(visitor, f"open:{FILE}").text
    assert stamp_of(opened) == stamp_of(page)


def test_a_file_that_somebody_else_changed_is_not_overwritten(site: Site, visitor: Visitor) -> None:
    stamp = stamp_of(work(visitor, "save", file=FILE, text=RULE, stamp="").text)
    path = site.workspace.rules_dir / "usual-place.yaml"
    path.write_text(f"# mine\n{RULE}", encoding="utf-8")
    answer = work(visitor, "save", file=FILE, text=f"{RULE}# page\n", stamp=stamp)
    assert answer.status_code == 400
    assert "changed by somebody else meanwhile" in answer.text
    assert "# page" in answer.text
    assert path.read_text(encoding="utf-8").startswith("# mine")


def test_words_and_packaged_prompts_are_laid_over_with_what_belongs_to_them(
    site: Site, visitor: Visitor
) -> None:
    page = work(visitor, "open:english/people.yaml").text
    assert "Words join the packaged list" in page
    assert "\n# " in page.split('name="text"', 1)[1]
    name = "prompts/internal/work-planner.md"
    page = work(visitor, f"open:{name}").text
    assert "This is the packaged one" in page
    text = httpx.Response(200, text=page).text.split('name="text"', 1)[1]
    assert "intent: PLAN" in text
    packaged = (Path(playground_page.__file__).parents[1] / name).resolve()
    assert work(visitor, "save", file=name, text=packaged.read_text(), stamp="").status_code == 200
    assert (site.root / name).read_text() == packaged.read_text()
    beside = packaged.with_suffix(".examples.yaml")
    assert (site.root / "prompts/internal" / beside.name).read_text() == beside.read_text()


def test_a_rule_and_a_prompt_are_begun_as_on_the_command_line(site: Site, visitor: Visitor) -> None:
    page = work(visitor, "begin:rule", new="usual-place").text
    assert "id: my.usual-place" in page
    assert stamp_of(page)
    assert "there is a packaged rule file" in work(visitor, "begin:rule", new="pronouns").text
    assert "intent: DEPLOY_RUNNER" in work(visitor, "begin:prompt", new="deploy-runner").text
    assert work(visitor, "begin:rule", new="../../evil").status_code == 400


@pytest.mark.parametrize(
    "name",
    [
        "rules/../settings.yaml", "../x.yaml", "/etc/passwd", "rules/x.md", "rules/.x.yaml",
        "rules/a/b.yaml", "rules\\..\\x.yaml", "settings.yaml", "prompts/../rules/x.yaml",
        "prompts/learned/x.md", "rules/x\x00.yaml", "rules/" + "x" * 300 + ".yaml", HOSTILE, "",
    ],
)  # fmt: skip
def test_no_name_leads_elsewhere(site: Site, visitor: Visitor, name: str) -> None:
    before = {path for path in site.root.rglob("*") if "cache" not in path.parts}
    for do in (f"open:{name}", "try", "save"):
        answer = work(visitor, do, file=name, text=RULE, stamp="")
        assert answer.status_code == 400
        assert HOSTILE not in answer.text
    after = {path for path in site.root.rglob("*") if "cache" not in path.parts}
    assert after == before


def test_links_that_lead_out_are_neither_read_nor_written(
    site: Site, visitor: Visitor, tmp_path: Path
) -> None:
    secret = tmp_path / "secret.yaml"
    secret.write_text("secret: yes\n")
    site.workspace.rules_dir.mkdir()
    (site.workspace.rules_dir / "notes.yaml").symlink_to(secret)
    answer = work(visitor, "open:rules/notes.yaml")
    assert answer.status_code == 400
    assert "secret: yes" not in answer.text
    assert work(visitor, "save", file="rules/notes.yaml", text=RULE, stamp="").status_code == 400
    assert secret.read_text() == "secret: yes\n"
    shutil.rmtree(site.workspace.rules_dir)
    site.workspace.rules_dir.symlink_to(tmp_path)
    assert work(visitor, "begin:rule", new="usual-place").status_code == 400
    assert work(visitor, "save", file=FILE, text=RULE, stamp="").status_code == 400
    assert [path.name for path in tmp_path.iterdir()] == ["secret.yaml"]


def test_a_conversation_is_kept_as_a_dialogue_test_that_passes(
    site: Site, visitor: Visitor
) -> None:
    conversation = (
        "user: I want to add a FAB button\nuser: Make it purple\n"
        "assistant: Done. Shall I add a test?\nuser: yes please"
    )
    page = visitor.send_form("/playground", do="run", conversation=conversation).text
    text = page.split('id="test"', 1)[1].split(">\n", 1)[1].split("</textarea>", 1)[0]
    assert "expanded: Make the FAB button purple" in text
    page = work(visitor, "keep", **{"test": text, "test-name": "fab-button"}).text
    assert "it passes." in page
    path = site.root / "tests" / "dialogues" / "fab-button.yaml"
    parts = Parts.load(site.workspace, may_write=False)
    assert all(play(one, partial(rehearsed, parts)).passed for one in read_dialogues(path))
    again = work(visitor, "keep", **{"test": text, "test-name": "fab-button"})
    assert "is there already" in again.text
    for name in ("../evil", "Fab Button", ""):
        answer = work(visitor, "keep", **{"test": text, "test-name": name})
        assert answer.status_code == 400
    wrong = text.replace("FAB button purple", "page purple")
    page = work(visitor, "keep", **{"test": wrong, "test-name": "wrong"}).text
    assert "it fails as things are" in page


def test_a_rule_is_edited_tried_and_saved_in_a_browser(site: Site, new_page: Any) -> None:
    (site.workspace.rules_dir).mkdir()
    (site.workspace.rules_dir / "usual-place.yaml").write_text(RULE.replace("corner", "window"))
    (site.workspace.rules_dir / f"{HOSTILE.replace('/', '-')}.yaml").write_text(
        RULE.replace("my.usual-place", "my.other").replace("usual place", "other place")
    )
    browser = new_page(at="/playground")
    browser.fill("#conversation", f"{MESSAGE}\n{HOSTILE}\n</textarea><img src=x onerror=alert(2)>")
    browser.get_by_role("button", name=FILE).click()
    browser.fill("#text", RULE)
    browser.get_by_role("button", name="Try", exact=True).click()
    browser.locator("ins", has_text="the corner table").first.wait_for()
    assert HOSTILE in browser.locator("#turns").inner_text()
    browser.get_by_role("button", name="Save", exact=True).click()
    browser.get_by_text("counts from now on").wait_for()
    assert browser.input_value("#conversation").startswith(MESSAGE)
    browser.goto(f"{site.url}/chat")
    browser.fill("[name=message]", MESSAGE)
    browser.press("[name=message]", "Enter")
    browser.get_by_text("Open the corner table").first.wait_for()


def test_the_playground_fits_a_small_screen_without_javascript(new_page: Any) -> None:
    page = new_page(at="/playground?file=rules/pronouns.yaml", **SMALL)
    page.get_by_role("button", name="Run", exact=True).press("Enter")
    page.get_by_text("Make the FAB button purple").first.wait_for()
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
