"""Fitting on real chats."""
