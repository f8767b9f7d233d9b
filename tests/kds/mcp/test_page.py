"""The page about the MCP server names what the server has."""

import json
import re
from importlib.resources import files
from pathlib import Path

PAGE = Path(__file__).parents[3] / "docs" / "mcp.md"
_ROW = re.compile(r"^\| `(\w+)\(", re.MULTILINE)


def test_the_table_of_tools_is_the_list_of_the_server() -> None:
    greeting = json.loads(files("kds.mcp").joinpath("greeting.json").read_text(encoding="utf-8"))
    names = [tool["name"] for tool in greeting["tools"]["tools"]]
    told = PAGE.read_text(encoding="utf-8")
    assert sorted(_ROW.findall(told)) == sorted(names)
    assert f"{_COUNTS[len(names)]} tools" in told


_COUNTS = {8: "eight", 9: "nine", 10: "ten", 11: "eleven", 12: "twelve"}
