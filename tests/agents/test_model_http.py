"""A model server cannot have the prompt sent elsewhere, and its connections are closed."""

import subprocess
import sys

import pytest
from langchain_core.language_models import BaseChatModel

from kds.agents import load_chat_model
from kds.agents.models import model_error
from kds.brain.settings import ModelSettings

from ..effort import PATIENCE_S
from .openai_server import Failure, FakeProvider, serving

ASKING = """
from kds.agents import load_chat_model
from kds.brain.settings import ModelSettings
model = load_chat_model(ModelSettings(name="{url}#fake"))
print(model.invoke("hello").content)
"""


def test_a_prompt_is_not_sent_on_to_another_host(
    model: BaseChatModel, provider: FakeProvider
) -> None:
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


def test_the_connections_of_models_are_closed_when_the_process_ends(provider: FakeProvider) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "always::ResourceWarning", "-c", ASKING.format(url=provider.url)],
        capture_output=True, text=True, timeout=PATIENCE_S, check=True,
    )  # fmt: skip
    assert (done.stdout, done.stderr) == ("ok\n", "")
