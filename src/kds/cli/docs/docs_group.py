"""`kds docs`: the documents of a workspace, to be searched and cited."""

from kds.cli.command import group
from kds.cli.docs.add import add
from kds.cli.docs.document_search import search
from kds.cli.docs.document_upkeep import check, embed, remove
from kds.cli.docs.show import list_, show


@group(
    "kds docs add handbook.md contracts/",
    "kds docs search 'What is the Determination Date?'",
    "kds docs show handbook.md",
    closing="More: kds help documents",
)
def docs() -> None:
    """Add, search, show and remove the documents of the workspace."""


for _command in (add, list_, show, search, remove, check, embed):
    docs.add_command(_command)
