"""The memory of conversations: sessions, messages, summaries, and a profile by consent."""
