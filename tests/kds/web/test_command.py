"""`kds web`: the page opened, its link printed, the browser left alone where there is none."""

import json
import shutil
import socket
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import httpx
import pytest

from .conftest import Site

Call = Callable[..., Any]


def test_the_browser_is_opened_where_it_can_show_itself(
    site: Site, kds_call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []

    def show(url: str) -> bool:
        opened.append(url)
        return True

    monkeypatch.setattr("webbrowser.open", show)
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
    printed = kds_call("web", "--no-open", "-w", str(site.root)).out
    assert len(opened) == 1
    assert "works once" in printed
    link = printed.partition("log in")[2].split()[0]
    assert [httpx.get(link).status_code for _ in range(2)] == [303, 403]


def test_the_page_is_at_one_address_and_beside_it_where_that_is_taken(
    fitted_brain: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as found:
        port = found.getsockname()[1]
    monkeypatch.setattr("kds.service.listening.PAGE_PORT", port)
    urls: list[str] = []
    for taken in (False, False, True):
        folder = tmp_path / f"served-{len(urls)}"
        shutil.copytree(fitted_brain, folder / "kds-brain")
        site = Site(folder, folder / "runtime").start()
        with socket.create_server(("127.0.0.1", port)) if taken else nullcontext():
            urls.append(site.url)
        site.stop()
    first = f"http://127.0.0.1:{port}"
    assert urls[:2] == [first, first]
    assert urls[2] != first
