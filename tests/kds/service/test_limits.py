"""The size of a body, counted rather than believed."""

from collections.abc import Iterator

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.testclient import TestClient

from kds.service.requests import BodyLimit


@pytest.mark.parametrize(("sizes", "status"), [([60, 40], 200), ([60, 41], 413), ([101], 413)])
def test_a_body_is_handed_on_whole_or_not_at_all(sizes: list[int], status: int) -> None:
    read: list[bytes] = []

    async def answer(request: Request) -> Response:
        read.append(await request.body())
        return Response()

    def chunks() -> Iterator[bytes]:
        yield from (b"a" * size for size in sizes)

    app = Starlette(routes=[Route("/", answer, methods=["POST"])])
    app.add_middleware(BodyLimit, limit=100)
    assert TestClient(app).post("/", content=chunks()).status_code == status
    assert read == ([b"a" * sum(sizes)] if status == 200 else [])
