"""`kds memory`: the conversation memory of a workspace."""

from kds.cli.command import group
from kds.cli.memory.memory_search import search
from kds.cli.memory.memory_upkeep import backfill, check, rebuild, stats
from kds.cli.memory.profile import consent, profile
from kds.cli.memory.session_commands import cleanup, delete, new, rename, show
from kds.cli.memory.transfer import export, import_


@group(
    "kds memory show",
    "kds memory search 'which port does staging use'",
    "kds memory export last --format markdown",
    closing="More: kds help memory-cli",
)
def memory() -> None:
    """Search, show, export and look after the sessions that are remembered."""


for _command in (
    search,
    show,
    new,
    rename,
    delete,
    export,
    import_,
    cleanup,
    stats,
    check,
    rebuild,
    backfill,
    profile,
    consent,
):
    memory.add_command(_command)
