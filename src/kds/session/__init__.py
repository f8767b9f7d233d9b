"""The full loop: a message is routed, its agents run, both sides are remembered."""
