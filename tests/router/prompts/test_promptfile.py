from pathlib import Path

from kds.brain.errors import Problem
from kds.router.prompts.promptfile import DEFAULT_PRIORITY, ContextShift, PromptFile, read_prompt

GOOD = """\
---
name: committer
description: Commits the work.
intent: COMMIT
priority: 30
patterns:
  - {regex: "\\\\bcommit\\\\b", weight: 0.8}
  - {literal: check in, weight: 0.9, exact: true}
not:
  - {literal: commit message}
examples: [commit this]
counter_examples: ["what is a commit?"]
inputs: [message]
confirm: true
handoffs: [TEST]
ask: commit the work
---
# Commit

{{ message }}
"""


def parsed(text: str, name: str = "committer.md") -> PromptFile | tuple[Problem, ...]:
    draft = read_prompt(text, path=Path(name), ref=f"prompts/internal/{name}")
    return draft.prompt if draft.prompt and not draft.problems else draft.problems


def messages(text: str) -> list[str]:
    found = parsed(text)
    assert isinstance(found, tuple), "expected problems"
    return [f"{problem.where} {problem.message}" for problem in found]


def test_a_prompt_file_is_read_in_full() -> None:
    prompt = parsed(GOOD)
    assert isinstance(prompt, PromptFile)
    assert (prompt.name, prompt.intent, prompt.priority) == ("committer", "COMMIT", 30)
    assert [pattern.weight for pattern in prompt.patterns] == [0.8, 0.9]
    assert [pattern.exact for pattern in prompt.patterns] == [False, True]
    assert prompt.patterns[1].where == "prompts/internal/committer.md:8"
    assert [pattern.source for pattern in prompt.excludes] == ["commit message"]
    assert prompt.inputs == ("message",)
    assert (prompt.confirm, prompt.handoffs, prompt.ask) == (True, ("TEST",), "commit the work")
    assert prompt.body_line == 18
    assert prompt.body.startswith("# Commit")


def test_a_prompt_without_an_intent_is_not_an_agent() -> None:
    prompt = parsed("---\nname: committer\ndescription: d\n---\nHello\n")
    assert isinstance(prompt, PromptFile)
    assert (prompt.intent, prompt.priority) == (None, DEFAULT_PRIORITY)


def test_missing_front_matter_is_said() -> None:
    assert messages("# Just text\n") == ["committer.md:1 has no front matter"]
    assert messages("---\nname: committer\n") == ["committer.md:1 has no front matter"]
    assert messages("") == ["committer.md:1 has no front matter"]


def test_all_problems_of_the_schema_come_at_once() -> None:
    text = (
        GOOD.replace("intent: COMMIT", "intent: commit")
        .replace("weight: 0.8", "weight: 0")
        .replace("confirm: true", "confirm: maybe")
        .replace("priority: 30", "prio: 30")
        .replace("# Commit\n\n{{ message }}\n", "  \n")
    )
    assert messages(text) == [
        "committer.md:4 'intent' must match ^[A-Z][A-Z0-9_]*$, not 'commit'",
        "committer.md:5 unknown key 'prio'",
        "committer.md:7 'weight' (in patterns, item 1) must be above 0.0, not 0",
        "committer.md:14 'confirm' must be true or false, not 'maybe'",
        "committer.md:18 has an empty body",
    ]


def test_patterns_need_an_intent() -> None:
    text = GOOD.replace("intent: COMMIT\n", "")
    assert messages(text) == [
        "committer.md:5 has 'patterns' and no intent",
        "committer.md:8 has 'not' and no intent",
    ]


def test_what_an_intent_needs_is_read_and_held_to_the_rules_of_patterns() -> None:
    def with_needs(entry: str) -> str:
        return GOOD.replace("inputs: [message]", f"needs:\n  - {entry}\ninputs: [message]")

    found = parsed(with_needs("{literal: the repo}"))
    assert isinstance(found, PromptFile)
    assert [one.source for one in found.needs] == ["the repo"]
    assert messages(with_needs("{regex: '(', exact: 3}"))
    assert messages(with_needs("{literal: a, weight: 0.5}"))
    assert "committer.md:12 has 'needs' and no intent" in messages(
        with_needs("{literal: a}").replace("intent: COMMIT\n", "")
    )


