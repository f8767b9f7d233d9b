"""A model's summary is taken when it can be relied on; else there is one of our own."""

from collections.abc import Sequence
from threading import Event

import pytest

from kds.brain.memory.summarizer import CheckedSummarizer, ExtractiveSummarizer, Summarizer
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


def checked(model: Summarizer, *, timeout_s: float = 5.0) -> CheckedSummarizer:
    return CheckedSummarizer(ExtractiveSummarizer(), model, timeout_s=timeout_s)


def saying(text: str) -> Summarizer:
    return lambda messages, previous: text


def failing(messages: Sequence[Message], previous: str) -> str:
    raise ConnectionError("no route to the model")


def test_a_good_summary_of_the_model_is_taken_with_what_it_forgot() -> None:
    made = checked(saying(GOOD)).make(MESSAGES)
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
    made = checked(model).make(MESSAGES)
    assert made.source == "extractive"
    assert made.reason is not None
    assert made.reason.startswith(reason)
    assert all(fact in made.text for fact in FACTS)


def test_a_model_that_takes_too_long_is_not_waited_for() -> None:
    never = Event()

    def slow(messages: Sequence[Message], previous: str) -> str:
        never.wait()
        return GOOD

    made = checked(slow, timeout_s=0.02).make(MESSAGES)
    never.set()
    assert made.reason == "no answer within 0.02 s"


def test_a_summary_that_is_too_long_is_cut_and_one_that_is_too_short_filled() -> None:
    long = checked(saying(GOOD + " It goes on and on and on about this." * 60)).make(MESSAGES)
    assert (long.source, len(long.text.split()) <= 200) == ("model", True)
    short = "The user builds an invoice export. Key topics: export, cron."
    made = checked(saying(short)).make(MESSAGES)
    assert (made.source, made.text.partition("\n")[0]) == ("model", short)
    assert all(fact in made.text for fact in FACTS)


@pytest.mark.parametrize("name", ["PostgreSQL", "Invoices", "the User", "JobExport"])
def test_another_form_of_what_was_said_is_not_invented(name: str) -> None:
    assert checked(saying(f"{GOOD} It is about {name}.")).make(MESSAGES).source == "model"


@pytest.mark.parametrize("text", ["Noted.", "The user and the assistant decided.", "ok"])
def test_a_summary_that_says_nothing_of_what_the_user_said_is_dropped(text: str) -> None:
    said = spoken([("user", "I want a depth gauge panel"), ("assistant", "Noted. ok")])
    made = checked(saying(text)).make(said)
    assert (made.source, "depth gauge panel" in made.text) == ("extractive", True)
