"""What a conversation is about now: its context of a few messages, and its work in progress."""
