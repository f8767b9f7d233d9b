"""Custom agents, `*.agent.md` of VS Code and Copilot, with handoffs from the front matter."""

from pathlib import PurePosixPath

from kds.brain.installation import kds_version
from kds.clients.generated import (
    MAX_DESCRIPTION,
    PREFIX,
    GeneratedFile,
    file_name,
    front_door,
    shortened,
    with_front_matter,
)
from kds.clients.mark import mark_comment, stamped
from kds.clients.placeholders import called_agents, render_static
from kds.router.prompts.library import PromptLibrary
from kds.router.prompts.promptfile import PromptFile


def agent_files(library: PromptLibrary) -> list[GeneratedFile]:
    """The front door, which hands over to every agent, and each agent with its own handoffs.

    Raises DispatchError when a prompt cannot be rendered.
    """
    agents = called_agents(library)
    files = [_agent(library, front_door(library), agents)]
    for agent in agents:
        targets = [target for target in map(library.for_intent, agent.handoffs) if target]
        files.append(_agent(library, agent, [t for t in targets if t in agents]))
    return files


def _agent(
    library: PromptLibrary, prompt: PromptFile, targets: "list[PromptFile] | tuple[PromptFile, ...]"
) -> GeneratedFile:
    fields = {
        "name": file_name(prompt),
        "description": shortened((prompt.description,), MAX_DESCRIPTION),
        **({"disable-model-invocation": True} if prompt.confirm else {}),
        **({"handoffs": [_handoff(target) for target in targets]} if targets else {}),
    }
    body = render_static(library, prompt, prefix=PREFIX)
    text = with_front_matter(fields, f"{body}\n\n{mark_comment(kds_version(), prompt.ref)}")
    return GeneratedFile(PurePosixPath(f"{file_name(prompt)}.agent.md"), stamped(text))


def _handoff(target: PromptFile) -> dict[str, object]:
    """A button below the answer. Nothing is sent before the user has read the message."""
    wish = target.ask or target.name.replace("-", " ")
    return {
        "label": f"{wish[0].upper()}{wish[1:]}",
        "agent": file_name(target),
        "prompt": f"Go on from here: {wish}.",
        "send": False,
    }
