"""Services that really run: in a thread of the test process, on a real unix socket."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

import httpx
import pytest

from kds.brain.store.postgres import Server
from kds.brain.store.team import Team
from kds.brain.workspace import Workspace
from kds.hooks.call import WORKSPACE_HEADER, in_header
from kds.service.listening import HttpAddress
from kds.service.routes import MakeSite
from kds.service.server import Service, ServiceOptions
from kds.service.service_client import ServiceAddress

from ...effort import PATIENCE_S

HOOK = Path(sys.executable).with_name("kds-hook")
NO_SOCKETS = not hasattr(socket, "AF_UNIX")


def ask(client: httpx.Client, query: str, **more: Any) -> dict[str, Any]:
    """What the service answers to a question."""
    reply = client.post("/query", json={"query": query, **more})
    assert reply.status_code == 200, reply.text
    found: dict[str, Any] = reply.json()
    return found


def routed(client: httpx.Client, message: str, **more: Any) -> dict[str, Any]:
    """The turn that the service makes of a message."""
    reply = client.post("/route", json={"message": message, **more})
    assert reply.status_code == 200, reply.text
    turn: dict[str, Any] = reply.json()
    return turn


def run_hook(root: Path, **given: Any) -> Any:
    """What `kds-hook` prints for an input, read as JSON; None when it prints nothing."""
    done = subprocess.run(
        [HOOK],
        input=json.dumps({"cwd": str(root), **given}).encode(),
        capture_output=True,
        env={**os.environ, "KDS_HOOK_TIMEOUT_MS": "20000"},
        timeout=PATIENCE_S,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    return json.loads(done.stdout) if done.stdout else None


def problem(reply: httpx.Response) -> tuple[int, str]:
    """Status and message of a refusal in the one form of error."""
    error = reply.json()["error"]
    assert set(error) == {"message", "where", "hint"}
    return reply.status_code, error["message"]


class Running:
    """A service, where it is, and what it logged."""

    def __init__(
        self,
        folders: tuple[Path, ...],
        options: ServiceOptions,
        site: MakeSite | None = None,
        address: ServiceAddress | None = None,
    ) -> None:
        self.address = address or ServiceAddress()
        self.workspaces = tuple(Workspace.find(environ={"KDS_HOME": str(f)}) for f in folders)
        self.lines: list[str] = []
        self.error: Exception | None = None
        self.service = Service(
            self.workspaces, options, log=self.lines.append, site=site, address=self.address
        )
        self._thread = threading.Thread(target=self._run)

    @property
    def root(self) -> Path:
        return self.workspaces[0].root

    def start(self) -> Self:
        self._thread.start()
        wait_until(lambda: self.service.ready.is_set() or self.error is not None)
        if self.error is not None:
            self.stop()
            raise self.error
        return self

    def client(self, index: int = 0) -> httpx.Client:
        """A client of the unix socket that asks about one of the workspaces."""
        return socket_client(self.workspaces[index].root, self.address)

    def stop(self) -> None:
        self.service.stop()
        self.join()

    def join(self) -> None:
        self._thread.join(PATIENCE_S)
        assert not self._thread.is_alive()

    def _run(self) -> None:
        try:
            self.service.run()
        except Exception as error:  # noqa: BLE001  # handed to the test
            self.error = error


class TeamProcess:
    """A `kds serve --team` in a folder of its own, as on a machine of its own."""

    def __init__(self, launchers: Path, folder: Path) -> None:
        self._folder = folder
        self._log = folder / "log"
        command = [str(launchers / "kds"), "serve", "--workspace", str(folder)]
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [*command, "--team", "0", "--drain", "3s"], cwd=folder, stdout=log, stderr=log,
                env={**os.environ, "XDG_RUNTIME_DIR": str(folder)},
            )  # fmt: skip

    @property
    def place(self) -> str:
        """Host and port, once it answers."""
        wait_until(lambda: "http://" in self._log.read_text() or self._process.poll() is not None)
        said = self._log.read_text()
        assert "http://" in said, said
        return said.partition("http://")[2].split(",")[0].split()[0]

    @property
    def ended(self) -> bool:
        return self._process.poll() is not None

    def end(self, by: signal.Signals) -> None:
        """Ask it to: the process is a fork, and not the one that was started."""
        if not self.ended:
            state = json.loads((self._folder / "kds" / "service.json").read_text())
            os.kill(state["pid"], by)


def socket_client(root: Path, address: ServiceAddress | None = None) -> httpx.Client:
    """A client of the unix socket that asks about a workspace."""
    transport = httpx.HTTPTransport(uds=str((address or ServiceAddress()).socket_path))
    headers = {WORKSPACE_HEADER: in_header(str(root))}
    return httpx.Client(
        transport=transport, base_url="http://localhost", timeout=PATIENCE_S, headers=headers
    )


def wait_until(done: Callable[[], Any], *, deadline_s: float = PATIENCE_S) -> Any:
    """Return what ``done`` returns once it is true."""
    end = time.monotonic() + deadline_s
    tick = threading.Event()
    while not (found := done()):
        assert time.monotonic() < end, f"not within {deadline_s} s: {done}"
        tick.wait(0.01)
    return found


@contextmanager
def meanwhile(ask: Callable[[], Any]) -> Iterator[list[Any]]:
    """Ask in a thread of its own, whose answer is in the list once the block has ended."""
    answers: list[Any] = []
    thread = threading.Thread(target=lambda: answers.append(ask()))
    thread.start()
    yield answers
    thread.join(PATIENCE_S)
    assert not thread.is_alive()


@contextmanager
def running(
    *folders: Path, options: ServiceOptions | None = None, address: ServiceAddress | None = None
) -> Iterator[Running]:
    """A service in a runtime folder of its own, as on a machine of its own."""
    with tempfile.TemporaryDirectory(prefix="kds-runtime-") as runtime:
        place = address or ServiceAddress(Path(runtime))
        service = Running(folders, options or ServiceOptions(), address=place).start()
        try:
            yield service
        finally:
            service.stop()


@contextmanager
def running_for_user(*folders: Path, options: ServiceOptions | None = None) -> Iterator[Running]:
    """The service of this test's user, which commands find."""
    with running(*folders, options=options, address=ServiceAddress()) as service:
        yield service


