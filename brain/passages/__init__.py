"""Passages of messages and of documents: cut, indexed, found, judged once more."""
