"""What the hook of an assistant asks of the service, and what it is told."""
