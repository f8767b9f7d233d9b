"""What is shown for containers holds together: commands and variables exist, limits are set.

Images are built nowhere here: that needs a network.
"""

import re
import shutil
import subprocess
from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path
from typing import Any

import click
import pytest
import yaml

from kds.brain.environment import PLACES
from kds.cli.main import app

DEPLOY = Path(__file__).resolve().parent.parent / "docs" / "deploy"
OTHERS = {"KDS_HOME", "KDS_PASSWORD"}
"""A folder, and a variable that only the compose file has."""


def _read(name: str) -> Any:
    return yaml.safe_load((DEPLOY / name).read_text(encoding="utf-8"))


@pytest.fixture
def pods() -> list[Any]:
    items = _read("kubernetes.yaml")["items"]
    return [item["spec"]["template"]["spec"] for item in items if "template" in item["spec"]]


def _commands(pods: list[Any]) -> Iterator[list[str]]:
    for container in (one for pod in pods for one in pod["containers"]):
        if "args" in container:
            yield container["args"]
    for service in _read("compose.yaml")["services"].values():
        if "command" in service:
            yield service["command"]
    text = (DEPLOY / "Containerfile").read_text(encoding="utf-8")
    for listed in re.findall(r'CMD \["(?:kds", ")?([^\]]+)"\]', text):
        yield listed.split('", "')
    unit = (DEPLOY / "kds-team.service").read_text(encoding="utf-8")
    for line in re.findall(r"(?m)^ExecStart=\S+/kds (.+)$", unit):
        yield line.split()


def test_every_command_is_one_of_kds(pods: list[Any]) -> None:
    commands = list(_commands(pods))
    assert len(commands) == 8
    for words in commands:
        command: click.Command | None = app
        for word in takewhile(lambda word: not word.startswith("-"), words):
            assert isinstance(command, click.Group), words
            command = command.get_command(click.Context(command), word)
        assert command is not None, words
        known = {name for one in command.params for name in one.opts}
        assert {word for word in words if word.startswith("-")} <= known, words


def test_every_variable_is_one_of_kds_and_no_password_stands_in_a_file() -> None:
    text = "".join(path.read_text(encoding="utf-8") for path in DEPLOY.iterdir())
    named = set(re.findall(r"\bKDS_[A-Z_]+", text))
    assert {"KDS_DATABASE", "KDS_DATABASE_PROJECT"} <= named
    assert named <= OTHERS | set(PLACES)
    for line in text.splitlines():
        if not line.startswith(("#", ";")):
            assert not re.search(r"postgresql://[^@/\s]+:[^@\s]+@", line), line


def test_what_serves_has_the_role_of_a_service_and_the_upgrade_that_of_the_owner() -> None:
    page = (DEPLOY.parent / "operations.md").read_text(encoding="utf-8")
    (shown,) = re.findall(r"```sql\n(.*?)```", page, re.DOTALL)
    sql = (DEPLOY / "roles.sql").read_text(encoding="utf-8").partition("\\getenv")[2]
    assert sql.partition("\n")[2].replace(":'password'", "'...'") == shown
    services = _read("compose.yaml")["services"]
    addresses = {name: one["environment"].get("KDS_DATABASE") for name, one in services.items()}
    roles = {name: at and at.split("//")[1].split("@")[0] for name, at in addresses.items()}
    assert roles == {
        "database": None, "upgrade": "kds", "service": "kds_web", "tokens": "kds_admin"
    }  # fmt: skip
    keys = [
        one["env"][0]["valueFrom"]["secretKeyRef"]["key"]
        for item in _read("kubernetes.yaml")["items"] if "template" in item["spec"]
        for one in item["spec"]["template"]["spec"]["containers"]
    ]  # fmt: skip
    assert keys == ["owner", "service"]


def test_the_image_has_kds_from_the_checkout_and_the_port_of_the_pods(pods: list[Any]) -> None:
    image = (DEPLOY / "Containerfile").read_text(encoding="utf-8")
    assert {f"USER {pod['securityContext']['runAsUser']}" for pod in pods} <= set(image.split("\n"))
    (ports,) = (one["ports"] for pod in pods for one in pod["containers"] if "ports" in one)
    assert f"EXPOSE {ports[0]['containerPort']}" in image
    assert "ARG KDS=/src\n" in image  # the name is not ours on the index
    copied = " ".join(re.findall(r"(?m)^COPY (.+) /src/", image)).split()
    root = DEPLOY.parent.parent
    assert all((root / one).exists() for one in copied)
    links = {one.resolve().name for one in (root / "src" / "kds").iterdir() if one.is_symlink()}
    assert links | {"pyproject.toml", "src"} <= set(copied)
    build = _read("compose.yaml")["services"]["upgrade"]["build"]
    assert (DEPLOY / build["context"]).samefile(root)
    assert (root / build["dockerfile"]).samefile(DEPLOY / "Containerfile")


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed")
def test_systemd_takes_the_unit(tmp_path: Path) -> None:
    unit = tmp_path / "kds-team.service"
    text = (DEPLOY / unit.name).read_text(encoding="utf-8")
    unit.write_text(text.replace("/opt/kds/bin/kds", "/bin/true").replace("User=kds\n", ""))
    command = ["systemd-analyze", "verify", str(unit)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, str(unit) in done.stderr) == (0, False), done.stderr


@pytest.mark.skipif(shutil.which("promtool") is None, reason="prometheus is not installed")
def test_prometheus_takes_the_alerts() -> None:
    command = ["promtool", "check", "rules", str(DEPLOY / "alerts.yaml")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, "5 rules found" in done.stdout) == (0, True), done.stderr
