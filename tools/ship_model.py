"""Fit the intent model on the packaged prompts and write it to router/fitted: `make model`.

Needs nothing but the clone. A test says when the prompts changed and this was forgotten.
"""

from kds.router.intents.fitted import ship_model
from kds.router.prompts.library import PromptLibrary

if __name__ == "__main__":
    ship_model(PromptLibrary.load().prompts())
