"""`kds learn` and `kds forget`: teaching KDS, taking it back, and forgetting all of it."""

from dataclasses import asdict
from typing import Any

import click

from kds.brain.learning.examples import Learned, LearnedExample, LearnedReference
from kds.brain.workspace import Workspace
from kds.cli import base
from kds.cli.guard import Refusal, pass_on
from kds.cli.output import fields, say
from kds.cli.terminal import slow
from kds.forget import KINDS, restore, survey
from kds.forget import forget as forget_all
from kds.learning import teaching
from kds.learning.teaching import LearnedSoFar, Learning, Taught, offer
from kds.service.service_client import team_of


@base.group(
    "kds learn teach 'give the dashboard some love' PLAN", closing="More: kds help learning"
)
def learn() -> None:
    """Teach KDS what you mean, see what it has learned, and take it back."""


@base.command("kds learn list", of=learn, name="list")
def list_(*, workspace: Workspace) -> None:
    """List what is learned, and what you corrected in passing and have not taught."""
    team = team_of(workspace)
    found = team.call("learning.list", LearnedSoFar) if team else Learning(workspace).so_far()
    learned: list[Learned] = [*found.examples, *found.references]
    corrected = [fields(one, "text intent was at") for one in found.corrections]
    off = "off: nothing is recorded, and nothing learned is used"
    pass_on(found.warnings)
    say(
        fields(found, "enabled examples references")
        | {"corrections": corrected, "file": found.place},
        None if found.enabled else ("learning", off),
        None if learned or found.corrections else "nothing was learned yet",
        [(one.id, f"{one.told}, by {one.by}") for one in learned],
        [("corrected", offer(one)) for one in found.corrections],
    )


@base.command(
    "kds learn teach 'ship it' COMMIT",
    "kds learn teach 'the button' --means 'FAB button'",
    of=learn,
    message=True,
)
@click.argument("message")
@click.argument("intent", required=False)
@base.option("--means THING", "In place of INTENT: what the description MESSAGE refers to.")
@base.flag("--force", "Replace what you taught MESSAGE to mean before.")
def teach(
    *, message: str, intent: str | None, means: str | None, force: bool, workspace: Workspace
) -> None:
    """Teach that MESSAGE has INTENT, or that a description means a THING.

    It overrides what ships, and applies to similar messages. Refused if you taught MESSAGE with
    another intent before. Secrets are replaced by marks before anything is stored.

    A description ('the button') counts in conversations that have mentioned the thing.
    """
    if (team := team_of(workspace)) is not None:
        asked = {"message": message, "intent": intent, "means": means, "force": force}
        done = team.call("learning.teach", Taught, **asked)
    else:
        done = teaching.teach(workspace, message, intent, means=means, force=force)
    pass_on(done.warnings)
    undo, what = f"kds learn undo {done.learned.id}", "learned" if done.new else "learned before"
    instead = f", no longer {done.instead_of}" if done.instead_of else ""
    say(
        asdict(done.learned) | fields(done, "new redacted instead_of") | {"undo": undo},
        f"{what}: {done.learned.told}{instead}; {undo} takes it back",
        "the secret in it is not kept" if done.redacted else None,
    )


@base.command("kds learn undo 76b5b4ec", of=learn)
@click.argument("ids", nargs=-1, metavar="[ID...]")
@base.flag("--last", "Take back what was taught last.")
def undo(*, ids: tuple[str, ...], last: bool, workspace: Workspace) -> None:
    """Take back what was learned; everything else in the file stays."""
    if bool(ids) == last:
        raise Refusal("name what to take back", "kds learn undo ID, or kds learn undo --last")
    taken: list[Learned] = []
    if (team := team_of(workspace)) is not None:
        for one in ids or ("last",):
            told = team.call("learning.undo", dict[str, Any], id=one)
            taken.append((LearnedExample if "intent" in told else LearnedReference)(**told))
    else:
        learning = Learning(workspace)
        taken += [learning.undo_last()] if last else map(learning.undo, ids)
    say({"undone": taken}, [f"taken back: {one.told}" for one in taken])


@base.command(
    "kds forget --keep documents --keep cache", "kds forget --yes", "kds forget --restore",
    closing="More: kds help learning",
)  # fmt: skip
@base.yes_option
@base.choice("--keep", [*KINDS], "Keep this kind; may be given several times.", multiple=True)
@base.option("--restore [BACKUP]", "Bring back this backup, or the newest.",
             to="backup", is_flag=False, flag_value="")  # fmt: skip
def forget(*, yes: bool, keep: tuple[str, ...], backup: str | None, workspace: Workspace) -> None:
    """Forget what was learned about this application, after a backup in kds-brain/backups.

    Conversations, memory and profile, taught examples, documents, work in progress and caches are
    deleted. Prompts, rules and settings stay. Delete the backup too when nothing should be left.
    """
    if backup is not None:
        with slow("restoring"):
            path, files = restore(workspace, backup or None)
        told = f"restored from {path.name}: {', '.join(files)}"
        say({"backup": path, "files": files}, told)
        return
    found = survey(workspace, keep=keep)
    if not yes or not found.files:
        parts = {"to be forgotten, after a backup:": found.items, "stays:": found.stays,
                 "links, which stay:": found.links}  # fmt: skip
        lines = [[head, *(f"  {one}" for one in rows)] for head, rows in parts.items() if rows]
        none = f"nothing is remembered here: {workspace.brain}"
        say(found, [lines, "\nto do it: kds forget --yes"] if found.files else none)
        return
    with slow("making a backup, then forgetting"):
        report = forget_all(workspace, keep=keep)
    items = [f"  {item}" for item in report.forgotten.items]
    bring_back = "to bring it back: kds forget --restore"
    say(report, "forgotten:", items, f"backup: {report.backup}", bring_back)
