"""The `kds serve` command: what it takes, what it refuses, how it ends."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kds.service.lifecycle import Instance
from kds.service.service_client import ServiceAddress


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--http", "0.0.0.0:8765"), "'0.0.0.0' is not this machine's loopback address"),
        (("--http", "example.com:80"), "'example.com' is not this machine's loopback address"),
        (("--http", "http"), "'http' names no port"),
        (("--http", "70000"), "'70000' names no port"),
        (("--idle-timeout", "soon"), "invalid duration 'soon'"),
        (("--workspace", "nowhere"), "no such folder"),
    ],
)
def test_what_cannot_be_is_refused_with_a_fix(
    workspace: Path, kds_call: Callable[..., Any], options: tuple[str, ...], message: str
) -> None:
    result = kds_call("serve", *options)
    assert (result.code, result.out) == (2, "")
    assert message in result.err
    assert "  fix: " in result.err
    assert not list(workspace.glob("kds-brain/service*"))


def test_a_user_who_is_served_already_has_an_exit_code_of_its_own(
    workspace: Path, kds_call: Callable[..., Any]
) -> None:
    instance = Instance.claim(ServiceAddress())
    result = kds_call("serve", "--workspace", str(workspace))
    instance.release()
    assert result.code == 3
    assert "serves this user already" in result.err
    assert "end it first with `kds service stop`" in result.err
