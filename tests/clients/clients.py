"""The clients, as programs: how each is started offline, and what its tools are called.

Each gets an environment of its own: a home and settings in a temporary folder, the fake model
as its only server, a made-up key. Nothing of the machine's own settings is seen.
"""

import json
import os
import subprocess
import sysconfig
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

from .dialects import Call
from .model_server import FakeModel

TIMEOUT_S = 120
"""For one run of a client, which takes 1 to 4 s on a quiet machine."""

KEY = "not-a-key"

ALLOWED_TOOLS = (
    "Bash(kds:*)",
    "mcp__plugin_kds_kds__route_message",
    "Skill(kds)",
    "Skill(kds:kds)",
)
"""What Claude Code asks its user about; without a terminal it takes a no for granted. It asks for
a skill too when the model opens one that names `allowed-tools`."""


@dataclass(frozen=True)
class Client(ABC):
    """A coding assistant, run without a terminal in ``project``."""

    npm: Path
    """The folder of the installed programs: `node_modules/.bin`."""
    state: Path
    """A folder for what the client writes: settings, sessions, caches."""
    project: Path
    model: FakeModel
    more: Mapping[str, str] = field(default_factory=dict)
    """Further variables of the environment."""

    name: ClassVar[str]
    mcp_tool: ClassVar[str]
    """What the client calls the tool `route_message` of the MCP server `kds`."""
    shell_tool: ClassVar[str]
    """What the client calls its tool for a command."""
    command_key: ClassVar[str] = "command"
    skill_tool: ClassVar[str]
    """What those that share files call their tool for a skill."""

    @abstractmethod
    def own_environ(self) -> Mapping[str, str]:
        """The variables that keep the client offline and to itself."""

    @abstractmethod
    def arguments(self, prompt: str, *, carry_on: bool) -> Sequence[str]:
        """The command line that hands over ``prompt``, in the newest session or a new one."""

    @abstractmethod
    def trust(self) -> None:
        """Let the client use what the project has for it."""

    def shell(self, command: str) -> Call:
        """A call of the client's shell."""
        return Call(self.shell_tool, {self.command_key: command, "description": "ask KDS"})

    def skill(self, name: str) -> Call:
        """A call of the tool that loads a skill."""
        return Call(self.skill_tool, {"skill": name})

    def environ(self) -> dict[str, str]:
        """All that the client sees of the environment."""
        runtime = os.environ.get("XDG_RUNTIME_DIR")  # where the hook finds the service
        commands = (str(self.npm), sysconfig.get_path("scripts"), os.defpath.lstrip(":"))
        return {
            "HOME": str(self.state / "home"),
            "PATH": os.pathsep.join(commands),
            "LANG": "C.UTF-8",
            "TERM": "dumb",
            **({"XDG_RUNTIME_DIR": runtime} if runtime else {}),
            **self.own_environ(),
            **self.more,
        }

    def ask(self, prompt: str, *options: str, carry_on: bool = False) -> str:
        """Run the client on ``prompt`` and return what it answers."""
        return self._done(*self.arguments(prompt, carry_on=carry_on), *options).stdout.strip()

    def attempt(self, prompt: str) -> None:
        """Run the client on ``prompt``, which may not be sent."""
        self._run(*self.arguments(prompt, carry_on=False))

    def errors(self, prompt: str) -> str:
        """Run the client on ``prompt`` and return what it writes to stderr."""
        return self._done(*self.arguments(prompt, carry_on=False)).stderr

    def _done(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run the client's program to its end, which must be a good one."""
        done = self._run(*arguments)
        assert done.returncode == 0, f"{done.args}:\n{done.stdout}{done.stderr}"
        return done

    def _run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        (self.state / "home").mkdir(parents=True, exist_ok=True)
        return subprocess.run(
            [str(self.npm / self.name), *arguments], cwd=self.project, env=self.environ(),
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=TIMEOUT_S,
        )  # fmt: skip


class Claude(Client):
    """Claude Code. Hooks of a project run without a question when there is no terminal."""

    name = "claude"
    mcp_tool = "mcp__kds__route_message"
    shell_tool, skill_tool = "Bash", "Skill"

    def own_environ(self) -> Mapping[str, str]:
        """Variables of Claude Code's settings reference; MCP servers are waited for."""
        return {
            "ANTHROPIC_BASE_URL": self.model.url,
            "ANTHROPIC_API_KEY": KEY,
            "CLAUDE_CONFIG_DIR": str(self.state / "claude"),
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
            "MCP_CONNECTION_NONBLOCKING": "false",
            "MCP_CONNECT_TIMEOUT_MS": "60000",  # 5 s else: too few on a busy machine
            "ENABLE_TOOL_SEARCH": "false",  # from 2.1.330 on the tools of servers wait behind it
        }

    def arguments(self, prompt: str, *, carry_on: bool) -> Sequence[str]:
        """Tools that somebody must allow are allowed: KDS's own, and its command."""
        allowed = ",".join((*ALLOWED_TOOLS, self.mcp_tool))
        return (*(["--continue"] if carry_on else []), "-p", prompt, "--allowedTools", allowed)

    def trust(self) -> None:
        """Nothing to do: what is tested here works in a folder that is not trusted."""


class Copilot(Client):
    """GitHub Copilot CLI. Hooks and MCP servers of a project want a folder that is trusted."""

    name = "copilot"
    mcp_tool = "kds-route_message"
    shell_tool, skill_tool = "bash", "skill"

    def own_environ(self) -> Mapping[str, str]:
        """Variables of `copilot help environment`."""
        return {
            "COPILOT_OFFLINE": "true",
            "COPILOT_AUTO_UPDATE": "false",
            "COPILOT_PROVIDER_BASE_URL": f"{self.model.url}/v1",
            "COPILOT_PROVIDER_API_KEY": KEY,
            "COPILOT_MODEL": "gpt-5.4",
            "COPILOT_HOME": str(self.state / "copilot"),
        }

    def arguments(self, prompt: str, *, carry_on: bool) -> Sequence[str]:
        """Not `--trust-folder`, which does not go together with `--continue`."""
        return (*(["--continue"] if carry_on else []), "-s", "--allow-all-tools", "-p", prompt)

    def trust(self) -> None:
        """Answer the question that it asks in a terminal, as it stores the answer itself."""
        config = self.state / "copilot" / "config.json"
        config.parent.mkdir(parents=True, exist_ok=True)
        config.write_text(json.dumps({"trustedFolders": [str(self.project)]}), encoding="utf-8")


class Codex(Client):
    """Codex. Hooks of a project want a folder that is trusted, and a person who looked at them."""

    name = "codex"
    mcp_tool = "mcp__kds.route_message"
    shell_tool, command_key = "exec_command", "cmd"

    def own_environ(self) -> Mapping[str, str]:
        """The folder of its settings, and the key that they name."""
        return {"CODEX_HOME": str(self.state / "codex"), "FAKE_KEY": KEY}

    def arguments(self, prompt: str, *, carry_on: bool) -> Sequence[str]:
        """Nobody is there to look at a hook, or to allow a tool."""
        newest = ["resume", "--last"] if carry_on else []
        unasked = ("--dangerously-bypass-hook-trust", "--dangerously-bypass-approvals-and-sandbox")
        return ("exec", *newest, *unasked, prompt)

    def trust(self) -> None:
        """The fake model as a provider, and the answer to the question about the folder."""
        config = self.state / "codex" / "config.toml"
        config.parent.mkdir(parents=True, exist_ok=True)
        provider = {"name": "fake", "base_url": f"{self.model.url}/v1", "wire_api": "responses",
                    "env_key": "FAKE_KEY"}  # fmt: skip
        lines = ['model = "gpt-5.4"', 'model_provider = "fake"', "[model_providers.fake]"]
        lines += [f"{key} = {json.dumps(value)}" for key, value in provider.items()]
        lines += [f"[projects.{json.dumps(str(self.project))}]", 'trust_level = "trusted"', ""]
        config.write_text("\n".join(lines), encoding="utf-8")


class Gemini(Client):
    """Gemini CLI. Without a terminal it starts in a trusted folder only."""

    name = "gemini"
    mcp_tool = "mcp_kds_route_message"
    shell_tool = "run_shell_command"

    def own_environ(self) -> Mapping[str, str]:
        """Variables of its configuration reference."""
        return {"GEMINI_API_KEY": KEY, "GOOGLE_GEMINI_BASE_URL": self.model.url}

    def arguments(self, prompt: str, *, carry_on: bool) -> Sequence[str]:
        """It offers tools that somebody must allow to nobody else."""
        newest = ["--resume", "latest"] if carry_on else []
        return (*newest, "-m", "gemini-2.5-flash", "--yolo", "-p", prompt)

    def trust(self) -> None:
        """What it writes when it has asked for the kind of login, and about the folder."""
        home = self.state / "home" / ".gemini"
        home.mkdir(parents=True, exist_ok=True)
        settings = {
            "security": {"auth": {"selectedType": "gemini-api-key"}},
            "privacy": {"usageStatisticsEnabled": False},
            "general": {"enableAutoUpdate": False},
        }
        trusted = {str(self.project): "TRUST_FOLDER"}
        for name, value in (("settings", settings), ("trustedFolders", trusted)):
            (home / f"{name}.json").write_text(json.dumps(value), encoding="utf-8")


class Opencode(Client):
    """opencode. It puts packages of its own into `.opencode`, which the tests keep it from."""

    name = "opencode"
    mcp_tool = "kds_route_message"
    shell_tool = "bash"

    def own_environ(self) -> Mapping[str, str]:
        """The fake model as a provider, and no registry to fetch packages from."""
        return {
            "OPENCODE_CONFIG": str(self.state / "opencode.json"),
            "OPENCODE_DISABLE_AUTOUPDATE": "1",
            "OPENCODE_DISABLE_MODELS_FETCH": "1",
            "npm_config_registry": "http://127.0.0.1:9/",
            "npm_config_fetch_retries": "0",
        }

    def arguments(self, prompt: str, *, carry_on: bool) -> Sequence[str]:
        """A word each: it would put one argument with spaces in quotes."""
        return ("run", *(["--continue"] if carry_on else []), *prompt.split(" "))

    def trust(self) -> None:
        """There is nothing to trust; its settings name the model."""
        model = {"name": "fake", "tool_call": True, "limit": {"context": 100_000, "output": 4_000}}
        provider = {
            "npm": "@ai-sdk/openai-compatible",
            "name": "fake",
            "options": {"baseURL": f"{self.model.url}/v1", "apiKey": KEY},
            "models": {"fake": model},
        }
        self.state.mkdir(parents=True, exist_ok=True)
        settings = {"provider": {"fake": provider}, "model": "fake/fake"}
        (self.state / "opencode.json").write_text(json.dumps(settings), encoding="utf-8")


CLIENTS: Mapping[str, type[Client]] = {
    each.name: each for each in (Claude, Copilot, Codex, Gemini, Opencode)
}

SHARING = (Claude.name, Copilot.name)
"""Those that share files: one reads what is written for the other."""