def test_faults_of_the_front_matter_are_told_together() -> None:
    text = (
        GOOD.replace("priority: 30", "priority: high")
        .replace('regex: "\\\\bcommit\\\\b", weight: 0.8', 'regex: "(a", weight: 2')
        .replace("{literal: commit message}", "{exact: true, colour: red}")
        .replace("inputs: [message]", "inputs: [message, message, 5]")
    )
    found = sorted(messages(text), key=lambda line: int(line.split(":")[1].split()[0]))
    assert [line.split(" ", 1)[1][:40] for line in found] == [
        "'priority' must be a whole number, not '",
        "'weight' (in patterns, item 1) must be 1",
        "unknown key 'colour' (in not, item 1)",
        "item 3 (in inputs) must be text, not 5",
    ]


STRUCTURED = """\
---
name: committer
description: Commits the work.
intent: COMMIT
tools: [{tools}]
output:
  type: object
  properties:
    branch: {branch}
  required: [branch]
---
Commit.
"""


def test_tools_and_output_are_read() -> None:
    prompt = parsed(STRUCTURED.format(tools="run_tests, search_memory", branch="{type: string}"))
    assert isinstance(prompt, PromptFile)
    assert prompt.tools == ("run_tests", "search_memory")
    assert prompt.output == {
        "type": "object",
        "properties": {"branch": {"type": "string"}},
        "required": ["branch"],
    }


TRAITS = """\
context:
  - {when: question, after: [TEST, ASK], shift: 0.7}
  - {when: first, shift: -1}
absorbs: [ASK]
starts_session: true
corrects: true
only_looks: true
"""


def test_what_follows_from_an_intent_is_read_from_its_file() -> None:
    prompt = parsed(GOOD.replace("confirm: true\n", TRAITS))
    assert isinstance(prompt, PromptFile)
    assert prompt.context == (
        ContextShift(when="question", after=["TEST", "ASK"], shift=0.7),
        ContextShift(when="first", shift=-1.0),
    )
    assert prompt.absorbs == ("ASK",)
    assert (prompt.starts_session, prompt.corrects, prompt.only_looks) == (True, True, True)
    plain = parsed(GOOD)
    assert isinstance(plain, PromptFile)
    assert (plain.context, plain.absorbs) == ((), ())
    assert (plain.starts_session, plain.corrects, plain.only_looks) == (False, False, False)


def test_wrong_context_and_absorbs_are_told_with_their_lines() -> None:
    wrong = TRAITS.replace("question", "questoin").replace("shift: -1}", "shift: -11, affter: []}")
    found = parsed(GOOD.replace("confirm: true\n", wrong.replace("true", "maybe", 1)))
    assert isinstance(found, tuple)
    assert [(problem.where, problem.message, problem.hint) for problem in found] == [
        (
            "committer.md:15",
            "'when' (in context, item 1) must be 'first', 'question', 'reference', 'addition' or "
            "'image', "
            "not 'questoin'",
            "did you mean 'question'?",
        ),
        (
            "committer.md:16",
            "'shift' (in context, item 2) must be -10.0 or more, not -11",
            "correct the number",
        ),
        ("committer.md:16", "unknown key 'affter' (in context, item 2)", "did you mean 'after'?"),
        (
            "committer.md:18",
            "'starts_session' must be true or false, not 'maybe'",
            "write true or false, without quotes",
        ),
    ]


def test_what_can_never_say_anything_is_told() -> None:
    idle = "context:\n  - {when: first, after: [TEST], shift: 1}\n  - {when: image, shift: 0}\n"
    text = GOOD.replace("confirm: true\n", f"{idle}absorbs: [TEST, TEST, COMMIT]\n")
    assert messages(text) == [
        "committer.md:17 absorbs names 'TEST' twice",
        "committer.md:15 'when: first' with 'after': no message comes before the first",
        "committer.md:16 a 'shift' of 0 changes nothing",
        "committer.md:17 absorbs its own intent",
    ]


def test_a_backspace_in_a_pattern_is_a_backslash_in_the_wrong_quotes() -> None:
    found = parsed(GOOD.replace('"\\\\bcommit\\\\b"', '"\\bcommit\\b"'))
    assert isinstance(found, tuple)
    assert [(one.where, one.message) for one in found] == [
        ("committer.md:7", "a pattern has the control character '\\x08'"),
    ]
    assert found[0].hint.startswith("put it in single quotes")
