"""Questions about documents and remembered conversations: understood, searched, answered."""
