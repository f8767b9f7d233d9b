"""What a message wants: evidence, fitted models, one calibrated confidence, and the policy."""
