"""What a prompt file says is read; what can be wrong with it: faults.yaml."""

from pathlib import Path

import yaml

from kds.router.prompts.promptfile import ContextShift, PromptFile, read_prompt

FAULTS = Path(__file__).parents[1] / "faults.yaml"
GOOD: str = yaml.safe_load(FAULTS.read_text("utf-8"))["sound"]["prompt"]

TRAITS = """\
context:
  - {when: question, after: [TEST, ASK], shift: 0.7}
  - {when: first, shift: -1}
absorbs: [ASK]
starts_session: true
corrects: true
only_looks: true
tools: [run_tests, search_memory]
output: {type: object, properties: {branch: {type: string}}}
"""


def parsed(text: str) -> PromptFile:
    draft = read_prompt(text, path=Path("a.md"), ref="prompts/internal/committer.md")
    assert draft.prompt is not None, draft.problems
    return draft.prompt


def test_a_prompt_file_is_read_in_full() -> None:
    prompt = parsed(GOOD)
    assert (prompt.name, prompt.intent, prompt.priority) == ("committer", "COMMIT", 30)
    assert [pattern.weight for pattern in prompt.patterns] == [0.8, 0.9]
    assert [pattern.exact for pattern in prompt.patterns] == [False, True]
    assert prompt.patterns[1].where == "prompts/internal/committer.md:8"
    assert [pattern.source for pattern in prompt.excludes] == ["commit message"]
    assert prompt.inputs == ("message",)
    assert (prompt.confirm, prompt.handoffs, prompt.ask) == (True, ("TEST",), "commit the work")
    assert (prompt.context, prompt.absorbs, prompt.tools) == ((), (), ())
    assert (prompt.starts_session, prompt.corrects, prompt.only_looks) == (False, False, False)
    assert prompt.body_line == 18
    assert prompt.body.startswith("# Commit")


def test_what_follows_from_an_intent_is_read_from_its_file() -> None:
    prompt = parsed(GOOD.replace("confirm: true\n", TRAITS))
    assert prompt.context == (
        ContextShift(when="question", after=["TEST", "ASK"], shift=0.7),
        ContextShift(when="first", shift=-1.0),
    )
    assert (prompt.absorbs, prompt.tools) == (("ASK",), ("run_tests", "search_memory"))
    assert (prompt.starts_session, prompt.corrects, prompt.only_looks) == (True, True, True)
    assert prompt.output == {"type": "object", "properties": {"branch": {"type": "string"}}}
