"""`kds web`: the page opened, its link printed, the browser left alone where there is none."""

import json
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from .conftest import Site

Call = Callable[..., Any]


def test_the_command_prints_a_link_that_lets_one_browser_in(site: Site, kds_call: Call) -> None:
    done = kds_call("web", "--no-open", "-w", str(site.root))
    assert done.code == 0
    assert "works once" in done.out
    link = done.out.partition("log in")[2].split()[0]
    assert httpx.get(link).status_code == 303
    assert httpx.get(link).status_code == 403


def test_the_browser_is_opened_where_it_can_show_itself(
    site: Site, kds_call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", lambda url: opened.append(url) or True)
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    monkeypatch.delenv("DISPLAY", raising=False)
    told = json.loads(kds_call("web", "--json", "-w", str(site.root)).out)
    assert (told["opened"], opened) == (False, [])
    monkeypatch.setenv("DISPLAY", ":0")
    told = json.loads(kds_call("web", "--json", "-w", str(site.root)).out)
    assert told["opened"]
    assert opened == [told["login"]]
    assert told["login"].startswith(told["url"])
    json.loads(kds_call("web", "--json", "--no-open", "-w", str(site.root)).out)
    assert len(opened) == 1


def test_another_port_than_the_one_in_use_is_refused(site: Site, kds_call: Call) -> None:
    done = kds_call("web", "--port", "1", "-w", str(site.root))
    assert done.code == 2
    assert "kds service stop" in done.err
