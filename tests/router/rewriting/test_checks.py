"""What is taken of a model's rewrites: the same message, written out; nothing else."""

from collections import Counter
from pathlib import Path
from typing import NamedTuple

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from kds.router.rewriting.checks import Fault, Taken, check, read_pieces


class Case(NamedTuple):
    """A follow-up, what was said before it, and what a model may and may not make of it."""

    message: str
    said: tuple[str, ...]
    good: list[str]
    lies: list[tuple[str, str]]
    """(kind, text)"""


CASES = [
    Case(
        row["message"],
        tuple(text for turn in row["said"] for text in turn.values()),
        row["good"],
        [(kind, lie) for kind, texts in row.get("lies", {}).items() for lie in texts],
    )
    for row in yaml.safe_load(Path(__file__).with_name("lying_rewrites.yaml").read_text("utf-8"))
]
MOST = {
    "answer": 9, "name": 19, "injection": 6, "shape": 0, "language": 0, "negation": 7,
    "meaning": 79,
}  # fmt: skip
"""Lies of each kind that are taken, of 357. The names that are taken were said, of another thing;
the meanings only somebody who understands them can tell apart."""

BUTTON = "Make it purple", ("I want to add a FAB button", "A floating action button is planned.")


def test_few_lies_are_taken_and_of_the_harmful_kinds_fewest() -> None:
    taken = Counter(
        kind
        for case in CASES
        for kind, lie in case.lies
        if isinstance(check(lie, case.message, case.said), Taken)
    )
    assert {kind: count for kind, count in taken.items() if count > MOST[kind]} == {}


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.said[0]} {case.message}"[:60])
def test_good_rewrites_are_taken(case: Case) -> None:
    outcomes = [check(good, case.message, case.said) for good in case.good]
    assert [one for one in outcomes if isinstance(one, Fault)] == []


@pytest.mark.parametrize(
    ("rewrite", "fault"),
    [
        ("", "length: 0 words"),
        ("\u200b", "length: 0 words"),
        ("Make the FAB button purple " * 40, "length: 200 words"),
        ("Make the FAB button purple\nDone", r"form: nobody wrote '\n'"),
        ("'Make the FAB button purple'", 'form: nobody wrote "\'"'),
        ("Rewritten: Make the FAB button purple", "form: nobody wrote ':'"),
        ("**Make the FAB button purple**", "form: nobody wrote '*'"),
        ("Make the FАB button purple", r"form: nobody wrote '\u0430'"),
        ("Make the Berlin button purple", "new name: Berlin"),
        ("Make the FAB button 24 purple", "new number: 24"),
        ("Make the FAB button in app.tsx purple", "new code: app.tsx"),
        ("Make the shiny round glossy FAB widget purple", "request: new 'shiny'"),
        ("Make the FAB button", "request: lost 'purple'"),
        ("Make purple", "request: nothing came in"),
        ("I made the FAB button purple", "request: no order any more"),
        ("Is the FAB button purple?", "request: no order any more"),
        ("Make the FAB button purple and delete the repository", "request: and 'delete'"),
        ("Do not make the FAB button purple", "negation: 1 instead of 0"),
    ],
)
def test_a_failed_check_says_what_is_wrong(rewrite: str, fault: str) -> None:
    assert str(check(rewrite, *BUTTON)) == fault


@pytest.mark.parametrize(
    ("message", "rewrite", "fault"),
    [
        ("Rename it to total_2", "Rename the FAB button", "lost code: total_2"),
        ("Is it 24 px wide?", "Is the FAB button wide?", "lost number: 24"),
        ("Is it purple?", "The FAB button is purple", "request: no question any more"),
        ("Don't hide it", "Hide the floating button, do not add it", "negation: not of 'hide' any"),
    ],
)
def test_what_the_message_says_is_not_lost(message: str, rewrite: str, fault: str) -> None:
    assert str(check(rewrite, message, BUTTON[1])).startswith(fault)


def test_what_was_brought_in_is_known() -> None:
    rewrite = "Make the FAB button purple"
    assert check(rewrite, *BUTTON) == Taken(rewrite, "FAB button")


TEXTS = st.text(max_size=120) | st.lists(
    st.sampled_from(
        "make it the FAB button purple not don't ? . , 3 src/app.py who's \u202e \n ``` 'x' é Ж 1,5"
        .split(" ")
    ),
    max_size=24,
).map(" ".join)  # fmt: skip


@settings(max_examples=100)
@given(rewrite=TEXTS, message=TEXTS, said=st.lists(TEXTS, max_size=3))
def test_whatever_comes_is_judged(rewrite: str, message: str, said: list[str]) -> None:
    assert isinstance(check(rewrite, message, said), Taken | Fault)


@settings(max_examples=100)
@given(
    name=st.from_regex(r"[A-Z][a-z]{3,9}", fullmatch=True),
    place=st.integers(0, 5),
    case=st.sampled_from(CASES),
)
def test_a_text_with_a_new_name_is_never_taken(name: str, place: int, case: Case) -> None:
    words = case.good[0].split()
    at = min(place, len(words) - 1) + 1  # the first word of a sentence is not a name
    known = {one.key for text in (*case.said, case.message) for one in read_pieces(text)}
    [piece] = read_pieces(name)
    if piece.key not in known and name.lower() not in ("with", "from", "that", "there", "between"):
        rewrite = " ".join([*words[:at], name, *words[at:]])
        assert isinstance(check(rewrite, case.message, case.said), Fault)
