"""Secrets in a text, found and replaced by marks."""
