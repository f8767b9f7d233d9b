"""Topic switches, and what comes into focus."""

import pytest

from kds.router.references.resolver import Resolver


def test_after_a_switch_the_discourse_begins_with_its_message(resolver: Resolver) -> None:
    told = resolver.replay(("Create a map widget", "New topic: fix the flaky tests"))
    assert [moment.expanded for moment in told.moments] == ["New topic: fix the flaky tests"]


def test_a_switch_names_its_rule(resolver: Resolver) -> None:
    ids = {rule.id for rule in resolver.rules if rule.signal.kind == "switch"}
    told = resolver.replay(("Create a map widget",))
    assert resolver.switch("Forget that, let's add dark mode", told) in ids


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
