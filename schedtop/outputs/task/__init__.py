"""What the task lens saw, as data and as a text to read."""
