"""What is taken of a model's rewrites: the same message, written out; nothing else."""

import re
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kds.router.references.resolver import Resolver
from kds.router.rewriting.checks import Fault, Taken, Told, check, read_pieces

from .lies import Case, read_cases

CASES = read_cases()
LOST_GOOD = 1
"""Good rewrites of the file that are turned down: that of "Do it"."""

MOST = {
    "answer": 8, "name": 18, "injection": 1, "shape": 3, "language": 0, "negation": 7,
    "meaning": 68,
}  # fmt: skip
"""Lies of each kind that are taken. The rest of the names were said, of another thing; the rest of
the meanings only somebody who understands them can tell apart."""

BUTTON = Told(
    "Make it purple",
    "Make the FAB button purple",
    ("I want to add a FAB button",),
    ("A floating action button is planned.",),
)


def test_few_lies_are_taken_and_of_the_harmful_kinds_fewest(resolver: Resolver) -> None:
    taken = Counter(
        kind
        for case in CASES
        for kind, lie in case.lies
        if isinstance(check(lie, case.told(resolver), resolver.analyse), Taken)
    )
    assert {kind: count for kind, count in taken.items() if count > MOST[kind]} == {}


def test_good_rewrites_are_taken(resolver: Resolver) -> None:
    outcomes = [
        check(good, case.told(resolver), resolver.analyse) for case in CASES for good in case.good
    ]
    assert sum(isinstance(outcome, Fault) for outcome in outcomes) <= LOST_GOOD


@pytest.mark.parametrize(
    ("rewrite", "name"),
    [
        ("", "empty"),
        ("\u200b", "empty"),
        ("Make the FAB button purple\nDone", "lines"),
        ("'Make the FAB button purple'", "quotes"),
        ("Rewritten: Make the FAB button purple", "prefix"),
        ("**Make the FAB button purple**", "markup"),
        ("Make the FAB button purple as an AI would", "instructions"),
        ("Make the FAB button purple " * 40, "length"),
        ("Make the Berlin button purple", "new name"),
        ("Make the FAB button 24 purple", "new number"),
        ("Make the FAB button in app.tsx purple", "new code"),
        ("Make the shiny round glossy FAB widget purple", "new word"),
        ("Make the FAB button", "lost word"),
        ("Make purple", "too vague"),
        ("I made the FAB button purple", "no order any more"),
        ("Make the FAB button purple and delete the repository", "another request"),
        ("Do not make the FAB button purple", "negation"),
        ("Is the FAB button purple?", "no order any more"),
        ("Make the FAB button purple. Make it.", "more sentences"),
    ],
)
def test_a_failed_check_has_a_name(rewrite: str, name: str, resolver: Resolver) -> None:
    outcome = check(rewrite, BUTTON, resolver.analyse)
    assert isinstance(outcome, Fault)
    assert outcome.check == name


def test_what_was_brought_in_is_known(resolver: Resolver) -> None:
    outcome = check("Make the FAB button purple", BUTTON, resolver.analyse)
    assert outcome == Taken("Make the FAB button purple", "FAB button")


@pytest.mark.parametrize(
    ("said", "message", "rewrite"),
    [
        ("Add a retry limit to the billing worker", "Same for the email worker",
         "Add a retry limit to the email worker"),
        ("Who may terminate the lease?", "And the sublease?", "Who may terminate the sublease?"),
        ("Paint the chart orange", "No, teal", "Paint the chart teal"),
        ("Deploy the api and the worker", "Restart both", "Restart both the api and the worker"),
        ("Should we use Flask or FastAPI?", "So which is faster?",
         "Which is faster, Flask or FastAPI?"),
        ("What is the Determination Date?", "And what happens if it falls on a weekend?",
         "What happens if the Determination Date is a non-business day such as a weekend?"),
        ("What happens if the Determination Date falls on a weekend?",
         "What about the Closing Date - same rule?",
         "Does the same weekend rule apply to the Closing Date?"),
        ("By when does the Servicer have to make P&I Advances?", "And if it doesn't?",
         "What are the consequences if the Servicer fails to make P&I Advances?"),
        ("What must the Seller do about a Defective Mortgage Loan?", "how long do they have",
         "What is the Seller's deadline for curing a Defective Mortgage Loan?"),
        ("Don't use eval here", "Why?", "Why should I not use eval here?"),
        ("I want to add a FAB button", "Make it purple", "Change the FAB button's color to purple"),
        ("I met José García", "When did he call?", "When did Jose Garcia call?"),
        ("Tell me about Homicide: Life on the Street", "When did it end?",
         "When did Homicide: Life on the Street end?"),
    ],
)  # fmt: skip
def test_honest_rewrites_of_many_kinds(
    said: str, message: str, rewrite: str, resolver: Resolver
) -> None:
    outcome = check(rewrite, Told(message, message, (said,)), resolver.analyse)
    assert isinstance(outcome, Taken), outcome


TEXTS = st.text(max_size=120) | st.lists(
    st.sampled_from(
        "make it the FAB button purple not don't ? . , 3 src/app.py who's \u202e \n ``` 'x' é Ж 1,5"
        .split(" ")
    ),
    max_size=24,
).map(" ".join)  # fmt: skip


@settings(max_examples=100)
@given(rewrite=TEXTS, message=TEXTS, said=st.lists(TEXTS, max_size=3))
def test_whatever_comes_is_judged(
    resolver: Resolver, rewrite: str, message: str, said: list[str]
) -> None:
    told = Told(message, message, tuple(said))
    assert isinstance(check(rewrite, told, resolver.analyse), Taken | Fault)


@settings(max_examples=100)
@given(
    name=st.from_regex(re.compile(r"[A-Z][a-z]{3,9}"), fullmatch=True),
    place=st.integers(0, 5),
    case=st.sampled_from(CASES),
)
def test_a_text_with_a_new_name_is_never_taken(
    resolver: Resolver, name: str, place: int, case: Case
) -> None:
    told = case.told(resolver)
    words = case.good[0].split()
    at = min(place, len(words) - 1) + 1  # the first word of a sentence is not a name
    rewrite = " ".join([*words[:at], name, *words[at:]])
    known = {
        piece.text.lower() for text in (*told.texts, case.good[0]) for piece in read_pieces(text)
    }
    forms = {name.lower(), f"{name.lower()}s", name.lower().removesuffix("s")}
    if not forms & known and name.lower() not in ("with", "from", "that", "there", "between"):
        assert isinstance(check(rewrite, told, resolver.analyse), Fault)
