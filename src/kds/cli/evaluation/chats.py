"""`kds eval chats`: real conversations with coding assistants; does KDS do harm, or help?"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

import click

from kds.api.rehearsal import MinuteClock
from kds.api.routing import precision_of
from kds.api.workspace_parts import load_resolver
from kds.brain.turn import Turn, Utterance
from kds.brain.workspace import Workspace
from kds.cli.command import command
from kds.cli.evaluation.dialogue_tests import WARM_UP
from kds.cli.options import (
    check_apart,
    check_picture,
    errors_option,
    json_option,
    open_router,
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
from kds.cli.progress import tracked
from kds.evaluation.chats.chat_file import CHAT_FORM, Chat, read_chats
from kds.evaluation.chats.chat_scores import ChatScore, EditCount, score_chats
from kds.evaluation.chats.curve_plot import draw_curve
from kds.evaluation.chats.playing import PlayedChatTurn, play_chat, play_with
from kds.evaluation.chats.precision_curve import precision_curve
from kds.evaluation.chats.recent_noun import recent_noun_turn
from kds.evaluation.intents.plots import SUFFIXES, load_drawing
from kds.router.language.words import Analysis

COMPARED: Final = (
    "turns", "changed", "edits_right", "edits_wrong", "edits_false", "precision", "harmed",
    "must_recall_user", "must_recall_assistant",
)  # fmt: skip
"""What is told of a baseline: it has no intents."""

_LABELS: Final = {
    "precision": "edits that are right",
    "harmed": "turns changed for the worse",
    "must_recall_user": "needed references the user named, written out",
    "must_recall_assistant": "needed references only a reply named, written out",
}


@command(
    "kds eval chats chats.jsonl",
    "kds eval chats chats.jsonl --errors wrong.jsonl --json",
    "kds eval chats chats.jsonl --plot curve.svg",
    closing=f"""A chat a line, JSON:
  {CHAT_FORM}
Each chat starts with an empty context, its clock moves one minute a turn,
and nothing is written to the workspace.""",
)
@click.argument("file", type=click.Path(path_type=Path))
@json_option
@errors_option("Write the turns that were changed for the worse, or whose intent is wrong.")
@click.option(
    "--plot",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="OUT.svg",
    help="Draw what recall each promised precision costs; --json has it under `curve`.",
)
@click.option("--no-history", is_flag=True, help="Keep the assistant's replies from the router.")
@workspace_option
def chats(
    *, file: Path, errors: Path | None, plot: Path | None, no_history: bool, workspace: Workspace
) -> None:
    """Score the chats of FILE: right and wrong rewrites, intents, confidence, time.

    Beside KDS stand two baselines: never to rewrite, and to write the most recent noun for the
    first pronoun.
    """
    check_apart(errors, file)
    if plot is not None:
        check_picture(plot, SUFFIXES)
        load_drawing()
    found = read_chats(file)
    router = open_router(workspace, log=False)
    router.rehearse(MinuteClock()).route(WARM_UP)
    played = [
        turn
        for chat in tracked(found, "playing chats")
        for turn in play_with(chat, router.rehearse, history=not no_history)
    ]
    _write_errors(errors, played)
    score = score_chats(played)
    analyse = load_resolver(workspace).analyse
    baselines = {"never": score_chats(_left_alone(played)), "recent_noun": _recent(analyse, found)}
    curve = _drawn(plot, played, workspace) if plot is not None else {}
    told = {name: _compared(one) for name, one in baselines.items()}
    say({**score.as_dict(), "baselines": told, **curve}, lambda: _show(score, baselines))


def _drawn(plot: Path, played: Sequence[PlayedChatTurn], workspace: Workspace) -> dict[str, object]:
    """Write the picture; what it shows, for JSON."""
    points = precision_curve(played, precision_of(workspace)())
    draw_curve(plot, points)
    return {"curve": [point.as_dict() for point in points]}


def _left_alone(played: Iterable[PlayedChatTurn]) -> list[PlayedChatTurn]:
    return [
        replace(one, edits=(), turn=replace(one.turn, expanded=one.turn.message)) for one in played
    ]


def _recent(analyse: Callable[[str], Analysis], found: Sequence[Chat]) -> ChatScore:
    def route(message: str, said: Sequence[Utterance]) -> Turn:
        return recent_noun_turn(message, said, analyse)

    return score_chats([one for chat in found for one in play_chat(chat, route, lambda: None)])


def _compared(score: ChatScore) -> dict[str, object]:
    whole = score.as_dict()
    return {key: whole[key] for key in COMPARED}


def _write_errors(path: Path | None, played: Iterable[PlayedChatTurn]) -> None:
    wrong = (
        one for one in played if one.expected.labelled and (one.harmed or one.intent_right is False)
    )
    write_json_lines(path, map(_error_dict, wrong))


def _error_dict(one: PlayedChatTurn) -> dict[str, object]:
    return {
        "chat": one.chat,
        "turn": one.number,
        "user": one.expected.user,
        "expanded": one.turn.expanded,
        "edits": [fields(edit, "said rule outcome") for edit in one.edits],
        "refs": [fields(ref, "text kind antecedents") for ref in one.expected.references],
        "intent": one.turn.intent,
        "confidence": round(one.turn.confidence, 4),
        "intents": list(one.expected.intents),
        "why": list(one.turn.why),
    }


def _show(score: ChatScore, baselines: dict[str, ChatScore]) -> None:
    columns = (score, baselines["never"], baselines["recent_noun"])
    dicts = [one.as_dict() for one in columns]
    rows: list[Sequence[str]] = [
        (label, *(percent(told[key]) for told in dicts), _of(score, key))  # type: ignore[arg-type]
        for key, label in _LABELS.items()
    ]
    print_table(("measure", "KDS", "never", "most recent noun", "of"), rows)
    click.echo()
    acted = f"{score.intents} turns"
    print_table(
        ("measure", "value", "of"),
        (
            ("intent right when acted", percent(score.intent_right_when_acted), acted),
            ("acted on", percent(score.acted), acted),
            ("calibration error", decimal(score.ece), acted),
            ("CPU ms a turn, half below", decimal(score.ms_p50), ""),
            ("CPU ms a turn, 99 % below", decimal(score.ms_p99), ""),
        ),
    )
    for title, counts in (("rule", score.by_rule), ("kind", score.by_kind)):
        if counts:
            click.echo()
            print_table(
                (title, "right", "wrong", "false"), (_row(*item) for item in counts.items())
            )


def _of(score: ChatScore, key: str) -> str:
    whole = sum((score.edits_right, score.edits_wrong, score.edits_false))
    counts = {
        "precision": f"{whole} edits of KDS",
        "harmed": f"{score.turns} turns",
        "must_recall_user": f"{score.must_user} references",
        "must_recall_assistant": f"{score.must_assistant} references",
    }
    return counts[key]


def _row(name: str, count: EditCount) -> tuple[str, str, str, str]:
    return name or "(nothing refers)", str(count.right), str(count.wrong), str(count.false)
