"""A language model's rewrite of a message: asked for, compared with the message, judged."""
