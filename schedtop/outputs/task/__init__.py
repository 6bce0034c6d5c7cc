"""What the task view saw, as data and as a text to read."""
