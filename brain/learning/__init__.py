"""What is learned from corrections and clarifications, with safeguards (docs/learning.md)."""
