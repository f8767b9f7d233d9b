"""`kds route`, `explain`, `ask`, `chat`, `context` and the `#file:` forms: messages."""
