"""The sessions that coding assistants leave on this machine: read, kept, recalled, handed over."""
