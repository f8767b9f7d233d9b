"""What the documentation names is there: commands, options, settings, variables, paths, modules."""

import ast
import importlib
import json
import re
import shlex
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

import anyio
import click
import pytest

from kds.brain.settings import Settings
from kds.brain.turn import Turn
from kds.brain.workspace import Workspace
from kds.cli.main import GROUPS, app
from kds.mcp.mcp_server import KdsServer
from kds.router.prompts.library import PromptLibrary

ROOT = Path(__file__).resolve().parent.parent
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
"""Not the decisions: they tell what was so when they were taken."""

SOURCES = ("src", "brain", "router", "agents")
FOLDERS = (*SOURCES, "tests", "benchmarks", "tools", "docs")

OF_A_READER = ("tests/dialogues/fab.yaml", "tools/list")
"""A file that a page has its reader write, and a method of MCP."""

SECTIONS = {
    name: set(field.annotation.model_fields)
    for name, field in Settings.model_fields.items()
    if field.annotation is not None and hasattr(field.annotation, "model_fields")
}
FILES = "db|md|json|sock|lock|token|log|starting"

_FENCE = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_SPAN = re.compile(r"`([^`\n]+)`")
_CALL = re.compile(r"""(?:^|[|(&;=] ?|\w=\S+ )kds ((?:'[^']*'|"[^"]*"|[^|>&;)#])*)""")
_NAME = re.compile(r"[a-z][a-z-]*")


def _codes(page: Path) -> Iterator[str]:
    """Every span of code, and every line of a shell block, continued ones put together."""
    text = page.read_text(encoding="utf-8")
    yield from _SPAN.findall(_FENCE.sub("", text))
    for language, code in _FENCE.findall(text):
        if language == "sh":
            yield from re.sub(r"<<'(\w+)'.*?^\1$", "", code, flags=re.M | re.S).splitlines()


def _calls(page: Path) -> Iterator[list[str]]:
    """The words of every call of `kds`, up to a pipe or the like."""
    for code in _codes(page):
        for call in _CALL.findall(code):
            try:
                yield shlex.split(call)
            except ValueError:  # a span that shows half a line
                yield call.split()


def _unknown(words: list[str]) -> str | None:
    """The first word of a call that is neither a command nor an option of it."""
    command: click.Command = app
    context = click.Context(app, **app.context_settings)
    for word in words:
        if word.startswith("--"):
            parameters = command.get_params(context)
            options = {name for one in parameters for name in (*one.opts, *one.secondary_opts)}
            if word.partition("=")[0] not in options:
                return f"{command.name} {word}"
        elif word.startswith("#"):
            return None
        elif isinstance(command, click.Group) and _NAME.fullmatch(word):
            found = command.get_command(context, word)
            if found is None:
                return word
            command, context = found, click.Context(found, parent=context)
    return None


@pytest.fixture(scope="module")
def sources() -> str:
    """All that the packages say, hints and docstrings too."""
    files = (path for folder in SOURCES for path in sorted((ROOT / folder).rglob("*.py")))
    return "\n".join(path.read_text(encoding="utf-8") for path in files)


def _importable(name: str) -> bool:
    """Whether a dotted name is a module, or something in one."""
    parts, found = name.split("."), None
    for count in range(1, len(parts) + 1):
        try:
            found = importlib.import_module(".".join(parts[:count]))
        except ImportError:
            return count > 1 and hasattr(found, parts[count - 1])
    return True


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_what_is_written_as_code_exists(page: Path, sources: str) -> None:
    assert [words for words in _calls(page) if _unknown(words)] == [], "commands and options"
    targets = (ROOT / "Makefile").read_text(encoding="utf-8")
    manifest = json.loads((ROOT / "editors/vscode/package.json").read_text(encoding="utf-8"))
    of_the_editor = manifest["contributes"]["configuration"]["properties"]
    settings = {f"{section}.{key}" for section, model in SECTIONS.items() for key in model}
    for code in _codes(page):
        for variable in re.findall(r"\bKDS_[A-Z_]*[A-Z]\b", code):
            assert variable in sources or variable == "KDS_TEST_CLIENTS", variable
        for target in re.findall(r"\bmake ([a-z][\w-]*)", code):
            assert re.search(rf"^{target}:", targets, re.MULTILINE), target
        for path in re.findall(rf"(?<![\w/.$-])((?:{'|'.join(FOLDERS)})/[\w./-]*\w)", code):
            assert (ROOT / path).exists() or path in OF_A_READER, path
        for name in re.findall(r"\bkds(?:\.\w+)+", code):
            files = (".json", ".plist", ".png", ".md", ".mdc", ".js")
            assert name.endswith(files) or name in of_the_editor or _importable(name), name
        if found := re.fullmatch(rf"((?:{'|'.join(SECTIONS)})\.(?!{FILES})\w+)(?:: .*)?", code):
            assert found[1] in settings, code


@pytest.mark.parametrize("folder", ["benchmarks", "tools"])
def test_what_the_programs_of_developers_import_exists(folder: str) -> None:
    for path in (ROOT / folder).glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("kds."):
                home = importlib.import_module(node.module or "")
                assert [one.name for one in node.names if not hasattr(home, one.name)] == [], path


def _between(page: str, start: str, end: str) -> str:
    return (ROOT / "docs" / page).read_text(encoding="utf-8").split(start)[1].split(end)[0]


def _first_cells(table: str) -> list[str]:
    rows = re.findall(r"^\| ([^|]+) \|", table, re.MULTILINE)
    return [name for row in rows for name in re.findall(r"(?:^|`)([\w]+)", row)]


def test_the_python_page_lists_the_fields_of_a_turn_in_their_order() -> None:
    listed = re.findall(r"`(\w+)`", _between("python.md", "Its fields,", "`turn.why`"))
    assert listed == [field.name for field in fields(Turn)]


def test_the_intents_page_lists_the_intents_that_ship() -> None:
    agents = {agent.intent for agent in PromptLibrary.load().agents()}
    cells = re.findall(r"^\| ([A-Z_, ]+) \|", _between("intents.md", "Fourteen ship", "## "), re.M)
    assert {*", ".join(cells).split(", ")} == agents
    assert len(agents) == 14


def test_the_page_of_mcp_lists_the_tools() -> None:
    server = KdsServer(Workspace.find(ROOT / "docs"))
    tools = [tool.name for tool in anyio.run(server.list_tools)]
    assert sorted(_first_cells(_between("mcp.md", "## Tools", "[The"))) == sorted([*tools, "tool"])


def test_pages_that_hints_docstrings_and_help_name_exist(sources: str) -> None:
    named = set(re.findall(r"\bdocs/[\w/-]+\.md", sources))
    assert len(named) > 10
    assert [name for name in sorted(named) if not (ROOT / name).is_file()] == []
    said = "\n".join(page.read_text(encoding="utf-8") for page in PAGES) + sources
    topics = set(re.findall(r"\bkds help ([a-z][a-z-]+)\b(?! [a-z])", said)) - {"topics"}
    pages = {page.stem for page in PAGES}
    assert [one for one in sorted(topics) if one not in pages.union(*GROUPS.values())] == []
