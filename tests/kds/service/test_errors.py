"""How a client is told what went wrong, and what the log says of it."""

from starlette.testclient import TestClient

from kds.service.routes import make_app
from kds.service.workspaces import Workspaces


def test_a_fault_becomes_a_500_and_a_line_without_its_text_or_says_that_kds_was_replaced() -> None:
    log: list[str] = []
    replaced: list[bool] = []
    app = make_app(Workspaces(log=log.append), is_replaced=lambda: bool(replaced))

    @app.get("/fails")
    async def fails() -> None:
        raise RuntimeError("the user said zebra")

    client = TestClient(app, raise_server_exceptions=False)
    reply = client.get("/fails")
    assert (reply.status_code, reply.json()["error"]["message"]) == (
        500, "internal error: RuntimeError",
    )  # fmt: skip
    (line,) = log
    assert line.startswith("internal error in /fails: RuntimeError at ")
    assert line.endswith(" in fails")
    assert "zebra" not in line
    replaced.append(True)
    reply = client.get("/fails")
    assert (reply.status_code, reply.json()["error"]["where"]) == (503, "installation")
    assert log == [line]
