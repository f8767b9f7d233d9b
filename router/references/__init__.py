"""What a message points back to: the rules that propose, and the decision what is written."""
