"""Scoring follow-up questions: what is understood, what is found, with rewriting and without."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from kds.brain.documents.document_store import DocumentPlace
from kds.brain.workspace import Workspace
from kds.documents.indexing import add_documents
from kds.evaluation.followup_data import read_follow_ups
from kds.evaluation.followup_scoring import Asked, ask_all, score_follow_ups
from kds.query.query_service import QueryService

DOCUMENT = """\
# Harbor Agreement

## 1 Definitions

"Determination Date" means the 12th day of each month.

"Closing Date" means March 14, 2031.

## 2 Days that are no Business Day

When the Determination Date falls on a weekend, it moves to the next Monday.

## 3 Reports

The Servicer sends its report in May.
"""
TALKS = """\
- id: dates
  document: agreement.md
  turns:
    - user: What is the Determination Date?
      find: {section: 1 Definitions, contains: the 12th day}
    - user: What happens if it falls on a weekend?
      expanded: What happens if the Determination Date falls on a weekend?
      refers_to: Determination Date
      find_all:
        - {section: "2 Days", contains: moves to the next Monday}
        - {section: "3 Reports", contains: sends its report}
    - user: When does the Servicer send its report?
      find: {section: "3", contains: in May}
"""


@pytest.fixture
def asked(fitted_workspace: Path) -> Iterator[list[Asked]]:
    (fitted_workspace / "agreement.md").write_text(DOCUMENT)
    (fitted_workspace / "talks.yaml").write_text(TALKS)
    place = Workspace.find(fitted_workspace)
    (talk,) = read_follow_ups(fitted_workspace / "talks.yaml")
    with DocumentPlace(place).open() as store:
        add_documents(store, [talk.path])
    with QueryService.open(place) as service:
        yield list(ask_all(service, talk))


def test_a_follow_up_is_understood_and_its_answer_found(asked: list[Asked]) -> None:
    first, second, third = asked
    assert (first.kept, second.resolved, third.kept) == (True, True, True)
    assert (first.recall(1), third.recall(1)) == (1, 1)
    assert second.recall(1) == 0.5  # the other place takes a second passage


def test_the_figures_are_shares_of_what_they_name(asked: list[Asked]) -> None:
    score = score_follow_ups(asked).as_dict()
    assert (score["talks"], score["questions"], score["follow_ups"]) == (1, 3, 1)
    assert (score["resolved"], score["exact"], score["kept"]) == (1, 1, 1)
    assert score["of_follow_ups"]["rewritten"]["recall@1"] == 0.5  # type: ignore[index]
    assert score["of_others"]["typed"]["recall@1"] == 1  # type: ignore[index]
    assert score["session_hits"] in (0, 1)  # of one turn, the third
