"""`kds db`: the server that keeps conversations for many people and services."""

from kds.cli.command import group
from kds.cli.database.database_upkeep import check, stats, upgrade
from kds.cli.database.migrate import migrate


@group(
    "kds db upgrade",
    "kds db check --json",
    "kds db migrate --from sqlite",
    closing="""KDS_DATABASE names the server, or `database.url` in your own settings.
More: kds help operations""",
)
def database() -> None:
    """Make, examine and fill the PostgreSQL database that you named."""


for _command in (upgrade, check, stats, migrate):
    database.add_command(_command)
