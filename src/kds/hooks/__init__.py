"""The hook of coding assistants: standard library only, and as little of it as can be."""
