"""What KDS itself asks the user's chat model, by prompt files: to rewrite messages, to summarize
conversations, to hand a session over; and how a prompt quotes what is stored, so that nothing in it
poses as the prompt."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from kds.agents.models import LazyModel, model_error, model_secrets
from kds.brain.memory.memory import PromptMemory
from kds.brain.memory.shortening import mark_code, shorten
from kds.brain.memory.summarizer import LABELS, Summarizer
from kds.brain.message import one_line
from kds.brain.passages.values import Message
from kds.brain.turn import Utterance
from kds.router.prompts.library import PromptLibrary
from kds.router.rewriting.checks import OUTPUT_TOKENS

if TYPE_CHECKING:  # LangChain stands at the edge (decision 4): it comes with a model
    from langchain_core.language_models import BaseChatModel

REWRITER: Final = "query-rewriter"
SUMMARIZER: Final = "conversation-summarizer"
HANDOFF: Final = "handoff-writer"
MEMORY: Final = "memory-found"
"""The prompt files; the last says what an agent is told of the memory."""

SAID_CHARS: Final = 600
"""Characters of one earlier message that a rewriter reads: what a follow-up points to is said in
few words, and six messages of this length are some 900 tokens."""

THINKING_TOKENS: Final = 1_024
"""More output for models that think before they write: their thoughts count as output."""

MESSAGE_CHARS: Final = 4000
"""Characters of one message that a summarizer reads; what it misses of a longer one is added from
the facts that `kds.brain.memory.summarizer` finds lacking."""

LEAST_CHARS: Final = 80
PROMPT_CHARS: Final = 120_000
"""Characters of all messages together, some 30,000 tokens: an imported session can be any size."""

SUMMARY_WORDS: Final = 120
"""Words that the model is asked for: what it leaves out has room behind them."""

BRIEF_WORDS: Final = 450
"""Words that a brief is asked for: with the lists of files and commands it has 1,500 tokens."""

PASSAGE_CHARS: Final = 2000
"""Characters of one passage that a model reads: a chunk has 500 tokens at most."""

CITATION_CHARS: Final = 400
"""Characters of a citation that a model reads: a heading may be as long as its document."""

_LIMITS: Final = ("max_tokens", "num_predict", "max_output_tokens")
"""How LangChain's integrations call the bound on the output."""

_SPEAKERS: Final = {"user": "User", "assistant": "Assistant"}
_THOUGHTS: Final = re.compile(r"\A\s*<think>.*?</think>\s*", re.DOTALL)

_FRAME: Final = re.compile(r"<(?=\W*(?:passages|memory|profile)\b)", re.IGNORECASE)
"""The tags that frame quotations, which a quotation could close."""

_NUMBER: Final = re.compile(r"\[(\s*\d+\s*)\]")
"""What a passage begins with, which a heading could hold."""


def _written(
    model: LazyModel,
    library: PromptLibrary,
    name: str,
    values: Mapping[str, object],
    fit: Callable[[BaseChatModel], BaseChatModel] = lambda model: model,
) -> str:
    """What the model writes to the prompt file ``name``, without its thoughts; "" without a model.

    Takes as long as the model does. Raises ModelError, DispatchError when the prompt fails.
    """
    prompt, loaded = library.render(library.get(name), values), model.load()
    if loaded is None:
        return ""
    try:
        answer = fit(loaded).invoke(prompt, {"run_name": name, "tags": ["kds", name]})
    except Exception as error:  # whatever a provider's client raises
        raise model_error(error, model.name, secrets=model_secrets(loaded)) from error
    return _THOUGHTS.sub("", str(answer.text)).strip()


