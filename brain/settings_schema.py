"""The sections of the settings, and what each value may be; `kds.brain.settings` reads them."""

from datetime import timedelta
from typing import Final, Literal

from pydantic import BaseModel, ConfigDict, Field, SecretStr, field_validator, model_validator

IDLE_MINUTES: Final = 30.0
"""A coffee break must not cost a cold start of seconds; a closed editor must not keep 200 MB."""

CONTEXT_LIMIT: Final = 262_144
"""Tokens: the longest conversation that can be sent whole (issue 5)."""

RewritingMode = Literal["rules-only", "rules-first", "model-first"]

SummaryMode = Literal["auto", "extractive", "off"]

HookMode = Literal["line", "agent"]


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class ServiceSettings(_Section):
    """How the command line uses the resident service."""

    enabled: bool = True
    """Whether the command line asks a running service."""
    auto: bool = True
    """Whether the command line and the hook start one when there is none."""
    idle_minutes: float = Field(default=IDLE_MINUTES, ge=0, allow_inf_nan=False)
    """Minutes without a request after which a service that started by itself ends; 0: never."""


class MemorySettings(_Section):
    """What a conversation remembers."""

    enabled: bool | None = None
    """None: as the surface has it, on in a chat and off where KDS only routes."""
    summary_frequency: int = Field(default=5, ge=0)
    """Assistant messages to a periodic summary; 0: none."""
    enable_query_rewriting: bool = True
    """Whether questions in sessions are made self-contained before they are searched for."""
    enable_session_memory: bool = True
    """Whether a session remembers the terms and documents that its questions were about."""
    enable_history_summarization: bool = True
    """Whether older turns go to the model as a summary."""
    summaries: SummaryMode = "auto"
    """Who summarises. ``auto``: the chat model where there is one, after the answer, and the
    sentences of the conversation where there is none; ``extractive``: those alone; ``off``: no
    summary is made at all."""
    history_max_turns: int = Field(default=10, ge=0, le=1000)
    """Turns of what was said before that go along with a question: those of a client's history
    that count, or of a stored session. The last four of them reach the model verbatim."""
    session_memory_ttl_hours: float = Field(default=4.0, gt=0, le=24 * 365, allow_inf_nan=False)
    """Hours since its last use that an entity memory lives."""
    summary_words: int = Field(default=200, ge=0)
    """Words of a summary at most."""
    summary_tokens: int = Field(default=200, ge=0, le=CONTEXT_LIMIT)
    """Tokens of the summary in what goes to the model."""
    verbatim_tokens: int = Field(default=800, ge=0, le=CONTEXT_LIMIT)
    """Tokens of the turns in what goes to the model word for word."""
    query_tokens: int = Field(default=100, gt=0, le=CONTEXT_LIMIT)
    """Tokens of the question in what goes to the model."""
    context_limit_tokens: int = Field(default=0, ge=0, le=CONTEXT_LIMIT)
    """Above 0: the whole conversation is sent, and condensed at 95 % of that."""

    @field_validator("summaries", mode="before")
    @classmethod
    def _off_is_a_word(cls, value: object) -> object:
        """In YAML a bare ``off`` is false."""
        return "off" if value is False else value

    @property
    def condenses(self) -> bool:
        """Whether what left the window is summarised."""
        return self.enable_history_summarization and self.summaries != "off"

    @property
    def summary_every(self) -> int:
        """Assistant messages to a periodic summary; 0: none."""
        return 0 if self.summaries == "off" else self.summary_frequency

    @property
    def ttl(self) -> timedelta:
        """How long an entity memory lives."""
        return timedelta(hours=self.session_memory_ttl_hours)


