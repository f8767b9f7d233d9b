"""Real chats with assistants: played, scored, and what is fitted on them."""
