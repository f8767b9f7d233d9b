"""The history that a client sends along with a question: the contract, and its reference client.

Standard library only, so that an editor's plugin can take the modules as they are. The contract is
in docs/history-transit.md; `history.mjs` and `client.mjs` beside this file are the same in
JavaScript.
"""

from kds.transit.history import Message, transit
from kds.transit.reference_client import QueryClient, QueryError

__all__ = ["Message", "QueryClient", "QueryError", "transit"]
