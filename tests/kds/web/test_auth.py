"""Who gets in, and what every answer says to the browser."""

import os
import re
from itertools import product
from pathlib import Path

import httpx
import pytest

from kds.web.auth import LINK_S, Visitors

from .conftest import Site, Visitor


def test_the_link_lets_one_browser_in_once_and_the_token_leaves_the_address(site: Site) -> None:
    link = site.link()
    entered, again = httpx.get(link), httpx.get(link)
    assert (entered.status_code, entered.headers["location"]) == (303, "/")
    cookie = entered.headers["set-cookie"]
    assert all(part in cookie for part in ("HttpOnly", "SameSite=strict", "Path=/"))
    assert again.status_code == 403
    assert "was used already" in again.text
    assert "kds web" in again.text
    assert "set-cookie" not in again.headers


def test_a_link_is_too_old_after_some_minutes() -> None:
    now = 0.0
    visitors = Visitors(clock=lambda: now)
    early, late = visitors.link("/a"), visitors.link("/a")
    now = LINK_S - 1
    assert visitors.enter(early)
    now = LINK_S + 1
    assert visitors.enter(late) is None


COOKIES = (None, "", "wrong", "a" * 5000, "\x7fé")
HOSTS = ("kds.example", "127.0.0.1.example.com", "", "localhost@evil")


def test_a_wrong_cookie_or_name_of_this_machine_and_pages_at_other_ports_get_nothing(
    site: Site, visitor: Visitor
) -> None:
    name = f"kds-{site.url.rpartition(':')[2]}"
    for cookie in COOKIES:
        headers = {} if cookie is None else {b"Cookie": f"{name}={cookie}".encode()}
        answer = httpx.get(f"{site.url}/chat", headers=headers)
        assert answer.status_code == 401
        assert "kds web" in answer.text
    for host, path in product(HOSTS, ("/chat", "/login?token=x", "/static/kds.css")):
        assert visitor.get(path, headers={"Host": host}).status_code in (400, 403)
    for where, kind in product(("cross-site", "same-site"), ("image", "script", "iframe")):
        headers = {"Sec-Fetch-Site": where, "Sec-Fetch-Dest": kind}
        for path in ("/chat", "/settings", "/login?token=x"):
            answer = visitor.get(path, headers=headers)
            assert answer.status_code == 403
            assert "from elsewhere" in answer.text
        assert visitor.get("/chat", headers=headers | {"Sec-Fetch-Dest": "document"}).is_success


def test_another_user_of_the_machine_gets_nothing_for_the_link_or_the_cookie(
    visitor: Visitor, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not Path("/proc/net/tcp").exists():
        pytest.skip("the system does not tell whose connection it is")
    pages, mine = (f"{site.url}/chat", site.link()), os.geteuid()
    with monkeypatch.context() as patched:
        patched.setattr(os, "geteuid", lambda: mine + 1)
        patched.setattr("kds.service.security._ROOT", -1)
        for path in pages:
            answer = httpx.get(path, cookies=visitor.cookies)
            assert answer.status_code == 403
            assert "another user" in answer.text
    assert visitor.get(pages[1]).is_success


@pytest.mark.parametrize("csrf", [None, "", "x", "é" * 43])
def test_a_form_that_does_not_prove_to_be_ours_does_nothing(
    visitor: Visitor, csrf: str | None
) -> None:
    data = {"theme": "dark"} | ({} if csrf is None else {"csrf": csrf})
    answer = visitor.post("/theme", data=data)
    assert answer.status_code == 403
    assert "set-cookie" not in answer.headers
    assert visitor.post("/logout", headers={"X-CSRF-Token": "wrong"}).status_code == 403
    assert visitor.get("/chat").status_code == 200
    for origin in ("http://evil.example", "null", "http://127.0.0.1:1"):
        ours = data | {"csrf": visitor.csrf}
        assert visitor.post("/theme", headers={"Origin": origin}, data=ours).status_code == 403


def test_who_logs_out_is_out(visitor: Visitor) -> None:
    assert "You are logged out" in visitor.send_form("/logout").text
    assert visitor.get("/chat").status_code == 401


def test_every_answer_forbids_scripts_frames_and_keeping(visitor: Visitor) -> None:
    for path in ("/chat", "/nothing", "/login?token=x"):
        headers = visitor.get(path).headers
        policy = headers["content-security-policy"]
        assert "default-src 'self'" in policy
        assert "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy
        assert headers["x-frame-options"] == "DENY"
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "same-origin"
        assert headers["cache-control"] == "no-store"


def test_static_files_are_kept_for_ever_and_compressed(visitor: Visitor) -> None:
    page = visitor.get("/chat")
    assert page.headers["content-encoding"] == "gzip"
    files = [visitor.get(path) for path in re.findall(r'"(/static/[^"]+)"', page.text)]
    assert len(files) >= 5
    assert all("immutable" in one.headers["cache-control"] for one in files)
    assert {one.headers["content-encoding"] for one in files} == {"gzip"}
    assert sum(int(one.headers["content-length"]) for one in (page, *files)) < 150_000
    for path in ("/static/000000000000/kds.css", "/static/../context.py"):
        assert visitor.get(path).status_code == 404


def test_a_theme_leads_back_to_the_page_and_nowhere_else(visitor: Visitor) -> None:
    answer = visitor.send_form("/theme", theme="dark", **{"from": "/memory?q=tide"})
    assert str(answer.url).endswith("/memory?q=tide")
    assert 'data-theme="dark"' in answer.text
    wrong = visitor.send_form("/theme", theme='"><b>', **{"from": "//evil.example/"})
    assert wrong.url.host == "127.0.0.1"
    assert 'data-theme="dark"' in wrong.text
    visitor.headers["HX-Request"] = "true"
    for path in ("/\t/evil.example", "/\r\nX-Mine: yes", "/\n/evil.example"):
        answer = visitor.post("/theme", data={"csrf": visitor.csrf, "theme": "dark", "from": path})
        assert answer.status_code == 204
        assert "x-mine" not in answer.headers
        assert answer.headers["hx-redirect"].isprintable()
