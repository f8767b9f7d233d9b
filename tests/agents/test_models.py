"""A model from its name: which client, with which key, and what is said when there is none."""

import sys
from collections.abc import Mapping
from typing import Any

import pytest
from langchain_core.language_models import BaseChatModel
from langchain_ollama import ChatOllama
from langchain_openai import ChatOpenAI

from kds.agents import ModelError, load_chat_model
from kds.agents.models import model_error, model_label, model_secrets
from kds.brain.installation import install_line
from kds.brain.settings import ModelSettings

from .openai_server import Failure, FakeProvider, Text, serving

NO_SECRET = "write it as http://host:port/v1; a key goes into KDS_MODEL_KEY"
KEYS = {"OPENAI_API_KEY": "sk-openai", "ANTHROPIC_API_KEY": "sk-ant"}


def _load(name: str | None, environ: Mapping[str, str] = KEYS, **options: Any) -> BaseChatModel:
    model = load_chat_model(ModelSettings(name=name, **options), environ=environ)
    assert model is not None
    return model


def test_each_provider_gets_what_is_set_and_ollama_needs_no_key() -> None:
    from langchain_anthropic import ChatAnthropic  # it takes seconds to load

    assert load_chat_model(ModelSettings(), environ=KEYS) is None
    limits = {"timeout_s": 7, "max_retries": 4, "max_tokens": 99}
    openai = _load("openai:gpt-4.1-mini", **limits)
    assert isinstance(openai, ChatOpenAI)
    assert (openai.model_name, openai.request_timeout, openai.max_retries) == ("gpt-4.1-mini", 7, 4)
    assert (openai.max_tokens, openai.temperature) == (99, 0.0)
    assert model_secrets(openai)["openai_api_key_KEY"] == "sk-openai"
    claude = _load("anthropic:claude-sonnet-4-5", **limits)
    assert isinstance(claude, ChatAnthropic)
    assert (claude.default_request_timeout, claude.max_retries, claude.max_tokens) == (7, 4, 99)
    assert claude.anthropic_api_key.get_secret_value() == "sk-ant"
    llama = _load("ollama:llama3.1:8b", environ={}, timeout_s=7, max_tokens=99)
    assert isinstance(llama, ChatOllama)
    assert (llama.model, llama.num_predict) == ("llama3.1:8b", 99)
    assert llama.client_kwargs == {"timeout": 7, "follow_redirects": False}
    assert model_label(llama) == "llama3.1:8b"


@pytest.mark.parametrize(
    ("settings", "environ", "sent"),
    [
        ({"name": "{url}#m"}, KEYS, "none"),
        ({"name": "{url}#m"}, {**KEYS, "KDS_MODEL_KEY": "mine"}, "mine"),
        ({"name": "openai:m", "base_url": "{url}"}, KEYS, "none"),
        ({"name": "openai:m", "base_url": "{url}"}, {"KDS_MODEL_KEY": "mine"}, "mine"),
        ({"base_url": "{url}#m"}, KEYS, "none"),
    ],
)
def test_a_providers_key_goes_to_no_other_address(
    provider: FakeProvider, settings: dict[str, str], environ: dict[str, str], sent: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)
    provider.play(Text("hello"))
    given = {key: text.format(url=provider.url) for key, text in settings.items()}
    model = load_chat_model(ModelSettings(**given), environ=environ)
    assert model is not None
    assert model.invoke("hi").text == "hello"
    assert (provider.asked[0].key, provider.asked[0].body["model"]) == (sent, "m")
    assert not any("sk-" in value for value in provider.asked[0].headers.values())


@pytest.mark.parametrize("prefix", ["openai", "anthropic", "ollama"])
def test_no_client_tells_another_host_what_it_finds_in_the_environment(
    provider: FakeProvider, monkeypatch: pytest.MonkeyPatch, prefix: str
) -> None:
    found = (
        "OPENAI_API_KEY OPENAI_ORG_ID OPENAI_PROJECT_ID OPENAI_ADMIN_KEY "
        "ANTHROPIC_API_KEY ANTHROPIC_AUTH_TOKEN OLLAMA_API_KEY"
    )
    for name in found.split():
        monkeypatch.setenv(name, f"private-{name}")
    model = load_chat_model(ModelSettings(name=f"{prefix}:m", base_url=provider.url), environ={})
    assert model is not None
    if prefix == "openai":
        model.invoke("hi")
        headers = provider.asked[0].headers
    else:
        with pytest.raises(Exception, match="404"):
            model.invoke("hi")
        headers = provider.strays[0][1]
    assert not [value for value in headers.values() if "private" in value]
    assert headers["authorization"] == "Bearer none"


def test_what_is_missing_is_named_the_extra_before_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("openai:x", "anthropic:x"):
        with pytest.raises(ModelError, match=f"no key is set for {name}") as caught:
            _load(name, environ={})
        assert (str(caught.value.hint).endswith("_API_KEY"), caught.value.kind) == (True, "key")
    monkeypatch.setitem(sys.modules, "langchain_anthropic", None)
    for environ in (KEYS, {}):
        with pytest.raises(ModelError, match="'langchain_anthropic' is needed") as caught:
            _load("anthropic:x", environ)
        assert caught.value.kind == "extra"
        assert str(caught.value.hint).startswith(install_line("anthropic"))


def test_a_name_that_is_none_is_explained() -> None:
    form = "write it as http://host:port/v1"
    for name, hint in {
        "gpt-5": "use openai:NAME, anthropic:NAME, ollama:NAME, or a URL http://host/v1#NAME",
        "opnai:gpt-5": "did you mean openai:...?", "openai:": "write openai:NAME-OF-THE-MODEL",
        **dict.fromkeys(("ftp://host/v1", "http://", "http://host:99999/v1"), form),
        **dict.fromkeys(("http://me:secret@host/v1", "http://host/v1?key=secret"), NO_SECRET),
    }.items():  # fmt: skip
        with pytest.raises(ModelError) as caught:
            _load(name)
        assert (caught.value.kind, caught.value.hint) == ("setting", hint)
        assert "secret" not in str(caught.value)


def test_a_prompt_is_not_sent_elsewhere(model: BaseChatModel, provider: FakeProvider) -> None:
    with serving() as elsewhere:
        moved = {"location": f"{elsewhere.url}/chat/completions?secret=1"}
        provider.play(Failure(307, "moved", headers=moved))
        with pytest.raises(Exception, match="307") as caught:  # of the provider's client
            model.invoke("a private prompt")
        assert elsewhere.asked == []
    told = model_error(caught.value, "m", secrets={})
    assert (told.kind, told.message.startswith("m refused (307)")) == ("refused", True)
    from langchain_anthropic import ChatAnthropic  # it takes seconds to load

    settings = ModelSettings(name="anthropic:m", base_url="http://127.0.0.1:9")
    anthropic = load_chat_model(settings, environ={})
    assert isinstance(anthropic, ChatAnthropic)
    assert anthropic._client._client.follow_redirects is False
