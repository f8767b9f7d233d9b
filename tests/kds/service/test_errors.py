"""How a client is told what went wrong, and what the log says of it."""

import pytest
from starlette.testclient import TestClient

from kds.brain.errors import KdsError
from kds.service.errors import BusyError
from kds.service.routes import make_app
from kds.service.workspaces import Workspaces


def answer(
    error: Exception, log: list[str], *, replaced: bool = False
) -> tuple[int, str, str | None]:
    """Status, message and place that a client is told when an operation raises an error."""
    state = [False]
    app = make_app(Workspaces(), log=log.append, is_replaced=lambda: state[0])

    @app.get("/fails")
    async def fails() -> None:
        state[0] = replaced
        raise error

    reply = TestClient(app, raise_server_exceptions=False).get("/fails")
    told = reply.json()["error"]
    return reply.status_code, told["message"], told["where"]


def test_a_fault_becomes_a_500_and_a_line_without_its_text() -> None:
    log: list[str] = []
    told = answer(RuntimeError("the user said zebra"), log)
    assert told == (500, "internal error: RuntimeError", None)
    (line,) = log
    assert line.startswith("internal error in /fails: RuntimeError at ")
    assert line.endswith(" in fails")
    assert "zebra" not in line


@pytest.mark.parametrize("error", [RuntimeError(), KdsError("x"), BusyError("x")])
def test_no_fault_is_told_of_an_installation_that_was_replaced(error: Exception) -> None:
    log: list[str] = []
    assert answer(error, log, replaced=True)[::2] == (503, "installation")
    assert log == []