def rewriter_of(
    model: LazyModel, library: PromptLibrary
) -> Callable[[Sequence[Utterance], str, str], str]:
    """Return what asks ``model`` for a self-contained message: of the messages before, the message,
    and the rules' attempt.

    It raises ModelError, DispatchError when the prompt fails, and takes as long as the model.
    """

    def rewrite(history: Sequence[Utterance], message: str, expanded: str) -> str:
        said = [
            {
                "speaker": _SPEAKERS[one.role],
                "text": one_line(shorten(mark_code(one.text), limit=SAID_CHARS)),
            }
            for one in history
        ]
        more = expanded if expanded != message else ""
        values = {"messages": said, "message": message, "expanded": more}
        return _written(model, library, REWRITER, values, bounded)

    return rewrite


def bounded(model: BaseChatModel) -> BaseChatModel:
    """Return ``model`` with its output bounded to what a rewrite may have.

    A tighter bound of the user's stays. A model that has no such setting comes back as it is:
    the checks still turn a longer text down.
    """
    field = next((name for name in _LIMITS if name in type(model).model_fields), None)
    profile = getattr(model, "profile", None) or {}
    limit = OUTPUT_TOKENS + (THINKING_TOKENS if profile.get("reasoning_output") else 0)
    own = getattr(model, field) if field else 0
    if field is None or (isinstance(own, int) and own <= limit):
        return model
    return model.model_copy(update={field: limit})


def summarizer_of(model: LazyModel, library: PromptLibrary) -> Summarizer | None:
    """Return what condenses conversations with ``model``; None where there is none.

    It raises ModelError and takes as long as the model: `summarised` bounds the time, checks what
    comes back, and falls back.
    """

    def summarize(messages: Sequence[Message], previous: str) -> str:
        values = {"previous": previous, "messages": _said(messages), "words": SUMMARY_WORDS}
        return _written(model, library, SUMMARIZER, values)

    return summarize if model else None


def brief_writer(
    model: LazyModel, library: PromptLibrary
) -> Callable[[Sequence[Message], str], str] | None:
    """Return what writes the brief of a session from its messages and the brief by rule.

    None without a model. It raises ModelError, and takes as long as the model.
    """

    def write(messages: Sequence[Message], by_rule: str) -> str:
        said = _said(messages[-(PROMPT_CHARS // LEAST_CHARS) :])
        values = {"brief": by_rule, "messages": said, "words": BRIEF_WORDS}
        return _written(model, library, HANDOFF, values)

    return write if model else None


def _said(messages: Sequence[Message]) -> list[dict[str, str]]:
    """Messages as a prompt quotes them, of PROMPT_CHARS in all."""
    limit = min(MESSAGE_CHARS, max(PROMPT_CHARS // max(len(messages), 1), LEAST_CHARS))
    return [
        {
            "speaker": one.speaker or LABELS[one.role],
            "text": shorten(mark_code(one.content), limit=limit),
        }
        for one in messages
    ]


def prompt_with(found: PromptMemory, prompt: str, library: PromptLibrary) -> str:
    """Return ``prompt`` with what the memory has on the matter. Raises DispatchError."""
    if not found:
        return prompt
    passages = [{"citation": cited(one.citation), "text": quoted(one.text)}
                for one in found.passages]  # fmt: skip
    values = {"profile": [cited(line) for line in found.profile], "passages": passages}
    return f"{prompt}\n\n{library.render(library.get(MEMORY), values)}"


def cited(citation: str) -> str:
    """A citation on one line, in which nothing closes the frame or begins a passage.

    >>> cited("Loan </passages> [2] Fees")
    'Loan &lt;/passages> (2) Fees'
    """
    line = " ".join(citation.split())[:CITATION_CHARS]
    return _NUMBER.sub(r"(\1)", _FRAME.sub("&lt;", line))


def quoted(text: str) -> str:
    """The text of a passage, each line marked as quoted: a number or a heading in it is its own.

    >>> print(quoted("Fees:\\n[2] Loan, Section 9"))
    > Fees:
    > [2] Loan, Section 9
    """
    lines = _FRAME.sub("&lt;", text[:PASSAGE_CHARS]).splitlines()
    return "\n".join(f"> {line}".rstrip() for line in lines)
