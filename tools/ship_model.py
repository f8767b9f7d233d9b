"""Fit the intent model on the packaged prompts and write it to router/fitted: `make model`.

Needs nothing but the clone. A test says when the prompts changed and this was forgotten.
"""

from pathlib import Path

import kds.router
from kds.router.intents.model_cache import SHIPPED, ship_model
from kds.router.prompts.library import PromptLibrary

if __name__ == "__main__":
    folder = Path(kds.router.__file__).resolve().parent / "fitted"
    ship_model(PromptLibrary.load().prompts(), folder / SHIPPED.name)
