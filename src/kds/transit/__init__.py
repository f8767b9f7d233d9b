"""The history that a client sends along with a question: the contract, and its reference client.

Standard library only, so that an editor's plugin can take the modules as they are. The contract is
in docs/history-transit.md; `history.mjs` and `client.mjs` beside this file are the same in
JavaScript.
"""

from kds.transit.client import Answer, QueryClient, QueryError
from kds.transit.history import Message, transit

__all__ = ["Answer", "Message", "QueryClient", "QueryError", "transit"]
