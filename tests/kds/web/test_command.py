"""`kds web`: the page opened, its link printed, the browser left alone where there is none."""

import json
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import httpx
import pytest

from kds.cli import desktop
from kds.service.listening import bind_page
from kds.service.service_client import ServiceAddress

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


def test_the_page_stays_at_one_address_and_takes_the_next_one_where_that_is_taken(
    fitted_brain: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as found:
        port = found.getsockname()[1]
    monkeypatch.setattr("kds.service.listening.PAGE_PORT", port)
    shutil.copytree(fitted_brain, tmp_path / "kds-brain")
    found = list[int]()
    for taken, user in ((False, "a"), (False, "a"), (True, "b"), (False, "b"), (False, "a")):
        with socket.create_server(("127.0.0.1", port)) if taken else nullcontext():
            site = Site(tmp_path, tmp_path / user).start()
            found.append(int(site.url.rpartition(":")[2]))
            site.stop()
    noted = ServiceAddress(tmp_path / "b").page_path
    assert found[:2] == [port, port]
    assert found[2] == found[3] == int(noted.read_text()) > port  # and stays there
    assert found[4] == port
    noted.write_text("no port")
    listener, address = bind_page(noted)
    listener.close()
    assert address.port == port


PROGRAM = "import json, sys; print(json.dumps(sys.argv[1:]))"
"""Stands for `kds`: prints what it was called with."""


@pytest.mark.parametrize("name", ["shop", "my $HOME `shop` 100% \\n"])
@pytest.mark.parametrize("system", ["linux", "darwin", "win32"])
def test_a_link_on_the_desktop_runs_kds_web_for_its_workspace(
    kds_call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, system: str, name: str
) -> None:
    home, root = tmp_path / "home", tmp_path / name
    (home / "Desktop").mkdir(parents=True)
    (root / "kds-brain").mkdir(parents=True)
    for variable, value in (("HOME", home), ("XDG_DATA_HOME", home / "data"), ("PATH", "")):
        monkeypatch.setenv(variable, str(value))
    monkeypatch.setattr("sys.platform", system)
    monkeypatch.setattr(desktop, "COMMAND", (sys.executable, "-c", PROGRAM))
    told = json.loads(kds_call("web", "--install", "--json", "-w", str(root)).out)
    again = json.loads(kds_call("web", "--install", "--json", "-w", str(root)).out)
    other = json.loads(kds_call("web", "--install", "--json", "-w", str(tmp_path)).out)
    monkeypatch.undo()
    link = Path(told["link"])
    assert told == again != other
    assert link.parent == home / ("data/applications" if system == "linux" else "Desktop")
    assert link.stat().st_mode & 0o777 == 0o700
    if system == "win32":
        assert f'"--workspace" "{root}"\r\n'.replace("%", "%%") in link.read_bytes().decode()
        return
    if system == "darwin":
        ran = [str(link)]
    else:
        keys = dict(line.split("=", 1) for line in link.read_text().splitlines()[1:])
        assert Path(keys["Icon"]).is_file()
        ran = ["sh", "-c", keys["Exec"].replace("\\\\", "\\").replace("%%", "%")]
    out = subprocess.run(ran, capture_output=True, text=True, check=True, env=os.environ).stdout
    assert json.loads(out) == ["web", "--workspace", str(root)]
