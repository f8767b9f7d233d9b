"""An embedding model for tests: counts letters, and fails when it is told to."""

import os


class Letters:
    """Twenty-six numbers a text."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        if os.environ.get("KDS_TEST_EMBEDDING_FAILS"):
            raise RuntimeError("the model is out")
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        return [1.0 + text.lower().count(letter) for letter in "abcdefghijklmnopqrstuvwxyz"]
