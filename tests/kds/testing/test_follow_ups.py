"""Follow-up questions about documents: reading their files, and the figures."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from kds.brain.documents.store import DocumentPlace
from kds.brain.workspace import Workspace
from kds.documents.indexing import add_documents
from kds.query.service import QueryService
from kds.testing.follow_ups import (
    FOLLOW_UP_FORM,
    Asked,
    FollowUpFileError,
    Question,
    ask_all,
    read_follow_ups,
    score_follow_ups,
)

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
    score = score_follow_ups(asked)
    assert (score["talks"], score["questions"], score["follow_ups"]) == (1, 3, 1)
    assert (score["resolved"], score["exact"], score["kept"]) == (1, 1, 1)
    assert score["of_follow_ups"]["rewritten"]["recall@1"] == 0.5  # type: ignore[index]
    assert score["of_others"]["typed"]["recall@1"] == 1  # type: ignore[index]
    assert score["session_hits"] in (0, 1)  # of one turn, the third


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "pooling-agreement.md").write_text("# Agreement\n")
    return tmp_path / "follow-ups.yaml"


def test_the_form_that_the_help_shows_is_one(file: Path) -> None:
    file.write_text(FOLLOW_UP_FORM)
    (talk,) = read_follow_ups(file)
    first, second = talk.turns
    assert (first.expanded, bool(second.expanded)) == ([], True)
    assert second.refers_to == ["Determination Date"]
    assert second.find[0].section == "Section 1.02"
    assert talk.path.is_file()


@pytest.mark.parametrize(
    ("before", "after", "line", "said"),
    [
        ("refers_to", "refer_to", 8, "did you mean 'refers_to'"),
        ("- id:", "- note:", 1, "id"),
        ("      expanded: And", "      note: And", 6, "no 'expanded'"),
        ("id: agreement-dates", "id: ''", 1, "must not be empty"),
    ],
)
def test_a_fault_is_named_with_its_line(
    file: Path, before: str, after: str, line: int, said: str
) -> None:
    file.write_text(FOLLOW_UP_FORM.replace(before, after))
    with pytest.raises(FollowUpFileError) as caught:
        read_follow_ups(file)
    (problem,) = caught.value.problems
    assert problem.where == f"{file}:{line}"
    assert said in f"{problem.message} {problem.hint}"


@pytest.mark.parametrize(
    ("text", "resolved"),
    [
        ("And what happens if the Determination Date falls on a weekend?", True),
        ("what if determination date is a Sunday", True),  # it names what it is about
        ("And what happens if it falls on a weekend?", False),
        ("What is redetermination date?", False),
    ],
)
def test_a_question_is_resolved_when_it_names_what_it_is_about(text: str, resolved: bool) -> None:
    question = Question(
        user="And what happens if it falls on a weekend?",
        expanded=["And what happens if the Determination Date falls on a weekend?"],
        refers_to=["the Determination Date"],
    )
    assert question.resolved(text) is resolved
