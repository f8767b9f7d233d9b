"""Who is let in: tokens, `Host`, `Origin`, and the peer of a unix socket."""

import json
import os
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from kds.brain.environment import runtime_folder
from kds.hooks.call import WORKSPACE_HEADER
from kds.service.lifecycle import bind_socket, claim
from kds.service.security import open_token
from kds.service.service_client import ServiceAddress

from ...effort import PATIENCE_S

NOBODY = 65_534
ELSEWHERE = (
    "example.com", "127.0.0.1.example.com", "localhost.example.com", "10.0.0.1", "[::2]", "",
    "127.0.0.1@example.com", "example.com/127.0.0.1", "127.0.0.1:x", "localhost:80:80", "0.0.0.0",
)  # fmt: skip


@pytest.fixture
def web(service: Any) -> Iterator[httpx.Client]:
    """A client of the HTTP side that knows the token."""
    state = json.loads(service.address.state_path.read_bytes())
    token = service.address.token_path.read_text().strip()
    headers = {"Authorization": f"Bearer {token}", WORKSPACE_HEADER: str(service.root)}
    with httpx.Client(base_url=state["http"]["url"], headers=headers, timeout=PATIENCE_S) as client:
        yield client


def test_the_token_opens_the_door(web: httpx.Client) -> None:
    assert web.get("/healthz").status_code == 200
    assert web.post("/route", json={"message": "hello"}).status_code == 200
    for host in ("localhost", "LOCALHOST:9", "127.0.0.1", "127.8.8.8", "[::1]:80"):
        assert web.get("/healthz", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize("path", ["/healthz", "/context", "/prompts", "/openapi.json", "/nothing"])
def test_without_the_token_every_path_is_closed(web: httpx.Client, path: str) -> None:
    reply = httpx.get(web.base_url.join(path))
    assert reply.status_code == 401
    assert reply.headers["WWW-Authenticate"] == "Bearer"


@pytest.mark.parametrize(
    ("header", "values", "status"),
    [
        ("Authorization", ("", "Bearer", "Bearer x", "Basic {token}", "{token}", "Bearer {token}x",
                           "Bearer x{token}", "Bearer caf\u00e9"), 401),
        ("Host", ELSEWHERE, 403),
        ("Origin", ("http://example.com", "null", "http://localhost:3000", "", "*"), 403),
    ],
)  # fmt: skip
def test_a_wrong_header_is_refused_even_with_the_token(
    web: httpx.Client, header: str, values: tuple[str, ...], status: int
) -> None:
    token = web.headers["Authorization"].removeprefix("Bearer ")
    for value in values:
        given = [(header.encode(), value.format(token=token).encode("utf-8"))]
        reply = web.get("/healthz", headers=given)
        if (header, reply.status_code) == ("Host", 400):
            continue  # anything but a host is refused by the HTTP parser
        assert reply.status_code == status, value
        assert reply.json()["error"]["where"] == header
        assert "access-control-allow-origin" not in reply.headers


@pytest.mark.skipif(sys.platform == "win32", reason="modes mean nothing there")
def test_a_token_is_made_once_and_anew_when_others_could_read_it(tmp_path: Path) -> None:
    path = tmp_path / "service.token"
    token = open_token(path)
    assert len(token) >= 43
    assert open_token(path) == token
    path.chmod(0o644)
    assert open_token(path) != token
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that every user may enter."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)


def ask_as_nobody(path: Path) -> str:
    """Connect to the socket at ``path`` as another user; return the outcome."""
    script = (
        "import os, socket, sys\n"
        f"os.setgroups([]); os.setgid({NOBODY}); os.setuid({NOBODY})\n"
        "connection = socket.socket(socket.AF_UNIX)\n"
        "connection.settimeout(20)\n"
        "try:\n"
        "    connection.connect(sys.argv[1])\n"
        "    connection.sendall(b'GET /healthz HTTP/1.1\\r\\nHost: localhost\\r\\n\\r\\n')\n"
        "    print(repr(connection.recv(99)))\n"
        "except OSError as error:\n"
        "    print(type(error).__name__)\n"
    )
    command = [sys.executable, "-I", "-c", script, str(path)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


as_root = pytest.mark.skipif(
    sys.platform == "win32" or os.geteuid() != 0, reason="only root can become another user"
)


@as_root
def test_a_runtime_folder_of_another_user_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.chown(tmp_path, NOBODY, NOBODY)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    assert not runtime_folder().startswith(str(tmp_path))


@as_root
def test_another_user_may_not_connect_to_the_socket(open_folder: Path) -> None:
    address = ServiceAddress(open_folder / "kds")
    with claim(address), bind_socket(address.socket_path):
        assert ask_as_nobody(address.socket_path) == "PermissionError"
        address.folder.chmod(0o755)
        assert ask_as_nobody(address.socket_path) == "PermissionError"
