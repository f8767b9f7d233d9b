"""The operations of the HTTP side, one module a subject."""
