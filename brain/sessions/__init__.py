"""The long memory of conversations: sessions, messages, recall, a profile by consent (DESIGN 6).

`memory_store` says what a memory can do, `sqlite_store` does it in one file. Works without a model
and without a network; numpy is imported only where vectors are compared.
"""
