"""Summaries of conversations, by a model or made of their own sentences."""
