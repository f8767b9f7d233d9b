"""`kds doctor`: is everything in order, and what to do where it is not."""

from collections.abc import Sequence

import click

from kds.brain.workspace import Workspace
from kds.cli.command import asked_json, command
from kds.cli.guard import TESTS_FAILED
from kds.cli.options import common_options
from kds.cli.output import print_line, say
from kds.cli.progress import slow
from kds.clients.doctor import workspacehealth
from kds.clients.doctor.diagnosis import findings_of
from kds.clients.doctor.finding import Finding, is_well
from kds.clients.project import Project


@command("kds doctor", "kds doctor --json", "kds doctor --fix")
@click.option("--fix", is_flag=True, help="Take away the rights that others have to kds-brain, "
              "and have git leave it out.")  # fmt: skip
@common_options
def doctor(*, fix: bool, workspace: Workspace) -> int:
    """Check workspace, service, hook and client files; exit code 1 when there is a problem.

    The hook is run as the assistants run it, with a message that is not remembered.
    """
    project = Project.of(workspace)
    if fix:
        changed = workspacehealth.make_private(project.workspace)
        if changed and not asked_json():
            click.echo(f"took the rights of others from {changed} files and folders")
        if workspacehealth.leave_out(project.workspace) and not asked_json():
            click.echo(f"added rules to {project.workspace.brain / '.gitignore'}")
    with slow("looking at workspace, service, hook and clients"):
        findings = list(findings_of(project))
    well = is_well(findings)
    say({"well": well, "findings": findings}, lambda: _show(findings, well=well))
    return 0 if well else TESTS_FAILED


def _show(findings: Sequence[Finding], *, well: bool) -> None:
    for finding in findings:
        print_line(finding.mark, f"{finding.check}: {finding.found}", tone=finding.mark)
        if finding.fix:
            print_line("", f"  do: {finding.fix}")
    problems = sum(finding.mark == "problem" for finding in findings)
    click.echo("all is well" if well else f"{problems} to put right")
