"""What a provider's trouble becomes: a kind, its own words, a fix, and no secret."""

import pytest

from kds.agents.models import model_error


class RefusedError(Exception):
    """As the SDKs make them: with a status, and the body of the response."""

    def __init__(self, status_code: int, body: object = None) -> None:
        super().__init__(f"Error code: {status_code}")
        self.status_code = status_code
        self.body = body


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, "refused"), (401, "key"), (402, "rate"), (403, "key"), (404, "model"),
        (408, "timeout"), (413, "refused"), (422, "refused"), (429, "rate"),
        (500, "provider"), (502, "provider"), (503, "provider"), (529, "provider"),
    ],
)  # fmt: skip
def test_a_status_says_what_kind_of_trouble_it_is(status: int, kind: str) -> None:
    error = model_error(RefusedError(status, {"message": "because"}), "gpt", secrets={})
    assert error.kind == kind
    assert error.hint
    assert kind == "timeout" or "because" in error.message


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"message": "no such model"}, "no such model"),
        ({"error": {"message": "no such model"}}, "no such model"),
        ({"error": "no such model"}, "no such model"),
        ("no such model", "no such model"),
        (None, "Error code: 404"),
        ({"error": 5}, "Error code: 404"),
    ],
)
def test_the_provider_is_quoted(body: object, said: str) -> None:
    error = model_error(RefusedError(404, body), "gpt", secrets={})
    assert error.message == f"gpt refused (404): {said}"


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (TimeoutError(), "timeout"),
        (ConnectionRefusedError(111, "refused"), "unreachable"),
        (ValueError("no generation chunks"), "garbage"),
        (KeyError("choices"), "garbage"),
    ],
)
def test_other_errors_have_a_kind_too(error: Exception, kind: str) -> None:
    assert model_error(error, "gpt", secrets={}).kind == kind


def test_secrets_never_show() -> None:
    secrets = {"MY_API_KEY": "hunter2hunter2", "HOME": "/home/me", "A_TOKEN": "x"}
    said = "key hunter2hunter2 and sk-proj-" + "Ab1" * 14 + " are wrong in /home/me, x"
    error = model_error(RefusedError(401, {"message": said}), "gpt", secrets=secrets)
    assert "hunter2" not in str(error)
    assert "Ab1Ab1" not in str(error)
    assert "/home/me, x" in str(error)
