"""A project, a client, a service and a fake model, for the tests against the real clients.

They are skipped unless KDS_TEST_CLIENTS names a folder into which the npm packages have been
installed (`make test-clients`). Each test gets a project of its own, with a fitted model.
"""

import json
import os
import shutil
import subprocess
import sysconfig
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from .clients import CLIENTS, Client
from .model_server import FakeModel, serving

WHERE = "KDS_TEST_CLIENTS"
"""Environment variable: the folder that has `node_modules` with the clients."""

KDS = Path(sysconfig.get_path("scripts")) / "kds"
COMMAND_TIMEOUT_S = 60

Install = Callable[..., None]
Run = Callable[..., None]


@pytest.fixture(scope="session")
def npm() -> Path:
    """The folder of the programs that npm installed."""
    folder = os.environ.get(WHERE)
    if not folder:
        pytest.skip(f"{WHERE} is not set; `make test-clients` installs the clients and sets it")
    programs = Path(folder).resolve() / "node_modules" / ".bin"
    if not (programs / "node").exists():
        pytest.skip(f"no node in {programs}; run `make test-clients`")
    return programs


@pytest.fixture
def model() -> Iterator[FakeModel]:
    """A model that answers "ok", until it is given a script."""
    with serving(FakeModel()) as fake:
        yield fake


@pytest.fixture
def project(npm: Path, tmp_path: Path, fitted_brain: Path) -> Iterator[Path]:
    """A folder under git with a `kds-brain` in it, and no service left behind; see `npm`."""
    folder = tmp_path / "shop"
    shutil.copytree(fitted_brain, folder / "kds-brain")
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    yield folder
    _kds(folder, "service", "stop", "--force")


@pytest.fixture
def service(project: Path) -> None:
    """A running service for the project."""
    _kds(project, "service", "start")


@pytest.fixture(params=sorted(CLIENTS))
def client(
    request: pytest.FixtureRequest, npm: Path, tmp_path: Path, project: Path, model: FakeModel
) -> Client:
    """Each of the clients in turn, in the project, talking to the fake model."""
    if not (npm / request.param).exists():
        pytest.skip(f"no {request.param} in {npm}; run `make test-clients`")
    made = CLIENTS[request.param](npm, tmp_path / "state", project, model)
    made.trust()
    return made


@pytest.fixture
def install(project: Path, installed: Path) -> Install:
    """Set KDS up for a client by name with `kds init`, as somebody does who has used pipx.

    With ``in_venv`` the files have to name the programs by their path.
    """

    def run(name: str, *options: str, in_venv: bool = False) -> None:
        path = os.defpath if in_venv else f"{installed}{os.pathsep}{os.defpath}"
        _kds(project, "init", "--client", name, *options, path=path)

    return run


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """A folder outside of any environment with the programs of KDS, for the PATH."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("kds", "kds-hook"):
        (folder / name).symlink_to(KDS.with_name(name))
    return folder


@pytest.fixture
def run_kds(project: Path) -> Run:
    """Run a command of KDS on the project."""
    return lambda *arguments: _kds(project, *arguments)


@pytest.fixture(scope="session")
def executor_sentence() -> str:
    """The sentence that opens the code executor's prompt, below its heading."""
    root = Path(__file__).resolve().parents[2]
    return opening_sentence(root / "prompts" / "internal" / "code-executor.md")


def opening_sentence(path: Path) -> str:
    """The first line of a Markdown file that is neither front matter, heading nor template."""
    body = path.read_text(encoding="utf-8").split("\n---\n", 1)[1]
    lines = (line.strip() for line in body.splitlines())
    return next(line for line in lines if line and not line.startswith(("#", "{", "<")))


def logged_messages(project: Path) -> list[str]:
    """What the project's context has been told, in order."""
    path = project / "kds-brain" / "conversation-context.jsonl"
    if not path.exists():
        return []
    lines = path.read_text(encoding="utf-8").splitlines()
    return [json.loads(line)["user_message"] for line in lines]


def await_service(project: Path) -> None:
    """Ask for the state of the service until it answers; a process each time paces the asking."""
    ends = time.monotonic() + COMMAND_TIMEOUT_S
    command = [str(KDS), "service", "status", "--workspace", str(project)]
    while subprocess.run(command, capture_output=True).returncode != 0:
        assert time.monotonic() < ends, "the service did not come up"


def _kds(folder: Path, *arguments: str, path: str | None = None) -> None:
    command = [str(KDS), *arguments, "--workspace", str(folder)]
    environ = os.environ | ({} if path is None else {"PATH": path})
    done = subprocess.run(  # in a terminal of its own, which is closed then
        command, cwd=folder, env=environ, capture_output=True, text=True,
        timeout=COMMAND_TIMEOUT_S, start_new_session=True,
    )  # fmt: skip
    assert done.returncode == 0, f"{command}:\n{done.stdout}{done.stderr}"
