"""`kds eval follow-ups`: questions about documents, each of which needs the ones before."""

import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import click

from kds.api.workspace_parts import LearnedParts, Parts
from kds.brain.documents.document_store import DocumentPlace
from kds.brain.errors import KdsError
from kds.brain.whereabouts import BRAIN
from kds.brain.workspace import Workspace
from kds.cli.command import command
from kds.cli.options import (
    check_apart,
    errors_option,
    json_option,
    workspace_option,
)
from kds.cli.output import (
    decimal,
    fields,
    percent,
    print_table,
    say,
    write_json_lines,
)
from kds.cli.progress import slow, tracked
from kds.documents.indexing import add_documents
from kds.evaluation.followup_data import FOLLOW_UP_FORM, FollowUpFileError, Talk, read_follow_ups
from kds.evaluation.followup_scoring import (
    CUTOFFS,
    Asked,
    FollowUpScore,
    Recalls,
    ask_all,
    score_follow_ups,
    unknown_places,
)
from kds.query.query_service import QueryService
from kds.service.desk import LOADING

SHOWN: Final = CUTOFFS[-1]
"""Passages that have to hold the answer."""

_FORM_LINES: Final = FOLLOW_UP_FORM.replace("\n", "\n  ")


@command(
    "kds eval follow-ups talks.yaml",
    "kds eval follow-ups talks.yaml --errors wrong.jsonl --json",
    name="follow-ups",
    closing=f"""The file, with documents beside it:
  {_FORM_LINES}""",
)
@click.argument("file", type=click.Path(path_type=Path))
@json_option
@errors_option("Write what was not understood or not found, with the reasons.")
@workspace_option
def follow_ups(*, file: Path, errors: Path | None, workspace: Workspace) -> None:
    """Score the conversations of FILE: understood, found, and what typing alone would find.

    The documents are read into a temporary store; rules and prompts are those of the workspace.
    """
    check_apart(errors, file)
    talks = read_follow_ups(file)
    asked = _ask(talks, workspace)
    _write_errors(errors, asked)
    score = score_follow_ups(asked)
    say(score.as_dict(), lambda: _show(score))


def _ask(talks: Sequence[Talk], workspace: Workspace) -> list[Asked]:
    """Put all talks to a query service over a workspace of their own, with the user's rules."""
    with slow(LOADING):
        parts = LearnedParts(Parts.load(workspace, may_write=False)).now
    with tempfile.TemporaryDirectory(prefix="kds-follow-ups-") as folder:
        root = Path(folder).resolve()
        place = Workspace(root, root / BRAIN)
        place.ensure()
        with slow("indexing the documents"):
            _index(talks, place)
        with QueryService(replace(parts, workspace=place)) as service:
            return [one for talk in tracked(talks, "asking") for one in ask_all(service, talk)]


def _index(talks: Sequence[Talk], place: Workspace) -> None:
    documents = list(dict.fromkeys(talk.path for talk in talks))
    with DocumentPlace(place).open() as store:
        for failed in add_documents(store, documents).of("failed"):
            raise failed.error or KdsError("cannot be read", where=str(failed.path))
        sections = {path: store.sections(str(path.resolve())) for path in documents}
    problems = [one for talk in talks for one in unknown_places(talk, sections[talk.path])]
    if problems:
        raise FollowUpFileError(problems)


def _write_errors(path: Path | None, asked: Iterable[Asked]) -> None:
    rows = map(_error_dict, asked)
    write_json_lines(
        path, (row for row in rows if not row["resolved"] or row[f"recall@{SHOWN}"] < 1)
    )


def _error_dict(one: Asked) -> dict[str, Any]:
    question = one.question
    return {
        "talk": one.talk,
        "turn": one.turn,
        "user": question.user,
        "rewritten": one.reply.rewritten_query,
        "expanded": list(question.expanded),
        "refers_to": list(question.refers_to),
        "resolved": one.resolved if question.follows_up else one.kept,
        f"recall@{SHOWN}": one.recall(SHOWN),
        "wanted": [
            fields(place, "section contains") for place in (*question.find, *question.find_all)
        ],
        "found": [chunk.citation for chunk in one.reply.chunks[:SHOWN]],
        "why": list(one.reply.rewriting.why),
    }


def _show(score: FollowUpScore) -> None:
    print_table(("measure", "", "of"), _rows(score))
    click.echo()
    kinds = (("follow-ups", score.of_follow_ups), ("other questions", score.of_others))
    print_table(
        ("", *score.of_others.rewritten),
        (row for name, recalls in kinds for row in _recall_rows(name, recalls)),
    )
    click.echo()
    times = f"half below {decimal(score.ms_p50)}, 95 % {decimal(score.ms_p95)}"
    click.echo(f"CPU ms a question: {times}")


def _rows(score: FollowUpScore) -> Iterable[tuple[str, str, str]]:
    others = str(score.questions - score.follow_ups)
    yield "resolved", percent(score.resolved), f"{score.follow_ups} follow-ups"
    yield "in an accepted wording", percent(score.exact), f"{score.follow_ups} follow-ups"
    yield "left as they are", percent(score.kept), f"{others} other questions"
    yield "served by the session's memory", percent(score.session_hits), "turns from the third on"


def _recall_rows(name: str, recalls: Recalls) -> Iterable[Sequence[str]]:
    yield f"{name}, rewritten", *map(percent, recalls.rewritten.values())
    yield f"{name}, as typed", *map(percent, recalls.typed.values())
