"""`kds eval rewrites`: the reference resolver against rewrites that people wrote."""

from collections.abc import Iterable
from pathlib import Path
from typing import Final, cast

import click

from kds.api.rewriters import RewriterSource
from kds.api.workspace_parts import load_resolver
from kds.brain.workspace import Workspace
from kds.cli.command import command
from kds.cli.guard import Refusal
from kds.cli.options import (
    check_apart,
    errors_option,
    json_option,
    workspace_option,
)
from kds.cli.output import (
    decimal,
    percent,
    print_table,
    say,
    write_json_lines,
)
from kds.cli.progress import tracked
from kds.evaluation.examples import REWRITE_FORM, RewriteExample, read_rewrites
from kds.evaluation.rewrite_scoring import (
    RewriteScore,
    Rewritten,
    load_bleu,
    rewrite,
    score_rewrites,
)
from kds.evaluation.rewriting_figures import Rewrites
from kds.router.discourse.history import Utterance
from kds.router.prompts.library import PromptLibrary
from kds.router.references.resolver import Resolver
from kds.router.rewriting.writer import CheckedRewriter, Mode

_FORM_LINES: Final = REWRITE_FORM.replace(' "query"', '\n   "query"')
WARM_UP: Final = RewriteExample((Utterance("Add a warm-up lap"),), "Make it shorter", (), "")


@command(
    "kds eval rewrites follow-ups.jsonl",
    "kds eval rewrites follow-ups.jsonl --json",
    "kds eval rewrites follow-ups.jsonl --limit 200 --errors wrong.jsonl",
    "kds eval rewrites follow-ups.jsonl --rewriter model-first",
    closing=f"""A line of the file:
  {_FORM_LINES}""",
)
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="Only the first N lines.")
@json_option
@errors_option("Write what came out wrong, with the reasons.")
@click.option(
    "--rewriter",
    "mode",
    type=click.Choice(["rules", "rules-first", "model-first"]),
    default="rules",
    show_default=True,
    help="Who writes: the rules, or your model with them.",
)
@workspace_option
def rewrites(
    *,
    file: Path,
    limit: int | None,
    errors: Path | None,
    mode: str,
    workspace: Workspace,
) -> None:
    """Score the rewrites of FILE: exact, BLEU, ROUGE-1 recall, signals, time.

    Beside each figure stands what leaving every message as it is would score.
    """
    load_bleu()
    check_apart(errors, file)
    examples = read_rewrites(file, limit=limit)
    resolver = load_resolver(workspace)
    rewriter = None if mode == "rules" else _rewriter(workspace, resolver, cast("Mode", mode))
    # The first message of a process also loads the language side: not what a turn costs.
    rewrite(WARM_UP, resolver)
    rewritten = [rewrite(one, resolver, rewriter) for one in tracked(examples, "rewriting")]
    result = score_rewrites(rewritten)
    write_json_lines(errors, (_error_dict(one) for one in rewritten if not one.exact))
    say(result.as_dict(), lambda: print_table(("measure", "KDS", "copy", "turns"), _rows(result)))


def _rewriter(workspace: Workspace, resolver: Resolver, mode: Mode) -> CheckedRewriter:
    """The user's model. One that fails is asked again at once: each example has its chance."""
    library = PromptLibrary.load(workspace.prompts_dir)
    rewriter = RewriterSource(workspace, library, resolver, mode=mode, rest_s=0.0)()
    if rewriter is None:
        raise Refusal("no model is set up", "set KDS_MODEL, such as openai:gpt-5-mini")
    return rewriter


def _error_dict(one: Rewritten) -> dict[str, object]:
    """A line that `kds eval rewrites` can read again, with what went wrong."""
    return {
        "where": one.example.where,
        "history": [{"role": said.role, "content": said.text} for said in one.example.history],
        "query": one.example.query,
        "rewrite": list(one.example.rewrites),
        "actual": one.text,
        "needed": one.needed,
        "changed": one.changed,
        "why": list(one.notes),
    }


def _rows(score: RewriteScore) -> Iterable[tuple[str, str, str, str]]:
    turns, needed, kept = str(score.turns), str(score.needed), str(score.turns - score.needed)
    yield "exact", percent(score.exact), percent(score.copy.exact), turns
    yield "BLEU", decimal(score.bleu), decimal(score.copy.bleu), turns
    yield "ROUGE-1 recall", percent(score.rouge1_recall), "", turns
    yield "exact, where a rewrite was needed", percent(score.needed_exact), "0.0%", needed
    yield "BLEU, where a rewrite was needed", decimal(score.needed_bleu), "", needed
    yield "changed ones that needed it", percent(score.signal_precision), "-", ""
    yield "needed ones that were changed", percent(score.signal_recall), "0.0%", needed
    yield "kept turns changed wrongly", percent(score.false_rewrites), "0.0%", kept
    yield "CPU ms a turn, half below", decimal(score.ms_p50), "", turns
    yield "CPU ms a turn, 99 % below", decimal(score.ms_p99), "", turns
    if score.rewrites is not None:
        yield from _model_rows(score.rewrites)


def _model_rows(found: Rewrites) -> Iterable[tuple[str, str, str, str]]:
    count = str(found.count)
    yield "the model's, taken", percent(found.used / found.count), "", count
    yield "the model left the message as it is", percent(found.unchanged / found.count), "", count
    for check, times in found.rejected.items():
        yield f"turned down: {check}", percent(times / found.count), "", count
    for reason, times in found.failed.items():
        yield f"failed: {reason}", percent(times / found.count), "", count
    if found.ms is not None:
        yield "ms that a turn waited, half below", decimal(found.ms.p50), "", str(found.asked)
        yield "ms that a turn waited, 99 % below", decimal(found.ms.p99), "", str(found.asked)
