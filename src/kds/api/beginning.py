"""What `kds prompts new` and `kds rules new` begin with: it passes `check` as it is."""

import re
from pathlib import Path
from typing import Final

from kds.brain.errors import MessageError
from kds.brain.files import failure
from kds.brain.workspace import Workspace
from kds.router.prompts.library import PromptLibrary
from kds.router.references.ruleset import PACKAGED

_NAME: Final = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_LONGEST: Final = 64

_PROMPT: Final = """\
---
name: {name}
description: Takes messages about {words}.
intent: {intent}
ask: see to {words}
patterns:
  - {{literal: {words}, weight: 0.8}}
examples: [see to {words}]
inputs: [message, expanded]
---
# {title}

Asked for: {{{{ expanded }}}}
{{% if expanded != message %}}(written as: {{{{ message }}}}){{% endif %}}

Say here what the agent is to do, and what it is to hand back.
"""

_RULE: Final = """\
rules:
  - id: my.{name}
    description: '"the usual {words}" stands for what it names here'
    signal:
      kind: pattern
      cues: ['\\bthe usual {words}\\b']
    render: {{text: the {words} of this project}}
    tests:
      - {{in: Open the usual {words}, out: Open the {words} of this project}}
      - {{in: Open the settings page, out: unchanged}}
"""


def begin_prompt(workspace: Workspace, name: str) -> Path:
    """Write an agent of that name to begin with. Raises MessageError where there is one."""
    path = workspace.prompts_dir / "internal" / f"{checked_name(name)}.md"
    known = PromptLibrary.load(workspace.prompts_dir).prompts()
    if any(prompt.name == name for prompt in known):
        hint = f"look at it: kds prompts show {name}"
        raise MessageError(f"there is a prompt '{name}'", hint=hint)
    intent = name.replace("-", "_").upper()
    text = _PROMPT.format(
        name=name, intent=intent, words=_words(name), title=_words(name).capitalize()
    )
    return write_new(path, text)


def begin_rule(workspace: Workspace, name: str) -> Path:
    """Write a rule file of that name to begin with. Raises MessageError where there is one."""
    path = workspace.rules_dir / f"{checked_name(name)}.yaml"
    if (PACKAGED / path.name).exists():  # a file of that name would replace all of it
        raise MessageError(f"there is a packaged rule file '{name}'", hint="take another name")
    workspace.ensure()
    return write_new(path, _RULE.format(name=name, words=_words(name).removeprefix("usual ")))


def write_new(path: Path, text: str) -> Path:
    """Write a file that is not there yet, with its folder. Raises MessageError, and StoreError."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        hint = "take another name, or edit that file"
        raise MessageError(f"{path} is there already", hint=hint) from None
    except OSError as error:
        raise failure("write", path, error) from error
    return path


def checked_name(name: str) -> str:
    """A name that a file of the user's may have. Raises MessageError."""
    if _NAME.fullmatch(name) is None or len(name) > _LONGEST or not name[0].isalpha():
        hint = "lower case words joined by -: deploy-runner"
        raise MessageError(f"'{name}' can be no name", hint=hint)
    return name


def _words(name: str) -> str:
    return name.replace("-", " ")
