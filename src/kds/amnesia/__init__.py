"""Amnesia: forgetting what was learned about an application, with a way back."""
