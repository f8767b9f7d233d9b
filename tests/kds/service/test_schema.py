"""The service keeps to what /openapi.json says, whatever schemathesis sends."""

import asyncio
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from starlette.testclient import TestClient
from starlette.types import ASGIApp

from kds.service.routes import make_app
from kds.service.workspaces import Worker, Workspaces


@pytest.fixture(scope="module")
def workspaces(new_workspace: Callable[[], Path]) -> Iterator[Workspaces]:
    folder = new_workspace()
    made = Workspaces()
    asyncio.run(made.open(str(folder), keep=True))
    yield made
    made.close()


@pytest.fixture(scope="module")
def app(workspaces: Workspaces) -> ASGIApp:
    return make_app(workspaces)


@pytest.fixture(scope="module")
def api(app: ASGIApp) -> Any:
    config = schemathesis.Config.from_dict(
        {
            "checks": {
                "positive_data_acceptance": {"expected-statuses": [200, 201, 204, 400, 404, 409]},
                "negative_data_rejection": {"expected-statuses": [400, 404, 405, 409, 413, 422]},
            }
        }
    )
    return schemathesis.openapi.from_asgi("/openapi.json", app, config=config)


OPERATIONS = [
    (method.upper(), path)
    for path, methods in make_app(Workspaces()).openapi()["paths"].items()
    for method in methods
]


def _is_tried(case: schemathesis.Case[Any]) -> bool:
    """What the schema cannot say: no message is from the future, and some checks take seconds."""
    body = case.body if isinstance(case.body, dict) else {}
    at = body.get("at")
    is_of_now = not isinstance(at, str) or at[:10] <= datetime.now(UTC).date().isoformat()
    return is_of_now and body.get("full") is not True


@pytest.mark.parametrize("mode", GenerationMode)
@pytest.mark.parametrize(("method", "path"), OPERATIONS)
def test_the_service_keeps_to_its_schema(
    api: Any, method: str, path: str, mode: GenerationMode
) -> None:
    """With data that the schema allows, and with data that it does not."""
    operation = api[path][method]
    cases = operation.as_strategy(generation_mode=mode)
    if mode is GenerationMode.POSITIVE:
        cases = cases.filter(_is_tried)

    @settings(
        max_examples=10,
        deadline=None,
        derandomize=True,
        database=None,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(cases)
    def check(case: schemathesis.Case[Any]) -> None:
        case.call_and_validate()

    try:
        check()
    except Unsatisfiable:
        assert mode is GenerationMode.NEGATIVE  # it takes no data that could be wrong


def test_a_full_queue_says_when_to_come_back(
    app: ASGIApp, workspaces: Workspaces, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker = Worker(limit=0)
    monkeypatch.setattr(next(iter(workspaces)), "worker", worker)
    with TestClient(app) as client:
        reply = client.post("/route", json={"message": "hello"})
        assert reply.status_code == 503
        assert reply.headers["Retry-After"] == "1"
        assert client.get("/healthz").status_code == 200
    worker.close()
