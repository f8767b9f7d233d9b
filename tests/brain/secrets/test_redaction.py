import string
from pathlib import Path

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from kds.brain.secrets.redaction import redact_secrets, redacted, storable

from ...effort import bounded
from .drawn import filled

HERE = Path(__file__).parent
MESSAGES, *PASTED = (
    yaml.safe_load((HERE / f"{name}.yaml").read_text(encoding="utf-8"))
    for name in ("messages", "pasted", "cold")
)
"""The latter two are what developers paste, written before the rules, with drawn values."""

_RULES = yaml.safe_load((HERE.parents[2] / "brain/secrets/rules.yaml").read_text(encoding="utf-8"))
RULES = [*_RULES["named"], *_RULES["free"]]


@pytest.mark.parametrize("text", [text for rule in RULES for text in rule.get("hit", ())])
def test_what_a_rule_is_for_is_redacted_once(text: str) -> None:
    stored = redacted(text)
    assert "[secret: " in stored
    assert redacted(stored) == stored


@pytest.mark.parametrize("text", [text for rule in RULES for text in rule.get("miss", ())])
def test_what_a_rule_leaves_no_other_takes(text: str) -> None:
    assert redacted(text) == text


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("template", [one for each in PASTED for one in each["secrets"]])
def test_a_pasted_secret_is_replaced(template: str, seed: int) -> None:
    text, values = filled(template, seed)
    assert values, "nothing is drawn: it belongs into messages.yaml"
    assert not [value for value in values if value in redacted(text)]


@pytest.mark.parametrize("template", [one for each in PASTED for one in each["harmless"]])
def test_what_only_looks_like_a_secret_stays(template: str) -> None:
    text, _ = filled(template, 1)
    assert redacted(text) == text


@pytest.mark.parametrize(("message", "secret"), MESSAGES["leaks"])
def test_a_secret_is_not_stored(message: str, secret: str) -> None:
    stored = storable(message)
    assert secret not in stored
    assert "[secret: " in stored
    assert storable(stored) == stored


@pytest.mark.parametrize("message", MESSAGES["harmless"])
def test_what_is_not_a_secret_stays(message: str) -> None:
    assert storable(message) == message


def test_only_the_value_is_replaced() -> None:
    assert (
        storable("log in as bob, password: hunter2, then run")
        == "log in as bob, password: [secret: password], then run"
    )


def test_code_with_a_secret_in_it_is_only_a_mark() -> None:
    assert storable("why?\n```py\npassword = 'hunter2'\n```") == "why?\n[code: py, 1 line]"


def test_a_false_mark_hides_nothing() -> None:
    assert "hunter2" not in storable("[secret: password: hunter2]")
    assert "AKIAIOSFODNN7EXAMPLE" not in storable("[secret: AKIAIOSFODNN7EXAMPLE]")


ALNUM = string.ascii_letters + string.digits


@pytest.mark.parametrize("begins", ["ghp_", "AKIA", "eyJaaaaaaaa."])
def test_a_long_run_of_what_begins_like_secrets_is_read_to_its_end_once(begins: str) -> None:
    with bounded("the redaction", cpu_s=20):
        stored = storable(begins * (800_000 // len(begins)))
    assert len(stored) < 100


@pytest.mark.parametrize(
    "repeated",
    [
        *("eyJa-", "sk-", "password ", "pw=", "pass="),
        *("curl -u a:", "PuTTY-User-Key-File-2:", "is as the pass "),
    ],
)
def test_the_effort_grows_with_the_length_of_a_text(repeated: str) -> None:
    with bounded("the redaction", cpu_s=6):
        redacted(repeated * (300_000 // len(repeated)))


@given(
    st.one_of(
        st.text(),
        st.text(alphabet=st.characters(codec=None)),
        st.lists(
            st.sampled_from(
                ["password", "token", "=", ": ", '"', "'", "`", "```", "\n", "hunter2", "is", " ",
                 "[secret: password]", "[secret: ", "]", "AKIAIOSFODNN7EXAMPLE", "://", "@", ":",
                 "-----BEGIN PRIVATE KEY-----", "MIIEabc", "x = 1;", "eyJhbGciOiJI", ".", "key"]
            )
        ).map("".join),
    )
)  # fmt: skip
@example('password = "[secret: password]"')
@example(":AKIAIOSFODNN7EXAMPLE--password --password hunter2")  # found when the first has gone
def test_redacting_again_changes_nothing(text: str) -> None:
    for change in (storable, redacted):
        assert change(change(text)) == change(text)


@given(st.text(alphabet=string.ascii_letters + " ,.\n"))
def test_plain_words_are_never_touched(text: str) -> None:
    assert redact_secrets(text) == text
