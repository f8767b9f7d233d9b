"""Learning from corrections and clarifications: recorded, guarded, applied to the router."""