class RecallOptions(_Section):
    """How past conversations are searched."""

    hybrid: bool = True
    """Whether words, names and meaning are searched for together; off: words alone."""
    chunking: bool = True
    """Whether long messages are searched in parts."""
    token_budget: int = Field(default=1000, ge=0, le=CONTEXT_LIMIT)
    """Tokens that what was recalled may fill."""
    rerank_alpha: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    """Weight of meaning (with an embedding model); None: the default."""
    rerank_beta: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    """Weight of words."""
    rerank_gamma: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    """Weight of identifiers."""
    embeddings: str | None = Field(default=None, min_length=1)
    """The embedding model, a name that KDS knows, or ``module:name`` (`kds.api.embeddings`), which
    a workspace cannot choose; None: words and names only."""

    @model_validator(mode="after")
    def _something_counts(self) -> "RecallOptions":
        if self.rerank_beta == 0 and self.rerank_gamma == 0:
            raise ValueError("rerank_beta and rerank_gamma are both 0: nothing would be found")
        return self


class ModelSettings(_Section):
    """The chat model that agents and the rewriter ask, and how patient they are."""

    name: str | None = Field(default=None, min_length=1)
    """``provider:model``, or the URL of an OpenAI-compatible server, ``#model`` behind it."""
    base_url: str | None = Field(default=None, min_length=1)
    """Where the provider is, when it is not at its usual address."""
    timeout_s: float = Field(default=60.0, gt=0, le=3600, allow_inf_nan=False)
    """Seconds that one answer may take, with everything that is tried again."""
    max_retries: int = Field(default=2, ge=0, le=10)
    """How often a call that failed is made again."""
    requests_per_second: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    """Calls a second at most; None: as many as there are."""
    temperature: float = Field(default=0.0, ge=0, le=2, allow_inf_nan=False)
    """0: the same answer to the same question, as far as the model can."""
    max_tokens: int | None = Field(default=None, gt=0)
    """Of an answer; None: as the provider has it."""


class RewritingSettings(_Section):
    """Who makes a message self-contained."""

    mode: RewritingMode = "rules-first"
    """``rules-first`` asks a model only where the rules see a reference and abstain."""
    timeout_s: float = Field(default=5.0, gt=0, le=600, allow_inf_nan=False)
    """Seconds to wait for a rewrite; then the rules have it."""


class ConversationSettings(_Section):
    """How a conversation begins."""

    join: bool = False
    """Whether a new one of an assistant goes on with what was said in the workspace before."""


class HookSettings(_Section):
    """What the prompt hook adds to a prompt."""

    mode: HookMode = "line"
    """``line``: a hint at most, and only when KDS is sure; ``agent``: the agent's prompt too."""


class ReferenceSettings(_Section):
    """What is written out of what a message refers to."""

    precision: float = Field(default=0.93, ge=0, le=1, allow_inf_nan=False)
    """Share of the written references that is to be right; 1: nothing is written, 0: all."""


class LearningSettings(_Section):
    """Whether corrections and clarifications become examples."""

    enabled: bool = True
    """Off: nothing is logged to learn from, and what was learned is not used."""


class DatabaseSettings(_Section):
    """The server that keeps conversations for many, in the place of the workspace's files."""

    url: SecretStr | None = None
    """``postgresql://...``; None: the files of the workspace. It may hold a password."""
    organisation: str = Field(default="default", min_length=1, max_length=128)
    """Whose server it is: people of different organisations never see one another."""
    person: str | None = Field(default=None, min_length=1, max_length=128)
    """Whose conversations these are; None: the name of the user on this machine."""
    project: str | None = Field(default=None, min_length=1, max_length=128)
    """What they are about; None: the name of the workspace's folder."""


class Settings(_Section):
    """All settings of a workspace, with their defaults."""

    service: ServiceSettings = ServiceSettings()
    memory: MemorySettings = MemorySettings()
    recall: RecallOptions = RecallOptions()
    conversation: ConversationSettings = ConversationSettings()
    hook: HookSettings = HookSettings()
    references: ReferenceSettings = ReferenceSettings()
    rewriting: RewritingSettings = RewritingSettings()
    learning: LearningSettings = LearningSettings()
    model: ModelSettings = ModelSettings()
    database: DatabaseSettings = DatabaseSettings()