@pytest.fixture(scope="session")
def new_workspace(
    tmp_path_factory: pytest.TempPathFactory, fitted_brain: Path
) -> Callable[[], Path]:
    """Makes workspaces in which the intent model is fitted."""

    def make() -> Path:
        folder = tmp_path_factory.mktemp("served")
        shutil.copytree(fitted_brain, folder / "kds-brain")
        return folder

    return make


@pytest.fixture
def folder(new_workspace: Callable[[], Path]) -> Path:
    """A workspace of the test's own."""
    return new_workspace()


@pytest.fixture
def root(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A workspace of the test's own, which is the current folder, and which is served."""
    monkeypatch.chdir(folder)
    with running_for_user(folder):
        yield folder


@pytest.fixture
def team(server: Server) -> Team:
    """The people of the test's database."""
    return Team(server)


@pytest.fixture(scope="session")
def shared_service(new_workspace: Callable[[], Path]) -> Iterator[Running]:
    """One service of two workspaces, with HTTP, for every test that leaves it as it was."""
    if NO_SOCKETS:
        pytest.skip("no unix sockets here")
    options = ServiceOptions(http=HttpAddress())
    with pytest.MonkeyPatch.context() as patch:
        # Embedding in the background would open its memory in the database of another test.
        patch.setattr("kds.service.workspaces.EMBED_LOOK_S", 3600.0)
        with running(new_workspace(), new_workspace(), options=options) as service:
            yield service


@pytest.fixture
def service(shared_service: Running) -> Running:
    """The shared service, with nothing remembered."""
    for index in range(len(shared_service.workspaces)):
        with shared_service.client(index) as client:
            assert client.delete("/context").status_code == 200
    return shared_service


@pytest.fixture
def client(service: Running) -> Iterator[httpx.Client]:
    """A client of the first workspace's socket."""
    with service.client() as client:
        yield client
