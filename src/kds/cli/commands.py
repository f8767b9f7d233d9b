"""The subcommands: where each is defined, its line in `kds --help`, the group it stands in."""

from typing import Final

from kds.cli.command import Sections

GROUPS: Final[Sections] = {
    "Begin here": {
        "route": ("talk.route:route", "Route MESSAGE: expand it, find its intent, pick the agent."),
        "init": ("setup.init:init", "Set KDS up in the coding assistants of a project."),
        "doctor": ("setup.doctor:doctor", "Check workspace, service, hook and client files."),
    },
    "Use": {
        "ask": ("talk.ask:ask", "Route MESSAGE, run its agent, print the answer."),
        "chat": ("talk.chat:chat", "Talk to the router: every turn shows what became of it."),
        "web": ("setup.service:web", "Open the page: chat, and a look at all that KDS knows."),
        "explain": ("talk.route:explain", "Route MESSAGE unlogged, and print every step's record."),
        "help": ("about.help:help_", "Explain a command, or print a page of the documentation."),
    },
    "Set up": {
        "status": ("about.status:status", "Show workspace, service, memory, model and hook."),
        "config": ("about.config:config", "Show settings and where they come from; change them."),
        "logs": ("about.logs:logs", "Show what the hook and the service wrote down."),
        "export": ("setup.export:export", "Write skills, prompt files, agents or a plugin."),
    },
    "Teach and test": {
        "agents": ("library.agents:agents", "List the agents; show what one does and takes."),
        "prompts": ("library.prompts:prompts", "List, show, begin and check the prompt files."),
        "rules": ("library.rules:rules", "List, begin and check the reference rules."),
        "intents": ("library.intent_lint:intents", "Check the examples that intents learn from."),
        "learn": ("learning.learn_group:learn", "Review what was learned from your corrections."),
        "test": ("evaluation.dialogue_tests:test", "Run dialogue files as tests."),
        "eval": ("evaluation.eval_command:evaluate", "Score the router on annotated data."),
        "metrics": ("metrics:metrics", "KDS's own numbers: recalls, turns, corrections."),
    },
    "Data": {
        "context": (
            "talk.context:context_group",
            "Load, log, clear or locate the conversation context.",
        ),
        "memory": (
            "memory.memory_group:memory",
            "Search, show and look after remembered sessions.",
        ),
        "docs": ("docs.docs_group:docs", "Add, search and show documents, with citations."),
        "db": ("database.db_group:database", "Make and examine a PostgreSQL database."),
        "forget": ("learning.forget:forget", "Forget what was learned here, after a backup."),
    },
    "Serve": {
        "service": ("setup.service:service", "Start, stop or look at the background service."),
        "serve": ("setup.serve:serve", "Keep a warm router, and answer on a socket or HTTP."),
        "team": ("setup.team:team", "Say who may use a service that people share."),
        "mcp": ("setup.mcp:mcp", "Serve the router to MCP clients."),
    },
}
"""Heading -> subcommand -> where it is defined in this room, loaded when it is called, and its
line in `kds --help`, which must not load them all."""

HIDDEN: Final = {"invoke": "talk.invoke:invoke"}
