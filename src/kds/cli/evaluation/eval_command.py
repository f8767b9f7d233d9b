"""`kds eval`: measures the router, or a part of it, on a file of examples."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, cast

import click

from kds.brain.workspace import Workspace
from kds.cli.command import command
from kds.cli.guard import Refusal
from kds.cli.options import check_apart, errors_option, json_option, workspace_option
from kds.cli.output import print_table, say, write_json_lines

KINDS: Final = ("chats", "dialogues", "rewrites", "intents", "multi", "retrieval", "follow-ups")

OPTIONS: Final[Mapping[str, tuple[str, ...]]] = {
    "errors": ("chats", "dialogues", "rewrites", "multi", "follow-ups"),
    "no_history": ("chats",),
    "rewriter": ("rewrites",),
    "train": ("intents",),
    "shots": ("intents",),
    "seeds": ("intents",),
    "embeddings": ("retrieval",),
    "tune": ("retrieval",),
    "write": ("retrieval",),
}
"""Option -> the kinds that take it; the others take every kind."""

MS: Final = "{:.1f}"
NUMBER: Final = "{:.2f}"
SHARE: Final = "{:.1%}"

LABELS: Final[Mapping[str, Mapping[str, tuple[str, str, str]]]] = {
    "chats": {
        "precision": ("edits that are right", SHARE, "{edits} edits of KDS"),
        "harmed": ("turns changed for the worse", SHARE, "{turns} turns"),
        "must_recall_user": (
            "needed references the user named, written out", SHARE, "{must_user} references"),
        "must_recall_assistant": (
            "needed references only a reply named, written out", SHARE,
            "{must_assistant} references"),
        "intent_right_when_acted": ("intent right when acted", SHARE, "{intents} turns"),
        "acted": ("acted on", SHARE, "{intents} turns"),
        "ece": ("calibration error", NUMBER, "{intents} turns"),
    },
    "dialogues": {
        "intent_accuracy": ("intent right", SHARE, "{turns} turns"),
        "expanded_exact": ("needed expansions exact", SHARE, "{needed} turns"),
        "context_ref_accuracy": ("context_ref right", SHARE, ""),
        "false_rewrites": ("kept turns changed wrongly", SHARE, "{kept} turns"),
        "switch_accuracy": ("topic switch right", SHARE, "{turns} turns"),
        "secondary_accuracy": ("secondary intents right", SHARE, ""),
    },
    "rewrites": {
        "exact": ("exact", SHARE, "{turns} turns"),
        "bleu": ("BLEU", MS, "{turns} turns"),
        "rouge1_recall": ("ROUGE-1 recall", SHARE, "{turns} turns"),
        "needed_exact": ("exact, where a rewrite was needed", SHARE, "{needed} turns"),
        "needed_bleu": ("BLEU, where a rewrite was needed", MS, "{needed} turns"),
        "signal_precision": ("changed ones that needed it", SHARE, ""),
        "signal_recall": ("needed ones that were changed", SHARE, "{needed} turns"),
        "false_rewrites": ("kept turns changed wrongly", SHARE, ""),
    },
    "intents": {
        "accuracy": ("right, in scope", SHARE, ""),
        "macro_f1": ("macro F1", SHARE, ""),
        "top2": ("right one among the first two", SHARE, ""),
        "oos_recall_at_95": ("out of scope refused, 95 % let in", SHARE, ""),
        "oos_auroc": ("out of scope told apart (AUROC)", SHARE, ""),
        "ece": ("calibration error", SHARE, ""),
        "acted_precision": ("right, where KDS acts", SHARE, ""),
        "coverage": ("acted on, in scope", SHARE, ""),
        "oos_acted": ("acted on, out of scope", SHARE, ""),
        "train_s": ("training, CPU seconds", NUMBER, ""),
        "peak_mb": ("peak memory, MB", NUMBER, ""),
    },
    "multi": {
        "exact": ("all intents, in order", SHARE, ""),
        "recall": ("intents found", SHARE, ""),
        "false_splits": ("single ones split wrongly", SHARE, ""),
    },
    "retrieval": {
        "recall_at_5": ("recall@5", SHARE, "{queries} queries"),
        "recall_at_10": ("recall@10", SHARE, "{queries} queries"),
        "ndcg_at_5": ("NDCG@5", SHARE, "{queries} queries"),
    },
    "follow-ups": {
        "resolved": ("resolved", SHARE, "{follow_ups} follow-ups"),
        "exact": ("in an accepted wording", SHARE, "{follow_ups} follow-ups"),
        "kept": ("left as they are", SHARE, "other questions"),
        "session_hits": (
            "served by the session's memory", SHARE, "turns from the third on"),
    },
}  # fmt: skip
"""Kind -> figure -> its label, its format, and what it counts."""

TIMES: Final = {
    "ms_p50": "ms a case, half below",
    "ms_p95": "ms a case, 95 % below",
    "ms_p99": "ms a case, 99 % below",
}


@command(
    "kds eval chats chats.jsonl --errors wrong.jsonl",
    "kds eval dialogues tests/dialogues/fab.yaml --json",
    "kds eval rewrites follow-ups.jsonl --rewriter model-first",
    "kds eval intents test.jsonl --train train.jsonl --shots 10 --seeds 5",
    "kds eval retrieval memories.json --tune --write",
    name="eval",
    closing="The formats and measures: kds help evaluation",
)
@click.argument("kind", type=click.Choice(KINDS), metavar="KIND")
@click.argument("file", type=click.Path(path_type=Path))
@json_option
@errors_option("Write the wrong results, with the reasons.")
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="Only the first N examples.")
@click.option("--no-history", is_flag=True,
              help="chats: keep the assistant's replies from the router.")  # fmt: skip
@click.option("--rewriter", type=click.Choice(["rules", "rules-first", "model-first"]),
              help="rewrites: the rules write, or your model with them.")  # fmt: skip
@click.option("--train", type=click.Path(path_type=Path), metavar="FILE",
              help="intents: fit on these, instead of the workspace's prompts.")  # fmt: skip
@click.option("--shots", type=click.IntRange(min=1), metavar="K",
              help="intents: draw K examples of each intent from --train.")  # fmt: skip
@click.option("--seeds", type=click.IntRange(min=1), metavar="S",
              help="intents: how many draws; figures are their means.  [default: 5]")  # fmt: skip
@click.option("--embeddings", metavar="NAME",
              help="retrieval: search by meaning too: MODULE:CLASS of a langchain-core "
              "Embeddings, or 'minilm'.")  # fmt: skip
@click.option("--tune", is_flag=True,
              help="retrieval: search the weights on half of the queries for NDCG@5, and report "
              "the other half.")  # fmt: skip
@click.option("--write", is_flag=True,
              help="retrieval, with --tune: put the weights into the settings.")  # fmt: skip
@workspace_option
def evaluate(
    *, kind: str, file: Path, errors: Path | None, workspace: Workspace, **options: Any
) -> None:
    """Measure the router on the examples in FILE.

    KIND is chats (real ones: rewrites, intents, confidence, time), dialogues (every field of every
    turn), rewrites (exact, BLEU, ROUGE-1), intents (right ones, calibration, memory), multi
    (messages with several intents), retrieval (recall of past conversations) or follow-ups
    (questions about documents). Examples start with an empty context; nothing is written to the
    workspace.
    """
    for name, value in {"errors": errors, **options}.items():
        if value and kind not in OPTIONS.get(name, KINDS):
            only = ", ".join(OPTIONS[name])
            option = f"--{name.replace('_', '-')}"
            raise Refusal(f"{option} does not apply to {kind}", f"it is for {only}: leave it out")
    check_apart(errors, file)
    from kds.cli.evaluation.kinds import RUNNERS, Asked, Report

    report = RUNNERS[kind](Asked(file, workspace, **options))
    write_json_lines(errors, report.wrong)

    def show(report: Report = report) -> None:
        _show(kind, report.figures, report.baselines)
        for heads, rows in report.tables:
            if rows:
                click.echo()
                print_table(heads, rows)
        if report.text:
            click.echo(f"\n{report.text}")

    say(report.figures, show)


def _show(
    kind: str, figures: Mapping[str, object], baselines: Mapping[str, Mapping[str, object]]
) -> None:
    columns = (figures, *baselines.values())
    edits = [figures.get(f"edits_{outcome}", 0) for outcome in ("right", "wrong", "false")]
    counts = {**figures, "edits": sum(cast("list[int]", edits))}
    rows = [
        (label, *(_cell(one, key, form) for one in columns), of.format_map(counts))
        for key, (label, form, of) in LABELS[kind].items()
    ]
    rows += [
        (label, *(_cell(one, key, MS) for one in columns), "")
        for key, label in TIMES.items()
        if key in figures
    ]
    if any(row[-1] for row in rows):
        print_table(("measure", "KDS", *baselines, "of"), rows)
    else:
        print_table(("measure", "value", *baselines), [row[:-1] for row in rows])


def _cell(figures: Mapping[str, object], key: str, form: str) -> str:
    if key not in figures:
        return ""
    value = figures[key]
    return "-" if value is None else form.format(value)
