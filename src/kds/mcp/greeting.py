"""What `kds mcp` answers before the MCP package is loaded: `initialize`, then `tools/list`.

Loading that package takes over a second of CPU, and our own part half a second. What clients ask
first is always answered the same, so it is kept in ``greeting.json`` in the words of the server
itself: `kds.mcp.recording` writes it, and a test holds both equal.
"""

import json
from importlib.resources import files
from typing import Any, Final

from kds.brain.installation import kds_version

FILE: Final = "greeting.json"
Json = dict[str, Any]


class Greeting:
    """Answers the first requests of one client, where they are as every client writes them."""

    def __init__(self) -> None:
        text = files("kds.mcp").joinpath(FILE).read_text(encoding="utf-8")
        self._known: Json = json.loads(text)
        self.done = False
        """Whether `initialize` has been answered."""

    def answer(self, line: str) -> Json | None:
        """The answer to a line of the client; None when the server has to see to it."""
        request = _request(line)
        if request is None:
            return None
        results = {"initialize": self._agreed, "tools/list": self._tools}
        find = results.get(request["method"])
        result = find(request.get("params") or {}) if find else None
        return result and {"jsonrpc": "2.0", "id": request["id"], "result": result}

    def _agreed(self, params: Json) -> Json | None:
        version = params.get("protocolVersion")
        if self.done or version not in self._known["versions"] or not _introduces(params):
            return None
        self.done = True
        result: Json = self._known["initialize"]
        server = {**result["serverInfo"], "version": kds_version()}
        return {**result, "protocolVersion": version, "serverInfo": server}

    def _tools(self, params: Json) -> Json | None:
        if not self.done or params.keys() - {"_meta"}:  # a cursor, which we never gave
            return None
        tools: Json = self._known["tools"]
        return tools


def method_of(line: str) -> str | None:
    """The method of a request; None of anything else."""
    request = _request(line)
    return None if request is None else str(request["method"])


def _request(line: str) -> Json | None:
    """A line as a request with an id and a method; None when it is anything else."""
    try:
        data = json.loads(line)
        fits = isinstance(data["id"], int | str) and isinstance(data.get("params") or {}, dict)
        return data if fits and isinstance(data["method"], str) else None
    except (ValueError, RecursionError, LookupError, TypeError, AttributeError):
        return None


def _introduces(params: Json) -> bool:
    """Whether the client says who it is and what it can do, as the protocol wants it."""
    client = params.get("clientInfo")
    named = isinstance(client, dict) and all(
        isinstance(client.get(key), str) for key in ("name", "version")
    )
    return named and isinstance(params.get("capabilities"), dict)
