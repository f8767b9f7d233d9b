"""`kds memory export|import`: sessions as files."""

import shutil
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryFile
from typing import Final, TextIO

import click

from kds.api.session_names import all_sessions, find_session
from kds.brain.errors import StoreError
from kds.brain.private_file import replace_private
from kds.brain.sessions.memory_place import MemoryPlace
from kds.brain.sessions.portable import (
    archive,
    checksum,
    from_json,
    stream_json,
    to_json,
    to_markdown,
)
from kds.brain.sessions.session_values import Archive, Session
from kds.brain.workspace import Workspace
from kds.cli.command import asked_json, command
from kds.cli.completion import completed_by
from kds.cli.guard import Refusal
from kds.cli.memory.session_commands import print_sessions, session_dict
from kds.cli.options import STDIN, NamedPath, check_folder, common_options
from kds.cli.output import counted, say
from kds.cli.progress import tracked
from kds.cli.stores import changing, looking

SMALL_CHARS: Final = 1_000_000
"""A smaller export is read whole, which tells all that is wrong with it."""

JSON: Final = "json"
MARKDOWN: Final = "markdown"
_RULE: Final = "\n---\n\n"
"""Between two sessions in one Markdown file."""


@command(
    "kds memory export last --format markdown",
    "kds memory export 'Dark mode' --to dark-mode.json",
    "kds memory export --all --to memory.json",
)
@click.argument("names", metavar="[SESSION]...", nargs=-1, shell_complete=completed_by("sessions"))
@click.option("--all", "everything", is_flag=True, help="Every session.")
@click.option("--format", "form", type=click.Choice([JSON, MARKDOWN]), default=JSON,
              help="JSON to import again, or Markdown to read.  [default: json]")  # fmt: skip
@click.option("--to", "target", type=NamedPath(dir_okay=False), metavar="FILE",
              help="Write it there, readable by you alone.  [default: print it]")  # fmt: skip
@click.option("--force", is_flag=True, help="Replace FILE if it is there.")
@common_options
def export(
    *, names: tuple[str, ...], everything: bool, form: str, target: Path | None, force: bool,
    workspace: Workspace,
) -> None:  # fmt: skip
    """Write sessions as JSON or Markdown.

    With --to it says what was written; --json says it as JSON.
    """
    _check_export(names, target, form=form, everything=everything, force=force)
    with looking(MemoryPlace.of(workspace)) as store:
        chosen = all_sessions(store)[::-1] if everything and store else ()  # the oldest first
        chosen += tuple(find_session(store, name) for name in dict.fromkeys(names))
        told = tracked(chosen, "exporting") if store else ()
        archives = [archive(store, session.id) for session in told] if store else []
    text = to_json(archives) if form == JSON else _RULE.join(map(to_markdown, archives))
    if target is None:
        click.echo(text, nl=False)
        return
    replace_private(target, text.encode())
    _show_written(archives, target)


@command(
    "kds memory import memory.json",
    "kds memory export --all --workspace ~/shop | kds memory import -",
    name="import",
)
@click.argument("file", type=NamedPath(allow_dash=True))
@click.option("--skip-known", is_flag=True, help="Leave out sessions whose id is here already.")
@common_options
def import_(*, file: Path, skip_known: bool, workspace: Workspace) -> None:
    """Put exported sessions back, as they were; FILE is JSON, `-` reads it from a pipe.

    A session whose id is here already comes in beside it, as a copy with an id of its own. The
    whole file is examined before anything is stored.
    """
    where = "stdin" if str(file) == STDIN else str(file)
    with _opened(file) as text:
        ids = [one.session.id for one in _archives(text, where)]
        with changing(MemoryPlace.of(workspace)) as store:
            known = {one for one in ids if skip_known and store.find_session(one)}
            restored = [
                store.restore(found)
                for found in tracked(_archives(text, where), "importing", count=len(ids))
                if found.session.id not in known
            ]
            sums = checksum(archive(store, session.id) for session in restored)
    _show_imported(restored, sums)


def _check_export(
    names: tuple[str, ...], target: Path | None, *, form: str, everything: bool, force: bool
) -> None:
    """Refuse before the work what would fail, or do harm, after it."""
    if bool(names) == everything:
        raise Refusal("name the sessions to export", "SESSION..., or --all for every one")
    if target is None:
        if asked_json() and form != JSON:
            raise Refusal("--json does not go with Markdown on stdout", "add --to FILE")
        return
    check_folder(target)
    if target.exists() and not force:
        raise Refusal(f"'{target}' is there already", "name another one, or add --force")


@contextmanager
def _opened(file: Path) -> Iterator[TextIO]:
    """Open an export to be read twice; a pipe is copied to a file without a name first."""
    if str(file) == STDIN:
        if sys.stdin is None:
            raise Refusal("there is no input to read", "pipe an export in")
        with TemporaryFile("w+", encoding="utf-8") as text:
            shutil.copyfileobj(sys.stdin, text)
            yield text
        return
    hint = "check the file and its rights"
    try:
        text = file.open(encoding="utf-8-sig")
    except OSError as error:
        raise StoreError(f"cannot be read: {error.strerror}", where=str(file), hint=hint) from error
    with text:
        try:
            yield text
        except UnicodeDecodeError as error:
            raise StoreError("is not UTF-8 text", where=str(file), hint=hint) from error


def _archives(text: TextIO, where: str) -> Iterable[Archive]:
    """The sessions of an export: of a small one all at once, with each of its faults."""
    text.seek(0)
    head = text.read(SMALL_CHARS)
    if len(head) < SMALL_CHARS:
        return from_json(head, where=where)
    text.seek(0)
    return stream_json(text, where=where)


def _show_written(archives: list[Archive], target: Path) -> None:
    sessions = len(archives)
    messages = sum(len(found.messages) for found in archives)
    say(
        {
            "sessions": sessions,
            "messages": messages,
            "checksum": checksum(archives),
            "path": str(target),
        },
        f"{counted(sessions, 'session')}, {counted(messages, 'message')} in {target}, "
        f"checksum {checksum(archives)}",
    )


def _show_imported(sessions: list[Session], sums: str) -> None:
    messages = sum(session.message_count for session in sessions)
    counts = f"{counted(len(sessions), 'session')}, {counted(messages, 'message')}"
    told = f"imported {counts}, checksum {sums}"
    if sessions and not asked_json():
        print_sessions(sessions)
        told = f"\n{told}"
    say({"sessions": [session_dict(session) for session in sessions], "checksum": sums}, told)
