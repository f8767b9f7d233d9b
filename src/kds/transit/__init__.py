"""The history that a client sends along with a question: the contract and its reference client."""
