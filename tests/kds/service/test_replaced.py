"""An installation is replaced while its service answers: no request is lost, and none is wrong."""

import os
import shutil
import subprocess
import sys
import threading
import zipfile
from collections.abc import Callable
from importlib.metadata import distribution
from pathlib import Path

import pytest

import kds
from kds.brain import installation
from kds.brain.errors import KdsError
from kds.brain.timeouts import Deadline
from kds.brain.turn import Turn
from kds.brain.workspace import Workspace
from kds.mcp.tools import Workplace
from kds.service import lifecycle, service_client
from kds.service.freshness import Installation
from kds.service.service_client import RouterClient, ServiceAddress

from ..conftest import said_in

ROOT = Path(installation.__file__).parent.parent
SLOW_S = 300.0


def wheel(folder: Path, version: str) -> Path:
    """Build a wheel of the KDS that is tested, under another version."""
    path = folder / f"kds_router-{version}-py3-none-any.whl"
    info = f"kds_router-{version}.dist-info"
    told = f"Metadata-Version: 2.1\nName: kds-router\nVersion: {version}\n"
    scripts = "[console_scripts]\nkds = kds.cli:main\nkds-hook = kds.hooks.client:main\n"
    form = "Wheel-Version: 1.0\nGenerator: kds tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    records = []
    with zipfile.ZipFile(path, "w") as made:
        for place, inner, names in os.walk(ROOT, followlinks=True):
            inner[:] = [one for one in inner if one != "__pycache__"]
            for found in (Path(place, one) for one in names):
                name = Path("kds", found.relative_to(ROOT))
                made.write(found, name)
                records.append(f"{name},,\n")
        extra = {"METADATA": told, "WHEEL": form, "entry_points.txt": scripts}
        for name_, text in extra.items():
            made.writestr(f"{info}/{name_}", text)
        listed = "".join((*records, *(f"{info}/{one},,\n" for one in (*extra, "RECORD"))))
        made.writestr(f"{info}/RECORD", listed)
    return path


@pytest.fixture
def python(tmp_path: Path) -> Path:
    """A Python of its own that sees the libraries of this one."""
    folder = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    found = folder / "bin" / "python"
    where = [one for one in sys.path if one.endswith("site-packages")]
    own = next(folder.glob("lib/python*/site-packages"))
    (own / "beside.pth").write_text("".join(f"{one}\n" for one in where))
    return found


def install(python: Path, package: Path) -> None:
    subprocess.run(
        [sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-index",
         "--no-deps", "--force-reinstall", "--disable-pip-version-check", package],
        check=True, env={**os.environ, "PIP_NO_CACHE_DIR": "1"},
    )  # fmt: skip


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="services of POSIX")
def test_no_request_is_lost_or_wrong_while_pip_replaces_the_service(
    python: Path, place: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    distribution("pip")  # a virtual environment without it cannot run this
    install(python, wheel(tmp_path, "0.0.1"))
    monkeypatch.setattr(lifecycle, "COMMAND", (str(python), "-P", "-m", "kds"))
    first = lifecycle.start(place, idle_minutes=5, timeout_s=SLOW_S)
    done = threading.Event()
    turns: dict[str, list[Turn]] = {"commands": [], "ask": [], "MCP": []}
    told: list[str] = []
    faults: list[Exception] = []

    def by_command(message: str, conversation: str) -> Turn:
        return RouterClient(place, tell=told.append).route(message, conversation=conversation)

    session = kds.Session.open(place, context="ask")
    workplace = Workplace(place)
    routes: dict[str, Callable[[str, str], Turn]] = {
        "commands": by_command,
        "ask": lambda message, _: session.ask(message).turn,
        "MCP": lambda message, talk: workplace.route(message, conversation=talk, log=True),
    }

    def talk(context: str) -> None:
        route = routes[context]
        try:
            number = 0
            while not done.is_set() or number < 5:
                number += 1
                talk = f"{context}-{number}"
                route("I want to add a FAB button", talk)
                turns[context].append(route(f"Make it {number} pixels wide", talk))
        except Exception as error:  # noqa: BLE001  # the test looks at it
            faults.append(error)

    talks = [threading.Thread(target=talk, args=(context,)) for context in turns]
    try:
        for one in talks:
            one.start()
        install(python, wheel(tmp_path, "0.0.2"))
        assert Deadline(SLOW_S).until(lambda: not lifecycle.is_running(), pause_s=0.05)
    finally:
        done.set()
        for one in talks:
            one.join()
        session.close()
        lifecycle.stop(force=True)
    assert faults == []
    assert told == [], "the user hears nothing of it"
    for heard in turns.values():
        assert [turn.expanded for turn in heard] == [
            f"Make the FAB button {number + 1} pixels wide" for number in range(len(heard))
        ]
    again = lifecycle.start(place, idle_minutes=5, timeout_s=SLOW_S)
    assert (first["version"], again["version"]) == ("0.0.1", "0.0.2")
    assert lifecycle.stop() == "stopped"
    log = ServiceAddress().log_path.read_text()
    assert "stopped: the installation was replaced" in log
    assert said_in(place.root) == []


def test_a_program_that_outlives_an_update_asks_the_new_service_or_says_what_to_do(
    served_place: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its code is that of before: the rules of the new version are not for it to load."""
    root = tmp_path / "kds"
    for name in ("__init__.py", "brain/turn.py"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).touch()
    monkeypatch.setattr(service_client, "INSTALLATION", Installation(root))
    workplace = Workplace(served_place)
    shutil.rmtree(root)
    with pytest.raises(KdsError, match="KDS was updated while this program was running") as caught:
        workplace.route("I want to add a FAB button", conversation="c", log=True)
    assert "start it again" in str(caught.value.hint)
    lifecycle.start(served_place, idle_minutes=5)
    assert workplace.route("I want to add a FAB button", conversation="c", log=True).session_id
    with kds.Session.open(served_place, context="c") as session:
        assert session.ask("Make it purple").turn.expanded == "Make the FAB button purple"
