"""A model's summary is taken when it can be relied on; else there is one of our own."""

from collections.abc import Sequence
from threading import Event

import pytest

from kds.brain.memory.summarizer import ExtractiveSummarizer, Made, Summarizer, summarised
from kds.brain.passages.values import Message

from ..spoken import CONVERSATION, FACTS, spoken

MESSAGES = spoken(CONVERSATION)
GOOD = (
    "The user builds a nightly invoice export as a batch job in src/jobs/export_job.py, for Maria "
    "Lopez in finance, due March 14, 2025 with a budget of €12500. They decided to go with the "
    "batch job over Kafka and to use SQLite instead of Postgres for the staging table. It starts "
    "at 02:30, keeps 30 days of files, and the API key must never be written to the log. Peter "
    "Nguyen reviews it under FIN-482; 42 tests pass."
)


def made_by(model: Summarizer, messages: Sequence[Message] = MESSAGES) -> Made:
    return summarised(ExtractiveSummarizer(), messages, model=model)


def saying(text: str) -> Summarizer:
    return lambda messages, previous: text


def failing(messages: Sequence[Message], previous: str) -> str:
    raise ConnectionError("no route to the model")


def test_a_good_summary_of_the_model_is_taken_with_what_it_forgot() -> None:
    made = made_by(saying(GOOD))
    assert (made.source, made.reason) == ("model", None)
    assert "over Kafka" in made.text
    for fact in ("$300", "load_rows()", "1.3 s", "export_job.py"):
        assert fact in made.text


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        (failing, "ConnectionError: no route to the model"),
        (saying("  \n"), "the model said nothing"),
        (saying("I'm sorry, but I cannot help with that."), "the model did not summarise"),
        (saying(f"{GOOD} Ask Carlos Vega."), "the model told what nobody said: 'Carlos Vega'"),
        (saying(f"{GOOD} It will cost $99,000."), "the model told what nobody said: '$99,000'"),
        (saying(f"{GOOD} See src/other.py:77."), "the model told what nobody said"),
    ],
)
def test_a_model_that_cannot_be_relied_on_is_replaced(model: Summarizer, reason: str) -> None:
    made = made_by(model)
    assert made.source == "extractive"
    assert made.reason is not None
    assert made.reason.startswith(reason)
    assert all(fact in made.text for fact in FACTS)


def test_a_model_that_takes_too_long_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kds.brain.memory.summarizer.TIMEOUT_S", 0.02)
    never = Event()

    def slow(messages: Sequence[Message], previous: str) -> str:
        never.wait()
        return GOOD

    made = made_by(slow)
    never.set()
    assert made.reason == "no answer within 0.02 s"


def test_a_summary_that_is_too_long_is_cut_and_one_that_is_too_short_filled() -> None:
    long = made_by(saying(GOOD + " It goes on and on and on about this." * 60))
    assert (long.source, len(long.text.split()) <= 200) == ("model", True)
    short = "The user builds an invoice export. Key topics: export, cron."
    made = made_by(saying(short))
    assert (made.source, made.text.partition("\n")[0]) == ("model", short)
    assert all(fact in made.text for fact in FACTS)


@pytest.mark.parametrize("name", ["PostgreSQL", "Invoices", "the User", "JobExport"])
def test_another_form_of_what_was_said_is_not_invented(name: str) -> None:
    assert made_by(saying(f"{GOOD} It is about {name}.")).source == "model"


@pytest.mark.parametrize("text", ["Noted.", "The user and the assistant decided.", "ok"])
def test_a_summary_that_says_nothing_of_what_the_user_said_is_dropped(text: str) -> None:
    said = spoken([("user", "I want a depth gauge panel"), ("assistant", "Noted. ok")])
    made = made_by(saying(text), said)
    assert (made.source, "depth gauge panel" in made.text) == ("extractive", True)
