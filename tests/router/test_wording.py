"""Wordings of a workspace's own, by rules of kind `pattern`."""

from collections.abc import Callable

import pytest

Rewrite = Callable[..., str]
By = Callable[[str], Rewrite]


@pytest.mark.parametrize("context", [[], ["Add a map"]])
def test_a_wording_with_a_text_stands_for_it_at_any_time(
    rewrite_by: By, context: list[str]
) -> None:
    rewrite = rewrite_by(
        'signal: {kind: pattern, cues: ["the usual place"]}, render: {text: the staging cluster}'
    )
    assert rewrite(*context, "Deploy to the usual place") == "Deploy to the staging cluster"
    assert rewrite(*context, "The usual place is down") == "The staging cluster is down"
    assert rewrite(*context, "Deploy to production") == "Deploy to production"


def test_a_wording_without_a_text_stands_for_what_is_being_worked_on(rewrite_by: By) -> None:
    rewrite = rewrite_by('signal: {kind: pattern, cues: ["\\\\bdat ding\\\\b"]}')
    assert rewrite("Add a map", "Make dat ding wider") == "Make the map wider"
    assert rewrite("Make dat ding wider") == "Make dat ding wider"


def test_the_group_ref_says_what_is_replaced(rewrite_by: By) -> None:
    rewrite = rewrite_by('signal: {kind: pattern, cues: ["paint (?P<ref>yonder) red"]}')
    assert rewrite("Add a map", "Paint yonder red") == "Paint the map red"
    assert rewrite("Add a map", "Move yonder") == "Move yonder"


def test_unless_takes_places_out(rewrite_by: By) -> None:
    rewrite = rewrite_by(
        'signal: {kind: pattern, cues: ["\\\\bstg\\\\b"], unless: ["stg-\\\\w+", "not stg"]}, '
        "render: {text: staging}"
    )
    assert rewrite("Deploy to stg") == "Deploy to staging"
    assert rewrite("Deploy to not stg") == "Deploy to not stg"
