"""Follow-up files: read with every fault named, and judged fairly."""

from pathlib import Path

import pytest

from kds.evaluation.followup_data import (
    FOLLOW_UP_FORM,
    FollowUpFileError,
    Question,
    read_follow_ups,
)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "pooling-agreement.md").write_text("# Agreement\n")
    return tmp_path / "follow-ups.yaml"


def test_the_form_that_the_help_shows_is_one(file: Path) -> None:
    file.write_text(FOLLOW_UP_FORM)
    (talk,) = read_follow_ups(file)
    first, second = talk.turns
    assert (first.follows_up, second.follows_up) == (False, True)
    assert second.refers_to == ["Determination Date"]
    assert second.find[0].section == "Section 1.02"
    assert talk.path.is_file()


@pytest.mark.parametrize(
    ("before", "after", "line", "said"),
    [
        ("document: pooling-agreement.md", "document: other.md", 2, "no document 'other.md'"),
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


def test_a_file_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FollowUpFileError, match=r"no\.yaml"):
        read_follow_ups(tmp_path / "no.yaml")


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
