"""Reading documents of every kind into sections."""
