"""What `kds prompts new` and `kds rules new` begin with: it passes `check` as it is."""

import re
from pathlib import Path
from typing import Final

from kds.brain.workspace import Workspace
from kds.cli.guard import Refusal

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
    """Write an agent of that name to begin with. Raises Refusal where there is one."""
    path = workspace.prompts_dir / "internal" / f"{_checked(name)}.md"
    intent = name.replace("-", "_").upper()
    text = _PROMPT.format(
        name=name, intent=intent, words=_words(name), title=_words(name).capitalize()
    )
    return _written(path, text)


def begin_rule(workspace: Workspace, name: str) -> Path:
    """Write a rule file of that name to begin with. Raises Refusal where there is one."""
    workspace.ensure()
    path = workspace.rules_dir / f"{_checked(name)}.yaml"
    return _written(path, _RULE.format(name=name, words=_words(name).removeprefix("usual ")))


def _written(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise Refusal(f"{path} is there already", "take another name, or edit that file") from None
    return path


def _checked(name: str) -> str:
    if _NAME.fullmatch(name) is None or len(name) > _LONGEST or not name[0].isalpha():
        raise Refusal(f"'{name}' can be no name", "lower case words joined by -: deploy-runner")
    return name


def _words(name: str) -> str:
    return name.replace("-", " ")
