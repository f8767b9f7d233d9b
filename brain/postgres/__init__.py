"""The shared engine: the conversation memory of many people in one PostgreSQL (DESIGN 13)."""
