"""What of a conversation is sent: within its bounds, and the same from every client."""

import json
import random
from pathlib import Path
from typing import Any

import jsonschema
from hypothesis import given
from hypothesis import strategies as st

import kds.transit
from kds.transit.history import BUDGET_TOKENS, CUT, REPLY_CHARS, TURNS, Message, tokens, transit

from .conftest import RunNode

SCHEMA = json.loads((Path(kds.transit.__file__).parent / "history.schema.json").read_text())

# Letters of one to four bytes, blanks of several kinds, an accent, both halves of a pair.
LETTERS = "ab \t\n\x1c\u00a0\ufeffé漢😀\u0301\ud83d\ude00"
ROLES = ["user", "assistant", "system", "tool", None, 3]


@st.composite
def conversations(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Conversations with long and short messages of every kind."""
    content = st.builds(
        lambda text, times: text * times,
        st.text(alphabet=LETTERS, max_size=30),
        st.sampled_from([1, 1, 1, 17, 300]),
    )
    message = st.fixed_dictionaries(
        {"role": st.sampled_from(ROLES), "content": content | st.none()}
    )
    return draw(st.lists(message, max_size=30))


def _sent(messages: list[Any]) -> list[dict[str, str]]:
    return [message.as_dict() for message in transit(messages)]


@given(conversations())
def test_what_is_sent_keeps_every_bound_and_is_stable(said: list[dict[str, Any]]) -> None:
    sent = transit(said)
    jsonschema.validate([message.as_dict() for message in sent], SCHEMA)
    assert sum(tokens(message.content) for message in sent) <= BUDGET_TOKENS
    assert sum(message.role == "user" for message in sent) <= TURNS
    assert all(len(one.content) <= REPLY_CHARS for one in sent if one.role == "assistant")
    assert not sent or sent[0].role == "user"
    assert transit(sent) == sent


def test_the_last_ten_turns_are_sent_within_the_budget() -> None:
    said = [Message(role, f"{role} {n}") for n in range(12) for role in ("user", "assistant")]
    assert transit(said) == said[4:]
    (sent,) = transit([Message("user", "word " * 5000), Message("assistant", "Yes.")])
    assert sent.content.endswith(f"word{CUT}")
    assert BUDGET_TOKENS - 3 <= tokens(sent.content) <= BUDGET_TOKENS


def test_the_javascript_client_sends_the_same(node: RunNode) -> None:
    rng = random.Random(20261122)
    lengths = [0, 1, 5, 50, 497, 498, 499, 500, 501, 520, 900, 4000, 9000]

    def content() -> str | None:
        length = rng.choice(lengths)
        return rng.choice(["".join(rng.choices(LETTERS, k=length)), "word " * (length // 5), None])

    given_ones = [
        [{"role": rng.choice(ROLES[:2] * 4 + ROLES), "content": content()} for _ in range(length)]
        for length in (rng.randint(0, 40) for _ in range(300))
    ]
    # Two halves of a pair that stand side by side become one letter on the way through JSON.
    given_ones = json.loads(json.dumps(given_ones))
    assert node("done(given.map(transit));", given_ones) == [_sent(one) for one in given_ones]
    counted = node("done(given.map(tokens));", texts := ["", "a", "Grüße", "漢字", "😀" * 7])
    assert counted == [tokens(text) for text in texts]
