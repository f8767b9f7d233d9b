"""What `kds init` prints about the files it writes, or would write."""

import difflib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import click

from kds.cli.output import print_line, print_lines, say
from kds.clients.apply import PlannedFile
from kds.clients.table import Client


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of the files of a project. ``chosen``: the clients, each with the reason."""

    folder: Path
    files: Sequence[PlannedFile]
    notes: Sequence[str]
    chosen: Sequence[tuple[Client, str]] = ()
    undo: bool = False
    dry_run: bool = False

    @property
    def changed(self) -> list[PlannedFile]:
        """The files that are not as they were."""
        return [file for file in self.files if file.changes]


def report(outcome: Outcome, *, full: bool) -> None:
    """Print what became of the files. ``full``: a dry run shows new generated files, too."""
    say(_as_dict(outcome, full=full), lambda: _print(outcome, full=full))


def _print(outcome: Outcome, *, full: bool) -> None:
    print_line("project", str(outcome.folder))
    if outcome.chosen:
        print_line("clients", ", ".join(f"{client} ({why})" for client, why in outcome.chosen))
    hidden = 0
    for file in outcome.changed if outcome.dry_run else ():
        if full or _worth_showing(file):
            click.echo(_diff(file), nl=False)
        else:
            hidden += 1
    print_lines(_grouped(outcome.changed))
    if hidden:
        print_line("", f"--full shows the text of {hidden} generated files")
    print_lines(("note", note) for note in outcome.notes)
    click.echo(_last_line(outcome))


def _as_dict(outcome: Outcome, *, full: bool) -> dict[str, object]:
    changed = outcome.changed
    return {
        "project": str(outcome.folder),
        "dry_run": outcome.dry_run,
        "clients": [{"client": client, "because": why} for client, why in outcome.chosen],
        "files": [_row(file, outcome, full=full) for file in changed],
        "unchanged": len(outcome.files) - len(changed),
        "notes": list(outcome.notes),
    }


def _row(file: PlannedFile, outcome: Outcome, *, full: bool) -> dict[str, str | None]:
    row: dict[str, str | None] = {"path": file.name, "change": _change(file)}
    if outcome.dry_run:
        row["diff"] = _diff(file) if full or _worth_showing(file) else None
    return row


def _last_line(outcome: Outcome) -> str:
    if not outcome.changed:
        nothing = "nothing to change: everything is as it should be"
        return "nothing to undo here" if outcome.undo else nothing
    if outcome.dry_run:
        return "a dry run: nothing was written"
    if outcome.undo:
        return "taken back; restart the assistants"
    return "restart the assistants; `kds doctor` checks the rest"


def _worth_showing(file: PlannedFile) -> bool:
    """New text of our own is long, and nobody wrote what is gone: its name will do."""
    return file.kind != "generated" or (file.before is not None and file.after is not None)


def _change(file: PlannedFile) -> str:
    return "remove" if file.after is None else "write"


def _grouped(files: Sequence[PlannedFile]) -> Iterator[tuple[str, str]]:
    """One line a file; the skills of one folder are one line."""
    skills: Counter[tuple[str, str]] = Counter()
    for file in files:
        if file.name.endswith("/SKILL.md"):
            skills[_change(file), str(PurePosixPath(file.name).parent.parent)] += 1
        else:
            yield _change(file), file.name
    for (change, folder), count in skills.items():
        yield change, f"{folder}/ ({'1 skill' if count == 1 else f'{count} skills'})"


def _diff(file: PlannedFile) -> str:
    old, new = ((text or "").splitlines(keepends=True) for text in (file.before, file.after))
    origin = "/dev/null" if file.before is None else f"a/{file.name}"
    target = "/dev/null" if file.after is None else f"b/{file.name}"
    lines = difflib.unified_diff(old, new, origin, target)
    return "".join(
        line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines
    )
