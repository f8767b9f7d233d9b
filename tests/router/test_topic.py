"""Topic switches, and what comes into focus."""

from collections.abc import Callable

import pytest

from kds.router.resolver import Resolver

Rewrite = Callable[..., str]


def switches(resolver: Resolver, *messages: str) -> bool:
    *context, message = messages
    return resolver.switch(message, resolver.replay(tuple(context))) is not None


@pytest.mark.parametrize(
    "message",
    [
        "Actually, let's build a login page first",
        "Hold on, we should rotate the API keys first",
        "Forget that, let's add dark mode",
        "Never mind, I want to build a chat",
        "New topic: why is the CI slow?",
        "Let's work on the importer instead",
        "Wait, can we do the invoices before that?",
    ],
)
def test_a_cue_with_something_new_switches_the_topic(resolver: Resolver, message: str) -> None:
    assert switches(resolver, "I want to add a map widget", message)


@pytest.mark.parametrize(
    "message",
    [
        "Actually, let's change the map widget first",
        "Actually, use tiles, not vectors",
        "Use tiles instead of vectors",
        "Let's test it first",
        "Let's run the linter first",
        "Create a login page",
        "Forget it",
        "Never mind",
        "Make it purple instead",
        "First add a legend",
    ],
)
def test_a_correction_a_next_step_or_a_new_request_goes_on(
    resolver: Resolver, message: str
) -> None:
    assert not switches(resolver, "I want to add a map widget", message)


def test_there_is_nothing_to_switch_from_at_the_start(resolver: Resolver) -> None:
    assert not switches(resolver, "Actually, let's build a login page first")


def test_a_message_that_switches_is_not_rewritten(rewrite: Rewrite) -> None:
    message = "Forget that, let's add another button"
    assert rewrite("I want to add a map widget", message) == message


def test_after_a_switch_the_old_topic_is_gone(rewrite: Rewrite) -> None:
    messages = [
        "Create a map widget",
        "Actually, let's work on dark mode first",
        "Change the color",
    ]
    assert rewrite(*messages) == "Change the color of dark mode"
    assert "map" not in rewrite(*messages[:2], "Make them round")


def test_after_a_switch_the_discourse_begins_with_its_message(resolver: Resolver) -> None:
    told = resolver.replay(("Create a map widget", "New topic: fix the flaky tests"))
    assert [moment.expanded for moment in told.moments] == ["New topic: fix the flaky tests"]


def test_a_switch_rule_needs_its_cue_and_no_unless(rewrite: Rewrite, resolver: Resolver) -> None:
    ids = {rule.id for rule in resolver.rules if rule.signal.kind == "switch"}
    told = resolver.replay(("Create a map widget",))
    assert resolver.switch("Forget that, let's add dark mode", told) in ids


def test_the_right_file_moves_into_focus(rewrite: Rewrite) -> None:
    messages = ["Open src/a.py", "Wrong file! It should be src/b.py", "Format it"]
    assert rewrite(*messages) == "Format src/b.py"


def test_focus_stays_where_it_was_without_a_cue(rewrite: Rewrite) -> None:
    assert rewrite("Open src/a.py", "Hello", "Format it") == "Format src/a.py"


@pytest.mark.parametrize(
    ("message", "feature"),
    [
        ("I want to add a rating widget", "rating widget"),
        ("Build a CSV importer for the ledger", "CSV importer"),
        ("Actually, let's work on dark mode first", "dark mode"),
        ("How about a toast on save?", "toast"),
        ("Hello", None),
        ("Go ahead", None),
        ("...", None),
    ],
)
def test_the_feature_is_what_the_message_sets_out_to_build(
    resolver: Resolver, message: str, feature: str | None
) -> None:
    assert resolver.feature_of(message) == feature
